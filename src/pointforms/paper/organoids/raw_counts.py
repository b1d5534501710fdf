"""Check the content of the table: known values of metadata, and markers that are raw counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pointforms.paper.organoids.schema import schema
from pointforms.support.suggestions import suggest

# Raw counts reach 786 297. After asinh, asinh(x / 5), log or log2 they stay below
# log2(1 + 786 297) < 20.
_TRANSFORMED = 20.0


def check_values(metadata: dict[str, tuple[np.ndarray, list[str]]], first: int) -> None:
    """Raise an error if a column of metadata has a value that the published table does not have.

    A renamed treatment, for example, would otherwise lose its control or become a class of its own.

    Parameters
    ----------
    metadata : dict of str to tuple
        By column, codes (m,) and values: row i has values[codes[i]].
    first : int
        Number of the first row in the table.
    """
    for name, known in schema().values.items():
        codes, values = metadata[name]
        for place, value in enumerate(values):
            if value not in known:
                row = first + int(np.argmax(codes == place))
                raise ValueError(f"row {row}: {name} is {value!r}: {suggest(value, known)}")


class RawCountCheck:
    """Makes sure that markers are raw counts, over all blocks of a table.

    Labels are computed from asinh(x / 5): a table that has been transformed or centred before would
    give other labels without any other sign.

    Parameters
    ----------
    markers : sequence of str
        The M names.
    """

    def __init__(self, markers: Sequence[str]) -> None:
        self.markers = tuple(markers)
        self.largest = np.zeros(len(self.markers))
        self.rows = 0

    def add(self, numbers: np.ndarray, first: int) -> None:
        """Raise an error if a value of a block (m, M), which starts at row `first`, is negative."""
        negative = np.fmin.reduce(numbers, axis=0) < 0  # fmin and fmax pass over missing values
        if negative.any():
            column = int(np.argmax(negative))
            row = int(np.argmax(numbers[:, column] < 0))
            raise ValueError(
                f"row {first + row}: {self.markers[column]} is {numbers[row, column]:g}: expected "
                "raw counts, which are never negative; this table looks transformed or centred "
                "already"
            )
        self.rows += len(numbers)
        self.largest = np.fmax(self.largest, np.fmax.reduce(numbers, axis=0))

    def finish(self) -> None:
        """Raise an error if most markers stay below what a transformed count can be."""
        small = (self.largest > 0) & (self.largest <= _TRANSFORMED)
        if small.sum() > len(self.markers) / 2:
            column = int(np.argmax(small))
            raise ValueError(
                f"the largest {self.markers[column]} of {self.rows} cells is "
                f"{self.largest[column]:.3g}, and {small.sum()} of {len(self.markers)} markers "
                f"stay below {_TRANSFORMED:g}: expected raw counts, which reach thousands; this "
                "table looks transformed already (asinh or logarithm)"
            )
