"""What is trained: one fit, what all fits share, and what training returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from torch import Tensor, nn

# Fewest epochs without a better validation loss that end the training of learned clouds.
_FEWEST_EPOCHS = 5


@dataclass(frozen=True, eq=False)
class SharedBatches:
    """Batches that several fits take in the same order, each without the clouds it holds out.

    Attributes
    ----------
    clouds : ndarray of int
        Indices of all clouds that at least one of the fits trains on.
    seed : int
        Seed of the order.
    """

    clouds: np.ndarray
    seed: int


@dataclass(frozen=True)
class Fit:
    """What distinguishes one fit from another of its shape.

    Attributes
    ----------
    train : ndarray of int
        Indices of the clouds to train on.
    validation : ndarray of int
        Indices of the clouds that choose the epoch.
    seed : int
        Seed of the initial parameters and of the batches.
    learning_rate : float, default 0.003
        Initial learning rate.
    weight_decay : float, default 0.001
        Weight decay.
    weights : ndarray or None, default None
        Weight of each cloud of `train` in the training loss, of which only the ratios matter; None
        weighs all equally. The validation loss has no weights, so that it compares fits with
        different ones.
    batches : SharedBatches or None, default None
        Batches that the fit shares with others; None draws its own.
    """

    train: np.ndarray
    validation: np.ndarray
    seed: int
    learning_rate: float = 3e-3
    weight_decay: float = 1e-3
    weights: np.ndarray | None = None
    batches: SharedBatches | None = None


@dataclass(frozen=True)
class Schedule:
    """What all fits share.

    Attributes
    ----------
    epochs : int, default 60
        Largest number of passes over the training clouds.
    batch_size : int, default 32
        Largest number of clouds per step; the clouds of an epoch are shared out evenly.
    patience : int, default 20
        Stop after this many epochs without a better validation loss.
    points : int or None, default None
        Number of random points of each cloud that an epoch uses; None uses all.
    deadline : float or None, default None
        Reading of `time.perf_counter` after which no further epoch starts.
    learned : float, default 0.0
        Training loss below which there is almost nothing left to learn, so that less patience is
        enough.
    """

    epochs: int = 60
    batch_size: int = 32
    patience: int = 20
    points: int | None = None
    deadline: float | None = None
    learned: float = 0.0

    def steps(self, fit: Fit) -> int:
        """Return the number of steps of an epoch."""
        clouds = fit.train if fit.batches is None else fit.batches.clouds
        return -(-len(clouds) // self.batch_size)

    def ends(self, training: Sequence[float], best_epoch: int, parts: int = 1) -> bool:
        """Return whether networks stop because the validation loss no longer improves.

        The loss over several parts varies less than that of one, by the root of their number, and
        needs less patience by as much. A quarter of that, but no fewer than five epochs, is enough
        if the training loss was below `learned` in each of these epochs.

        Parameters
        ----------
        training : sequence of float
            The training loss of each epoch so far.
        best_epoch : int
            The epoch of the smallest validation loss.
        parts : int, default 1
            Number of validation parts whose loss was pooled.

        Examples
        --------
        >>> schedule = Schedule(patience=20, learned=0.01)
        >>> schedule.ends([0.5] * 20, best_epoch=0), schedule.ends([0.5] * 21, best_epoch=0)
        (False, True)
        >>> schedule.ends([0.5] + [0.009] * 5, best_epoch=0)
        True
        """
        waited = len(training) - 1 - best_epoch
        patience = ceil(self.patience / sqrt(parts))
        enough = min(patience, max(_FEWEST_EPOCHS, ceil(patience / 4)))
        learned = max(training[-enough:]) < self.learned
        return waited >= (enough if learned else patience)

    def is_over(self) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline is not None and perf_counter() > self.deadline


@dataclass
class Fitted:
    """A trained model.

    Attributes
    ----------
    model : nn.Module
        The model, with the parameters of its best epoch.
    best_epoch : int
        That epoch.
    history : list of dict
        Losses of each epoch: "train", the weighted loss that the steps of the epoch minimised, and
        "validation", the mean loss of the validation clouds after it, without weights.
    guess : float, default nan
        The validation loss of a prediction that is the same for all clouds, learned from the
        training labels alone.
    stopped : bool, default False
        Whether training ended because the loss of several parts no longer improved.
    """

    model: nn.Module
    best_epoch: int
    history: list[dict[str, float]] = field(default_factory=list)
    guess: float = np.nan
    stopped: bool = False


class Store(Protocol):
    """Clouds as tensors on one device, from which batches are gathered."""

    sizes: Tensor  # number of points of each cloud
    stackable: bool  # whether batches of several fits can be stacked
    parts: int  # number of parts of a batch, each with clouds of similar size

    @property
    def features(self) -> int:
        """Number of features of the clouds, D."""

    def gather(self, index: Tensor, rows: Tensor | None = None) -> Any:
        """Gather a batch of the clouds of index (..., B), or of some of their points.

        A batch that can be stacked is a tuple of tensors, which torch.func can map over.
        """

    def gather_parts(self, index: Tensor) -> Any:
        """Gather a batch of the clouds of index (..., B), which ascend in size, in parts."""

    def draw(self, cloud: int, points: int, rng: np.random.Generator) -> np.ndarray:
        """Draw random points of a cloud that has more than that: (points,) rows of it."""

    def numbers(self) -> int:
        """Return how many numbers a batch holds per point."""


Loss = Callable[[Tensor, Tensor], Tensor]  # (B, outputs), (B, ...) -> (B,)
