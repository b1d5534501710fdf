"""The pseudocode of the paper, implemented literally, to measure the library against.

It trains one fit at a time and compares one pair of forms at a time: C_ab = Σ_p μ(p) F_a(p)ᵀ G(p)
F_b(p) for each a ≤ b, with the dense Gram matrix, in a plain training loop with torch's default
number of threads.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pointforms.estimators.fits import Fit, Schedule
from pointforms.geometry import GramField


class PairwiseNetwork(nn.Module):
    """The model of the library (tri readout, k = 1), with the contraction of the pseudocode."""

    def __init__(self, features: int, forms: int = 8, width: int = 64, head: int = 32) -> None:
        super().__init__()
        self.forms = forms
        self.network = nn.Sequential(
            nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, forms * features),
        )  # fmt: skip
        count = forms * (forms + 1) // 2
        self.norm = nn.BatchNorm1d(count)
        self.head = nn.Sequential(nn.Linear(count, head), nn.SiLU(), nn.Linear(head, 2))

    def forward(self, points: Tensor, G: Tensor, mu: Tensor) -> Tensor:
        """Return the outputs for points (B, n, D), G (B, n, D, D) and mu (B, n)."""
        F = self.network(points).unflatten(-1, (self.forms, -1))
        entries = []
        for a in range(self.forms):
            for b in range(a, self.forms):
                local = torch.einsum("bni,bnij,bnj->bn", F[:, :, a], G, F[:, :, b])
                entries.append((mu * local).sum(-1))
        return self.head(self.norm(torch.stack(entries, -1)))


def fit_one(fields: list[GramField], y: Tensor, fit: Fit, schedule: Schedule) -> Tensor:
    """Train one model and return its outputs for every cloud; all clouds have the same size."""
    torch.manual_seed(fit.seed)
    points = torch.stack([f.points for f in fields]).float()
    G = torch.stack([f.matrix() for f in fields]).float()
    mu = torch.stack([f.measure("uniform") for f in fields]).float()
    train, validation = torch.from_numpy(fit.train), torch.from_numpy(fit.validation)
    mean, scale = points[train].mean((0, 1)), points[train].std((0, 1))
    x, G = (points - mean) / scale, G / (scale[:, None] * scale)
    model = PairwiseNetwork(points.shape[-1])
    optimizer = torch.optim.AdamW(
        model.parameters(), fit.learning_rate, weight_decay=fit.weight_decay
    )
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, schedule.epochs)
    best, since, kept = float("inf"), 0, {}
    rng = np.random.default_rng(fit.seed)
    for _ in range(schedule.epochs):
        model.train()
        order = torch.from_numpy(rng.permutation(fit.train))
        for index in order.split(schedule.batch_size):
            loss = functional.cross_entropy(model(x[index], G[index], mu[index]), y[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        decay.step()
        model.eval()
        with torch.no_grad():
            out = model(x[validation], G[validation], mu[validation])
            value = float(functional.cross_entropy(out, y[validation]))
        since += 1
        if value < best:
            best, since = value, 0
            kept = {k: v.clone() for k, v in model.state_dict().items()}
        if since >= schedule.patience:
            break
    model.load_state_dict(kept)
    model.eval()
    with torch.no_grad():
        return model(x, G, mu)
