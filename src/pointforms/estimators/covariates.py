"""Covariates: what is known about whole clouds beside their points, such as age and sex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field, FiniteFloat
from torch import Tensor
from typing_extensions import TypedDict

from pointforms.estimators.per_cloud import one_per_cloud
from pointforms.support.options import shown

# A covariate that varies by fewer rounding errors than this is constant.
_CONSTANT = 8


class CovariateColumn(TypedDict):
    """How one covariate becomes numbers: standardised, or one number per level but the first.

    Keys: `name`; `mean` and `scale` of a number; the sorted `levels` of anything else.
    """

    name: str
    mean: FiniteFloat
    scale: Annotated[FiniteFloat, Field(gt=0)]
    levels: list[str]


def learn_covariates(
    covariates: Any, count: int, rows: np.ndarray | None = None
) -> list[CovariateColumn]:
    """Return how the covariates of training clouds become numbers.

    Parameters
    ----------
    covariates : data frame, mapping of names to columns, or array-like of shape (N,) or (N, c)
        One row per cloud. Numbers are standardised; of text, categories and truth values, each
        level but the first becomes a column of zeros and ones.
    count : int
        Number of clouds, N.
    rows : ndarray of int or None, default None
        The clouds to learn from; None learns from all.

    Examples
    --------
    >>> [column["levels"] for column in learn_covariates({"sex": ["f", "m"], "age": [40, 60]}, 2)]
    [['f', 'm'], []]
    """
    columns = []
    for name, values in _columns(covariates, count, rows).items():
        if values.dtype.kind in "iuf":
            mean, scale = _moments(name, values.astype(np.float64))
            columns.append(CovariateColumn(name=name, mean=mean, scale=scale, levels=[]))
        else:
            levels = np.unique(values.astype(str)).tolist()
            columns.append(CovariateColumn(name=name, mean=0.0, scale=1.0, levels=levels))
    return columns


def _moments(name: str, numbers: np.ndarray) -> tuple[float, float]:
    """Return mean and standard deviation, which is 1 for a constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = float(numbers.mean()), float(numbers.std())
    largest = float(np.abs(numbers).max())
    if not np.isfinite(spread):
        raise ValueError(
            f"covariate {name!r} has values up to {largest:.3g}: their spread overflows"
        )
    varies = spread > _CONSTANT * np.finfo(np.float64).eps * largest
    return mean, spread if varies else 1.0


def covariate_names(columns: Sequence[CovariateColumn]) -> list[str]:
    """Return the names of the numbers that covariates become."""
    return [
        name
        for column in columns
        for name in (
            [f"{column['name']}={level}" for level in column["levels"][1:]]
            if column["levels"]
            else [column["name"]]
        )
    ]


def encode_covariates(
    covariates: Any,
    columns: Sequence[CovariateColumn],
    count: int,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """Return the covariates of clouds as numbers: (N, c).

    Parameters
    ----------
    covariates : data frame, mapping or array-like
        With the columns of the training clouds; others are ignored.
    columns : sequence of CovariateColumn
        What :func:`learn_covariates` returned for the training clouds.
    count : int
        Number of clouds, N.
    rows : ndarray of int or None, default None
        The clouds to return; None returns all.
    """
    given = _columns(covariates, count, rows)
    parts = []
    for column in columns:
        name = column["name"]
        if name not in given:
            raise ValueError(f"covariates lack {name!r}: there are {', '.join(given)}")
        values = given[name]
        if column["levels"]:
            texts = values.astype(str)
            unseen = sorted(set(texts.tolist()) - set(column["levels"]))
            if unseen:
                raise ValueError(
                    f"covariate {name!r} has the level {shown(unseen[0])}, which no training cloud "
                    f"had: expected one of {column['levels']}"
                )
            parts += [(texts == level).astype(np.float64) for level in column["levels"][1:]]
        elif values.dtype.kind not in "iuf":
            raise ValueError(
                f"covariate {name!r} has values like {shown(values[0])}: expected numbers, as in "
                "the training clouds"
            )
        else:
            parts.append((values.astype(np.float64) - column["mean"]) / column["scale"])
    return np.stack(parts, 1) if parts else np.zeros((count if rows is None else len(rows), 0))


def _columns(covariates: Any, count: int, rows: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the columns by name, each with one entry per cloud, or those of some, none missing."""
    named: dict[str, Any]
    if hasattr(covariates, "columns"):
        named = {str(name): covariates[name] for name in covariates.columns}
    elif isinstance(covariates, Mapping):
        named = {str(name): values for name, values in covariates.items()}
    else:
        array = _as_array(covariates)
        if array.ndim not in (1, 2) or len(array) != count:
            raise ValueError(
                f"covariates have shape {array.shape}: expected {count} rows, one per cloud"
            )
        named = {f"c{i}": column for i, column in enumerate(array.reshape(count, -1).T)}
    if not named:
        raise ValueError("covariates have no columns: expected at least one, or None")
    columns = {}
    for name, values in named.items():
        column = one_per_cloud(f"covariate {name!r}", values, count)
        if hasattr(getattr(values, "dtype", None), "categories"):  # numbers of plates, say
            column = column.astype(str)
        columns[name] = column if rows is None else column[rows]
    return columns


def _as_array(covariates: Any) -> np.ndarray:
    if isinstance(covariates, Tensor):
        return covariates.detach().cpu().numpy()
    # NumPy would turn rows of numbers and text into text
    listed = isinstance(covariates, list | tuple)
    return np.array(covariates, dtype=object) if listed else np.asarray(covariates)
