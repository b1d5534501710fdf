"""Clouds of a folder of FCS files, one per file."""

from __future__ import annotations

from pointforms.io.archive_parts import chosen_features
from pointforms.io.columns import PathLike
from pointforms.io.fcs import read_fcs
from pointforms.io.file_parts import ChooseColumns, FileParts
from pointforms.io.leaks import plain_name
from pointforms.io.read_options import ReadOptions

# Channels that the instrument adds, by their plain names.
_INSTRUMENT = {"time": "time of acquisition", "event": "number of the event"}


def fcs_parts(
    folder: PathLike, options: ReadOptions, choose: ChooseColumns, max_bytes: int | None
) -> FileParts:
    """Return the clouds of a folder of FCS files, with all channels but those of the instrument.

    Parameters
    ----------
    folder : path-like
        The folder. Everything but the channels comes from a table of samples.
    options : ReadOptions
        The channels to use.
    choose : callable
        Checks that nothing else is needed from the files.
    max_bytes : int or None
        The largest size that is accepted.
    """
    left_out = dict(choose((), "column {!r}", "the table of samples has the columns").left_out)
    clouds = read_fcs(folder, options.features, max_bytes)
    for name in clouds.feature_names if options.features is None else ():
        reason = _INSTRUMENT.get(plain_name(name))
        if reason is not None and name not in options.allow:
            left_out[name] = f"{reason}, not a measurement"
    return FileParts(chosen_features(clouds, options, left_out), {}, left_out)
