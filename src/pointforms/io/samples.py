"""Tables with one row per cloud: labels, groups and covariates that a file itself does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pointforms.io.columns import Annotations, PathLike, UnusableColumnError, counted, show_rows
from pointforms.io.file_parts import DROP_MISSING, FileParts, missing
from pointforms.io.read_options import ReadOptions
from pointforms.io.tables import arrow_table

#: The table of samples that a folder of FCS files may contain.
SAMPLES = "samples.csv"
# Columns that may name the cloud if there is none of the name that was given.
_CLOUD = ("cloud", "file", "filename", "sample", "sample_id", "id")


class Samples:
    """A table with one row per cloud.

    Parameters
    ----------
    path : path-like
        A .parquet, .csv or .tsv file. One of its columns names the cloud: the one that `options`
        names, or one called cloud, file, filename, sample, sample_id or id. Names of FCS files
        may have their suffix.
    options : ReadOptions
        Roles of the columns.
    max_bytes : int or None, default None
        The largest size that is accepted.
    """

    def __init__(self, path: PathLike, options: ReadOptions, max_bytes: int | None = None) -> None:
        self.path = Path(path)
        texts = [options.cloud, options.label, options.group, options.batch, *_CLOUD]
        rows = arrow_table(path, [name for name in texts if name is not None], None, max_bytes)
        self.names = [str(name) for name in rows.column_names]
        accepted = list(dict.fromkeys((options.cloud, *_CLOUD)))
        key = next((name for name in accepted if name in self.names), None)
        if key is None:
            raise ValueError(
                f"{self.path.name} has no column that names the cloud of each row: expected one "
                f"called {', '.join(accepted[:-1])} or {accepted[-1]}; it has "
                f"{', '.join(map(repr, self.names))}"
            )
        self.key = key
        self._columns: dict[str, list[Any]] = rows.to_pydict()
        self._place: dict[str, int] = {}
        for i, value in enumerate(self._columns[key]):
            name = _plain(value)
            if name in self._place:
                raise ValueError(f"{self.path.name} has several rows for the cloud {name!r}")
            self._place[name] = i

    @classmethod
    def beside(
        cls, data: Any, options: ReadOptions, max_bytes: int | None = None
    ) -> Samples | None:
        """Return the samples that options name, or those in a folder; None if there are none."""
        if options.samples is not None:
            return cls(options.samples, options, max_bytes)
        if isinstance(data, Path) and (data / SAMPLES).is_file():
            return cls(data / SAMPLES, options, max_bytes)
        return None

    def add_to(self, parts: FileParts, names: list[str], drop_missing: bool) -> FileParts:
        """Return the parts of a file with columns of the samples.

        Clouds that the table lacks, or whose values are missing, raise an error or are left out.

        Parameters
        ----------
        parts : FileParts
            Clouds and columns of the file.
        names : list of str
            The columns of the samples to add.
        drop_missing : bool
            Whether to leave out clouds instead of raising an error.
        """
        ids = parts.clouds.ids
        places = np.array([self._place.get(_plain(name), -1) for name in ids], dtype=np.int64)
        keep = places >= 0
        if not keep.all() and not drop_missing:
            raise ValueError(
                f"{self.path.name} has no row for {_named(ids, ~keep)}: {DROP_MISSING} leaves them "
                "out"
            )
        added: Annotations = {}
        for name in names:
            column = np.array([*self._columns[name], None], dtype=object)
            if not drop_missing and missing(column[places]).any():
                rows = places[missing(column[places])]
                raise UnusableColumnError(
                    name,
                    f"column {name!r} of {self.path.name} is empty for "
                    f"{_named(ids, missing(column[places]))} ({show_rows(rows)}); "
                    f"{DROP_MISSING} leaves them out",
                )
            added[name] = column[places]
            keep &= ~missing(column[places])
        whole = FileParts(
            parts.clouds, parts.annotations | added, parts.left_out, list(parts.remarks)
        )
        unused = len(self._place) - len(set(places[places >= 0].tolist()))
        if unused:
            which = f"{counted(unused, 'row')} of {self.path.name}"
            whole.remarks.append(f"{which} {'belongs' if unused == 1 else 'belong'} to no cloud")
        if keep.all():
            return whole
        if not keep.any():
            raise ValueError(f"no cloud has a complete row in {self.path.name}")
        whole.remarks.append(f"{_named(ids, ~keep)} dropped: no complete row in {self.path.name}")
        return some_clouds(whole, np.flatnonzero(keep))


def some_clouds(parts: FileParts, index: np.ndarray) -> FileParts:
    """Return the parts of a file that belong to some of its clouds."""
    return FileParts(
        parts.clouds[index],
        {name: values[index] for name, values in parts.annotations.items()},
        parts.left_out,
        parts.remarks,
    )


def _plain(name: object) -> str:
    text = str(name)
    return text[:-4] if text.lower().endswith(".fcs") else text


def _named(ids: tuple[str, ...], chosen: np.ndarray) -> str:
    """Name clouds for a message."""
    places = np.flatnonzero(chosen)
    shown = ", ".join(repr(ids[i]) for i in places[:5])
    more = f", … ({len(places)} in all)" if len(places) > 5 else ""
    return f"cloud{'s' if len(places) > 1 else ''} {shown}{more}"
