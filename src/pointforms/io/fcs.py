"""Clouds of cells from FCS files of flow and mass cytometry."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pointforms.clouds import Clouds
from pointforms.incomplete import incomplete_clouds
from pointforms.io.columns import PathLike, column_names, missing_feature
from pointforms.io.fcs_channels import Kind, channel_names, without_kinds
from pointforms.io.fcs_compensation import compensated
from pointforms.io.limits import check_size
from pointforms.support.extras import need

# How the parser is asked to find the data, one after the other. Real files name the byte after the
# last one, or say different things in their header and their text.
_OFFSETS: tuple[dict[str, bool], ...] = (
    {},
    {"ignore_offset_error": True, "ignore_offset_discrepancy": True},
    {"ignore_offset_error": True, "use_header_offsets": True},
)


def read_fcs(
    source: PathLike | Iterable[PathLike],
    channels: Sequence[str] | None = None,
    max_bytes: int | None = None,
    *,
    names: Literal["marker", "channel"] = "marker",
    leave_out: Sequence[Kind] | Literal["technical"] = (),
    compensate: bool = False,
    absent: Literal["error", "nan"] = "error",
) -> Clouds:
    """Read clouds of cells from FCS files, one cloud per file.

    A cloud is named by its file without the suffix. Values are linear: logarithmic amplification
    and gains that a file declares are undone. A data segment whose declared end is off by one byte,
    or that header and text place differently, is read where it then has the declared number of
    events. Needs the extra `fcs`.

    Parameters
    ----------
    source : path-like or iterable of path-like
        A folder, whose files that end in .fcs are read in the order of their names; one file; or
        several files.
    channels : sequence of str or None, default None
        Channels to read, by marker (PnS) or by the name of the detector or isotope (PnN). None
        reads all channels of the first file, which every other file must have.
    max_bytes : int or None, default None
        The largest size of the arrays in all files that is accepted, in bytes. None stands for the
        environment variable POINTFORMS_MAX_BYTES, or for 8 GiB.
    names : {"marker", "channel"}, default "marker"
        What features are called: by marker (PnS), where a channel has one of its own, or by PnN.
    leave_out : sequence of {"time", "scatter", "beads", "event"} or "technical", default ()
        Kinds of channels to leave out: the time, scattered light (FSC, SSC), calibration beads, and
        the parameters of the event (Event_length, Center, Offset, Width, Residual). "technical"
        leaves out all four.
    compensate : bool, default False
        Apply the spillover matrix that each file stores ($SPILLOVER or SPILL) to its channels. By
        default values stay as stored: mass cytometry has no such matrix, and exported files may
        have been compensated before.
    absent : {"error", "nan"}, default "error"
        What happens if a file lacks a channel: an error, or NaN in its place, for
        :class:`pointforms.preprocessing.Impute` to fill. With "nan" and without `channels`, the
        channels are those that any file has.

    Returns
    -------
    Clouds

    Examples
    --------
    >>> import flowio, tempfile, pointforms as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/tube1.fcs", "wb") as file:
    ...         _ = flowio.create_fcs(file, [1.0, 2.0, 0.1, 3.0, 4.0, 0.2], ["CD3", "CD19", "Time"])
    ...     clouds = pf.read_fcs(folder, leave_out="technical")
    >>> clouds.ids, clouds.feature_names, clouds.sizes.tolist()
    (('tube1',), ('CD3', 'CD19'), [2])
    """
    for option, value, allowed in (("names", names, _NAMES), ("absent", absent, _ABSENT)):
        if value not in allowed:
            raise ValueError(f"{option}={value!r}: expected one of {', '.join(map(repr, allowed))}")
    files = _files(source)
    flowio = need("flowio", "fcs")
    wanted = None if channels is None else column_names("channels", channels)
    clouds: list[np.ndarray] = []
    features: list[list[str]] = []
    for file in files:
        text = _parsed(flowio, file, only_text=True)
        size = text.event_count * text.channel_count * 8  # as an array of float64
        check_size(file, sum(cloud.nbytes for cloud in clouds) + size, max_bytes)
        flow = _parsed(flowio, file)
        values = flow.as_array()
        if compensate:
            values = compensated(values, flow.text, flow.pnn_labels, file.name)
        labels = channel_names(flow.pnn_labels, flow.pns_labels, names)
        kept = without_kinds(flow.pnn_labels, flow.pns_labels, leave_out)
        if wanted is None and absent == "error":
            wanted = [labels[j] for j in kept]  # the first file sets the channels and their order
        own = [labels[j] for j in kept] if wanted is None else wanted
        place = {name: j for found in _aliases(flow, labels) for j, name in enumerate(found)}
        missing = [name for name in own if name not in place]
        if missing and absent == "error":
            message = f"{file.name} has no channel {missing[0]!r}"
            raise missing_feature(message, missing[0], labels, own)
        own = [name for name in own if name in place]
        if not own:
            raise ValueError(f"{file.name} has none of the channels")
        clouds.append(values[:, [place[name] for name in own]])
        features.append(own)
    if absent == "error":
        return Clouds.from_list(clouds, _ids(files), wanted)
    joined = incomplete_clouds(clouds, _ids(files), features)
    return joined if wanted is None else joined.in_order(_found(wanted, joined))


_NAMES = ("marker", "channel")
_ABSENT = ("error", "nan")


def _found(wanted: list[str], clouds: Clouds) -> list[str]:
    for name in wanted:
        if name not in clouds.feature_names:
            raise ValueError(f"no file has a channel {name!r}")
    return wanted


def _aliases(flow: Any, labels: list[str]) -> tuple[list[str], ...]:
    """Return names by which channels are found; later ones count more."""
    return list(flow.pns_labels), list(flow.pnn_labels), labels


def _files(source: Any) -> list[Path]:
    if not isinstance(source, str | os.PathLike):
        if not isinstance(source, Iterable):
            raise TypeError(f"source={source!r}: expected a folder, a file or a list of files")
        files = [Path(path) for path in source]
        if not files:
            raise ValueError("source is empty: expected at least one FCS file")
    elif Path(source).is_file():
        files = [Path(source)]
    elif Path(source).is_dir():
        files = sorted(p for p in Path(source).iterdir() if p.suffix.lower() == ".fcs")
        if not files:
            raise ValueError(f"no .fcs file in {str(source)!r}")
    else:
        raise FileNotFoundError(f"no folder or file {str(source)!r}")
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(f"no file {str(file)!r}")
    return files


def _ids(files: Sequence[Path]) -> list[str]:
    """Return the names of files, with their folders where files of several have one name."""
    stems = [file.stem for file in files]
    if len(set(stems)) == len(stems):
        return stems
    return [f"{file.parent.name}/{file.stem}" for file in files]


def _parsed(flowio: Any, file: Path, only_text: bool = False) -> Any:
    """Return what the parser makes of a file, whose number of values is as declared."""
    if not file.stat().st_size:
        raise ValueError(f"{file.name} is empty")
    with file.open("rb") as opened:
        if opened.read(3) != b"FCS":
            raise ValueError(f"{file.name} is not an FCS file: it does not begin with 'FCS'")
    reasons = []
    for offsets in _OFFSETS[1:2] if only_text else _OFFSETS:
        try:
            with file.open("rb") as opened, warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", UserWarning
                )  # about an offset; the count is checked
                flow = flowio.FlowData(opened, only_text=only_text, **offsets)
            if only_text or len(flow.events) == flow.event_count * flow.channel_count:
                return flow
            reasons.append(
                f"it declares {flow.event_count} events of {flow.channel_count} channels and has "
                f"{len(flow.events)} values"
            )
        except Exception as error:  # the parser raises whatever its first bad byte leads to
            reasons.append(str(error))
    raise ValueError(f"{file.name} cannot be read as FCS, and may be incomplete: {reasons[0]}")
