"""Attention of points to their neighbours, channel by channel, with its backward pass.

For a point i and its neighbours j, at the difference p = x_i - x_j,

    δ_ij = P₂ relu(P₁ p + p₁) + p₂,
    a_ij = softmax over j of A₂ relu(A₁ (q_i - k_j + δ_ij) + a₁) + a₂,
    out_i = Σ_j a_ij (v_j + δ_ij),

where products with a_ij are entry by entry. All of these have a row per pair (i, j), which is why
points are worked through in parts whose rows stay in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Number of pairs that are worked through at once.
_PAIRS = 2048
_threshold_backward = torch.ops.aten.threshold_backward.grad_input


def vector_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    differences: Tensor,
    neighbors: Tensor,
    has: Tensor | None,
    position: tuple[Tensor, Tensor, Tensor, Tensor],
    score: tuple[Tensor, Tensor, Tensor, Tensor],
) -> Tensor:
    """Return the attended features of every point: (n, H).

    Parameters
    ----------
    queries, keys, values : Tensor, shape (n, H)
        q, k and v.
    differences : Tensor, shape (n, m, D)
        p for every point and each of its neighbours.
    neighbors : Tensor of int, shape (n, m)
        The neighbours j of each point i.
    has : Tensor of bool, shape (n, m), or None
        Which of them exist; None if all do.
    position, score : tuple of Tensor
        P₁, p₁, P₂ and p₂, and A₁, a₁, A₂ and a₂.
    """
    lacks = None
    if has is not None:
        lacks = torch.zeros_like(has, dtype=queries.dtype).masked_fill_(~has, -torch.inf)
        lacks = lacks.unsqueeze(-1)
    attended: Tensor = _VectorAttention.apply(  # type: ignore[no-untyped-call]
        queries, keys, values, differences, neighbors, lacks, *position, *score
    )
    return attended


class _VectorAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        q, k, v, p, neighbors, lacks, P1, p1, P2, p2, A1, a1, A2, _ = inputs
        (n, m), H, pairs = neighbors.shape, q.shape[1], neighbors.numel()
        p, places = p.flatten(0, 1), neighbors.flatten()
        hidden, inner = q.new_empty(pairs, len(P1)), q.new_empty(pairs, len(A1))
        seen, shown, weights = (q.new_empty(pairs, H) for _ in range(3))
        out = torch.empty_like(q)
        points = max(1, _PAIRS // m)
        room = q.new_empty(points * m, H)
        for start in range(0, n, points):
            own = slice(start, start + points)
            some = slice(start * m, (start + points) * m)
            h = torch.addmm(p1, p[some], P1.mT, out=hidden[some]).relu_()
            delta = torch.addmm(p2, h, P2.mT, out=shown[some])
            gathered = room[: len(delta)]
            torch.index_select(k, 0, places[some], out=gathered)
            x = torch.sub(delta, gathered, out=seen[some])
            x.view(-1, m, H).add_(q[own].unsqueeze(1))
            h = torch.addmm(a1, x, A1.mT, out=inner[some]).relu_()
            torch.index_select(v, 0, places[some], out=gathered)
            values = delta.add_(gathered)
            scores = torch.mm(h, A2.mT, out=gathered).view(-1, m, H)  # a₂ is the same for all j
            if lacks is not None:
                scores.add_(lacks[own])
            a = torch.softmax(scores, 1, out=weights[some].view_as(scores))
            torch.sum(torch.mul(a, values.view_as(a), out=scores), 1, out=out[own])
        ctx.save_for_backward(
            *(p, neighbors, P1, P2, A1, A2, hidden, inner, seen, shown, weights, out)
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        p, neighbors, P1, P2, A1, A2, hidden, inner, seen, shown, weights, out = ctx.saved_tensors
        (n, m), H, places = neighbors.shape, out.shape[1], neighbors.flatten()
        of_q, of_k, of_v = torch.empty_like(out), torch.zeros_like(out), torch.zeros_like(out)
        of_P1, of_P2, of_A1, of_A2 = (torch.zeros_like(matrix) for matrix in (P1, P2, A1, A2))
        of_p1, of_p2, of_a1 = (matrix.new_zeros(len(matrix)) for matrix in (P1, P2, A1))
        of_p = torch.empty_like(p) if ctx.needs_input_grad[3] else None
        points = max(1, _PAIRS // m)
        rooms = [p.new_empty(points * m, width) for width in (H, H, *[max(len(A1), len(P1))] * 2)]
        for start in range(0, n, points):
            own = slice(start, start + points)
            some = slice(start * m, (start + points) * m)
            first, second, wide, wider = (room[: len(p[some])] for room in rooms)
            grad = grads[0][own].unsqueeze(1)
            of_shown = torch.mul(weights[some].view(-1, m, H), grad, out=first.view(-1, m, H))
            # softmax: a (g v - Σ a g v), and Σ a v is the output
            of_scores = second.view(-1, m, H)
            torch.sub(shown[some].view(-1, m, H), out[own].unsqueeze(1), out=of_scores)
            of_scores.mul_(of_shown)
            of_A2.addmm_(second.mT, inner[some])
            torch.mm(second, A2, out=wide)
            of_inner = _threshold_backward(wide, inner[some], 0, grad_input=wider)
            of_A1.addmm_(of_inner.mT, seen[some])
            of_a1 += of_inner.sum(0)
            of_seen = torch.mm(of_inner, A1, out=second)
            torch.sum(of_seen.view(-1, m, H), 1, out=of_q[own])
            of_k.index_add_(0, places[some], of_seen)
            of_v.index_add_(0, places[some], first)
            of_delta = first.add_(of_seen)
            of_P2.addmm_(of_delta.mT, hidden[some])
            of_p2 += of_delta.sum(0)
            torch.mm(of_delta, P2, out=wide)
            of_hidden = _threshold_backward(wide, hidden[some], 0, grad_input=wider)
            of_P1 += (p[some].mT @ of_hidden).mT  # faster than the transpose of that
            of_p1 += of_hidden.sum(0)
            if of_p is not None:
                torch.mm(of_hidden, P1, out=of_p[some])
        of_a2 = torch.zeros_like(out[0])  # the weights do not depend on it
        return (
            *(of_q, of_k.neg_(), of_v, None if of_p is None else of_p.view(n, m, -1), None, None),
            *(of_P1, of_p1, of_P2, of_p2, of_A1, of_a1, of_A2, of_a2),
        )
