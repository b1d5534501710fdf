"""Which column and which coordinates make clouds, remembered in `uns["pointforms"]`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.anndata import cells_of, check_anndata, cloud_codes, read_anndata
from pointforms.io.columns import column_name, column_names
from pointforms.support.docstring_entries import insert_entries
from pointforms.support.suggestions import suggest

#: Where `uns` of AnnData has what was computed.
KEY = "pointforms"
# Coordinates are one of these.
_COORDINATES = ("use_rep", "layer", "features")
_Function = TypeVar("_Function", bound=Any)


@dataclass(frozen=True)
class Choice:
    """How cells are grouped, and where their coordinates are.

    Attributes
    ----------
    cloud : str
        Column of `obs` with the sample of each cell.
    use_rep : str or None
        Key of `obsm`.
    layer : str or None
        Key of `layers`.
    features : list of str or None
        Names of genes or of columns of `obs`.
    """

    cloud: str
    use_rep: str | None = None
    layer: str | None = None
    features: list[str] | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        cloud: str | None,
        use_rep: str | None = None,
        layer: str | None = None,
        features: Sequence[str] | None = None,
    ) -> Choice:
        """Return what was chosen now, or else by an earlier call for the same AnnData, `data`.

        Parameters
        ----------
        cloud : str or None, default None
            Column of `obs` with the sample of each cell. None takes the one that an earlier call
            has chosen.
        use_rep : str or None, default None
            Key of `obsm` with the coordinates. "X" stands for the genes. If `use_rep`, `layer` and
            `features` are all None, those of an earlier call are taken, or else the genes.
        layer : str or None, default None
            Key of `layers` with the coordinates.
        features : sequence of str or None, default None
            Coordinates by name: genes, or numeric columns of `obs`.
        """
        known = {} if isinstance(data, str | os.PathLike) else results(data)
        if cloud is None:
            if "cloud" not in known:
                raise ValueError(
                    "cloud is None: expected the column of obs with the sample of each cell, which "
                    "later calls remember"
                )
            cloud = str(known["cloud"])
        cloud = column_name("cloud", cloud)
        if use_rep is None and layer is None and features is None:
            use_rep, layer = known.get("use_rep"), known.get("layer")
            features = known.get("features")
        names = None if features is None else column_names("features", features)
        return cls(cloud, None if use_rep == "X" else use_rep, layer, names)

    def keep(self, data: Any) -> None:
        """Remember the choice, unless the data is the name of a file."""
        if isinstance(data, str | os.PathLike):
            return
        known = results(data)
        for name in ("cloud", *_COORDINATES):
            known.pop(name, None)
            value = getattr(self, name)
            if value is not None:
                known[name] = value
        data.uns[KEY] = known

    def read(self, data: Any, max_bytes: int | None = None) -> Clouds:
        """Return the clouds, one per sample, in the order in which samples first appear."""
        return read_anndata(data, self.cloud, self.use_rep, self.layer, max_bytes, self.features)

    def rows(self, data: Any) -> np.ndarray:
        """Return the row of each cell in the order of the clouds: (cells,)."""
        with cells_of(data) as cells:
            codes, _ = cloud_codes(cells, self.cloud)
        return np.argsort(codes, kind="stable")


def documents_choice(function: _Function) -> _Function:
    """Decorate a function whose docstring has the line "[options of Choice]"."""
    if function.__doc__:  # absent under python -OO
        function.__doc__ = insert_choice(function.__doc__)
    return function


def insert_choice(docstring: str) -> str:
    """Replace the line "[options of Choice]" by the entries of cloud, use_rep, layer, features."""
    return insert_entries(docstring, "[options of Choice]", Choice.of.__doc__, "Parameters")


def results(data: Any) -> dict[str, Any]:
    """Return a copy of what `uns` has of pointforms."""
    return dict(check_anndata(data).uns.get(KEY, {}))


def keep_result(data: Any, name: str, value: Any) -> None:
    """Write a result to `uns`, or remove it if it is None; the name of a file has no `uns`."""
    if isinstance(data, str | os.PathLike):
        return
    known = results(data)
    known.pop(name, None)
    data.uns[KEY] = known if value is None else {**known, name: value}


def chosen_column(data: Any, name: str, given: str | None, needed: bool = True) -> str | None:
    """Return a column that is named now, or was named by an earlier call."""
    if given is not None:
        if not isinstance(given, str):
            raise TypeError(
                f"{name}={given!r}: expected the name of one column of obs; survival targets, a "
                "time and an event, are not supported yet"
            )
        return given
    known = {} if isinstance(data, str | os.PathLike) else results(data)
    if name in known:
        return str(known[name])
    if needed:
        raise ValueError(f"{name} is None: expected a column of obs, which later calls remember")
    return None


def check_column(name: str, known: Sequence[str]) -> None:
    """Raise an error unless `obs` has a column."""
    if name not in known:
        raise ValueError(f"no column {name!r} in obs: {suggest(name, known)}")
