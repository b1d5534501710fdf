"""Saved models on the command line, and how the data they were fitted on were read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointforms.cli.file_options import FileArguments

if TYPE_CHECKING:
    from pointforms.estimators import Provenance
    from pointforms.io import ReadOptions


def options_for(
    estimator: Any, provenance: Provenance | None, file: FileArguments, data: str | None = None
) -> ReadOptions:
    """Return how to read a file for a model: as given, or as the data of its fit were read.

    The features are those of the fit, by name, so that nothing has to be guessed.

    Parameters
    ----------
    estimator : estimator
        The model.
    provenance : Provenance or None
        Where it comes from; None reads the file by what was given only.
    file : FileArguments
        What was given on the command line.
    data : str, optional
        The file. If it is that of the fit, columns that were left out are left out again; another
        file may not have them.
    """
    from sklearn.base import is_regressor

    recorded: dict[str, Any] = {}
    if provenance is not None:
        recorded = dict(provenance.reading)
        if data is None or not _is_file_of_fit(data, provenance, file):
            recorded = {k: v for k, v in recorded.items() if k not in ("drop", "allow")}
        names = getattr(estimator, "feature_names_in_", None)
        if names is not None:
            recorded["features"] = [str(name) for name in names]
        recorded["kind"] = "regression" if is_regressor(estimator) else "classification"
    return file.options(recorded)


def _is_file_of_fit(data: str, provenance: Provenance, file: FileArguments) -> bool:
    from pointforms.tasks.catalogue import content_digest

    with suppress(OSError):  # whoever reads the file says what is wrong with it
        return content_digest(data, file.options().samples) == provenance.content
    return False


def provenance_of(folder: Path) -> Provenance | None:
    """Return where a saved model comes from; None if it was saved without."""
    from pointforms.estimators import read_provenance

    return read_provenance(folder)
