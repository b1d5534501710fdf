"""Coordinates that look like something else: values of the cloud, identifiers, groups."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from pointforms.clouds import Clouds

#: Names of columns that say which points belong together, in lower case, without "_id".
_ROLES = {
    "group": "groups", "fold": "folds", "split": "parts of a split", "batch": "batches",
    "cloud": "clouds", "sample": "samples", "patient": "patients", "donor": "donors",
    "subject": "subjects", "plate": "plates",
}  # fmt: skip
_IDENTIFIER = re.compile(r"(^|_)(id|idx|index|barcode|row)s?$")
#: Names of columns that say of which kind a point is.
_CATEGORY = re.compile(
    r"(^|_)(clusters?|metaclusters?|leiden|louvain|phenograph|flowsom|celltypes?"
    r"|cell_(type|class|subset|state)s?|annotations?|categor(y|ies)|populations?)(_|$)"
    r"|^(type|class)$"
)
# Categories have no more different values than this.
_MOST_CATEGORIES = 100
# Fewer numbers than this count up, or are all different, by chance.
_FEWEST = 8
# Identifiers that were drawn from a range no wider than this many times their number.
_DENSE = 2.0


@dataclass(frozen=True)
class Suspicion:
    """A coordinate that should probably not be one.

    Attributes
    ----------
    column : str
        Its name.
    reason : str
        What it looks like, as the rest of a sentence that starts with the column.
    remedies : tuple of str
        What to do, besides leaving the column out or allowing it.
    """

    column: str
    reason: str
    remedies: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = self.column
        choices = [
            f"--drop {name} leaves it out",
            *self.remedies,
            f"--allow {name} uses it as a coordinate",
        ]
        return f"column {name!r} {self.reason}: {', '.join(choices)}"


def plain_name(name: str) -> str:
    """Return the name of a column in lower case, with words separated by underscores.

    Examples
    --------
    >>> plain_name("Patient ID"), plain_name("cellId")
    ('patient_id', 'cell_id')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def suspicious_columns(clouds: Clouds) -> list[Suspicion]:
    """Return the coordinates that look like a leak of the label.

    These are columns named as groups, folds or batches; identifiers, which are whole numbers that
    are called so, count up, or are all different; and columns that are constant within every cloud
    but not between clouds.

    Parameters
    ----------
    clouds : Clouds
        The clouds with all of their coordinates.

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = [[[0.3, 7.0], [0.1, 7.0]], [[0.2, 9.0], [0.7, 9.0]]]
    >>> named = pf.Clouds.from_list(clouds, ["a", "b"], ["CD3", "os_months"])
    >>> for suspicion in suspicious_columns(named):
    ...     print(suspicion.column, suspicion.reason)
    os_months has one value per cloud (7 in all points of 'a', 9 in those of 'b')
    """
    points, offsets = clouds.points.numpy(), clouds.offsets.numpy()
    constant = _constant_within(points, offsets)
    whole = (points == np.round(points)).all(0)
    found = []
    for j, name in enumerate(clouds.feature_names):
        role = plain_name(name).removesuffix("_id").removesuffix("_ids")
        values = points[:, j]
        if role in _ROLES:
            found.append(_role(name, role))
        elif constant[j]:
            found.append(_constant(name, values[offsets[:-1]], clouds.ids))
        elif whole[j] and (kind := _identifier(name, values, offsets)):
            found.append(Suspicion(name, f"looks like an identifier ({kind})"))
    return found


def categories(clouds: Clouds) -> dict[str, int]:
    """Return the coordinates that look like categories, with the number of different values.

    These are columns of few different whole numbers, named as clusters or types of cells.

    Parameters
    ----------
    clouds : Clouds
        The clouds with all of their coordinates.

    Examples
    --------
    >>> import pointforms as pf
    >>> cells = [[0.3, 7.0, 2.0], [0.1, 4.0, 3.0]]
    >>> categories(pf.Clouds.from_list([cells], feature_names=["CD3", "leiden", "counts"]))
    {'leiden': 2}
    """
    found = {}
    for j, name in enumerate(clouds.feature_names):
        if _CATEGORY.search(plain_name(name)):
            values = np.unique(clouds.points[:, j].numpy())
            if len(values) <= _MOST_CATEGORIES and (values == np.round(values)).all():
                found[name] = len(values)
    return found


def _role(name: str, role: str) -> Suspicion:
    remedies = []
    if role == "batch":
        remedies.append(f"--batch {name} uses it as the batch")
    elif role in ("group", "patient", "donor", "subject"):
        remedies.append(f"--group {name} keeps its clouds together")
    return Suspicion(name, f"names {_ROLES[role]} and is no measurement", tuple(remedies))


def _constant(name: str, first: np.ndarray, ids: tuple[str, ...]) -> Suspicion:
    other = int((first != first[0]).argmax())
    example = (
        f"{first[0]:g} in all points of {ids[0]!r}, {first[other]:g} in those of {ids[other]!r}"
    )
    return Suspicion(
        name,
        f"has one value per cloud ({example})",
        (f"--covariate {name} uses it as a covariate", f"--label {name} predicts it"),
    )


def _constant_within(points: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return which columns have one value in every cloud, but not in all clouds: (D,)."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    low, high = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
    several = sizes > 1  # a single point says nothing
    if several.sum() < 2:
        return np.zeros(points.shape[1], dtype=bool)
    low, high = low[several], high[several]
    return np.asarray((low == high).all(0) & (low != low[0]).any(0))


def _identifier(name: str, values: np.ndarray, offsets: np.ndarray) -> str | None:
    """Return why whole numbers look like identifiers; None if they do not."""
    if _IDENTIFIER.search(plain_name(name)):
        return "by its name"
    if len(values) < _FEWEST:
        return None
    steps = np.diff(values)
    within = np.ones(len(steps), dtype=bool)
    within[offsets[1:-1] - 1] = False  # from one cloud to the next
    if within.sum() >= _FEWEST // 2 and (steps[within] == 1).all():
        return "it counts up in every cloud"
    span = float(values.max() - values.min()) + 1
    if span <= _DENSE * len(values) and len(np.unique(values)) == len(values):
        return "a different whole number in every row"
    return None
