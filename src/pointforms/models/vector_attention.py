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
_PAIRS = 4096
_threshold_backward = torch.ops.aten.threshold_backward


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
        (n, m), H = neighbors.shape, q.shape[1]
        step = max(1, _PAIRS // m)
        out, parts = torch.empty_like(q), []
        for start in range(0, n, step):
            some = slice(start, start + step)
            places = neighbors[some].flatten()
            hidden = torch.addmm(p1, p[some].flatten(0, 1), P1.mT).relu_()
            delta = torch.addmm(p2, hidden, P2.mT)
            seen = (delta - k.index_select(0, places)).view(-1, m, H)
            seen = seen.add_(q[some].unsqueeze(1)).view(-1, H)
            inner = torch.addmm(a1, seen, A1.mT).relu_()
            scores = torch.mm(inner, A2.mT).view(-1, m, H)  # a₂ is the same for all j
            if lacks is not None:
                scores += lacks[some]
            weights = scores.softmax(1)
            shown = delta.add_(v.index_select(0, places)).view(-1, m, H)
            torch.sum(weights * shown, 1, out=out[some])
            parts.append((hidden, seen, inner, weights, shown))
        ctx.parts, ctx.step = parts, step
        ctx.save_for_backward(p, neighbors, P1, P2, A1, A2, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        p, neighbors, P1, P2, A1, A2, out = ctx.saved_tensors
        (grad,) = grads
        of_q, of_k, of_v = torch.empty_like(out), torch.zeros_like(out), torch.zeros_like(out)
        of_P1, of_P2, of_A1, of_A2 = (torch.zeros_like(matrix) for matrix in (P1, P2, A1, A2))
        of_p1, of_p2, of_a1 = (matrix.new_zeros(len(matrix)) for matrix in (P1, P2, A1))
        of_p = torch.empty_like(p) if ctx.needs_input_grad[3] else None
        H = out.shape[1]
        for part, (hidden, seen, inner, weights, shown) in enumerate(ctx.parts):
            some = slice(part * ctx.step, (part + 1) * ctx.step)
            places = neighbors[some].flatten()
            of_shown = weights * grad[some].unsqueeze(1)
            # softmax: a (g v - Σ a g v), and Σ a v is the output
            of_scores = (shown - out[some].unsqueeze(1)).mul_(of_shown).view(-1, H)
            of_A2.addmm_(of_scores.mT, inner)
            of_inner = _threshold_backward(of_scores @ A2, inner, 0)
            of_A1.addmm_(of_inner.mT, seen)
            of_a1 += of_inner.sum(0)
            of_seen = of_inner @ A1
            torch.sum(of_seen.view_as(shown), 1, out=of_q[some])
            of_k.index_add_(0, places, of_seen, alpha=-1)
            of_delta = of_shown.view(-1, H)
            of_v.index_add_(0, places, of_delta)
            of_delta += of_seen
            of_P2.addmm_(of_delta.mT, hidden)
            of_p2 += of_delta.sum(0)
            of_hidden = _threshold_backward(of_delta @ P2, hidden, 0)
            of_P1 += (p[some].flatten(0, 1).mT @ of_hidden).mT  # faster than its transpose
            of_p1 += of_hidden.sum(0)
            if of_p is not None:
                of_p[some] = (of_hidden @ P1).view_as(of_p[some])
        of_a2 = torch.zeros_like(out[0])  # weights do not depend on it
        del ctx.parts
        return (
            *(of_q, of_k, of_v, of_p, None, None),
            *(of_P1, of_p1, of_P2, of_p2, of_A1, of_a1, of_A2, of_a2),
        )
