"""One number per feature: the same for all, or by the names of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from pointforms.support.suggestions import suggest


def per_feature(
    option: str, given: float | Mapping[str, float], names: Sequence[str], other: float
) -> Tensor:
    """Return a number for each feature: (D,).

    Parameters
    ----------
    option : str
        Name of the option, for error messages.
    given : float or mapping of str to float
        One number for all features, or numbers by name.
    names : sequence of str
        Names of the features.
    other : float
        The number of features that a mapping does not name.

    Examples
    --------
    >>> per_feature("cofactor", {"CD4": 5}, ["CD3", "CD4"], other=1)
    tensor([1., 5.], dtype=torch.float64)
    """
    if not isinstance(given, Mapping):
        return torch.full((len(names),), float(given), dtype=torch.float64)
    for name in given:
        if name not in names:
            raise ValueError(f"{option} has {name!r}, which is no feature: {suggest(name, names)}")
    return torch.tensor([float(given.get(name, other)) for name in names], dtype=torch.float64)
