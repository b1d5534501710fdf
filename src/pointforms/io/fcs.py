"""Clouds of cells from FCS files of flow and mass cytometry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pointforms.clouds import Clouds
from pointforms.io.columns import PathLike
from pointforms.io.limits import check_size
from pointforms.support.extras import need
from pointforms.support.suggestions import suggest


def read_fcs(
    folder: PathLike, channels: Sequence[str] | None = None, max_bytes: int | None = None
) -> Clouds:
    """Read clouds of cells from a folder of FCS files, one cloud per file.

    A cloud is named by its file without the suffix. Needs the extra `fcs`.

    Parameters
    ----------
    folder : path-like
        The folder. Files that do not end in .fcs are ignored.
    channels : sequence of str or None, default None
        Channels to read, by their long name (PnS) or short name (PnN). None reads all channels
        of the first file, which every other file must have.
    max_bytes : int or None, default None
        The largest size of the arrays in all files that is accepted, in bytes. None stands for the
        environment variable POINTFORMS_MAX_BYTES, or for 8 GiB.

    Returns
    -------
    Clouds

    Examples
    --------
    >>> import flowio, tempfile, pointforms as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/tube1.fcs", "wb") as file:
    ...         _ = flowio.create_fcs(file, [1.0, 2.0, 3.0, 4.0], ["CD3", "CD19"])
    ...     clouds = pf.read_fcs(folder)
    >>> clouds.ids, clouds.feature_names, clouds.sizes.tolist()
    (('tube1',), ('CD3', 'CD19'), [2])
    """
    flowio = need("flowio", "fcs")
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"no folder {str(folder)!r}")
    files = sorted(p for p in path.iterdir() if p.suffix.lower() == ".fcs")
    if not files:
        raise ValueError(f"no .fcs file in {str(folder)!r}")
    clouds: list[np.ndarray] = []
    names: list[str] | None = None if channels is None else list(channels)
    for file in files:
        text = _parsed(flowio, file, only_text=True)
        size = text.event_count * text.channel_count * 8  # as an array of float64
        check_size(file, sum(cloud.nbytes for cloud in clouds) + size, max_bytes)
        flow = _parsed(flowio, file)
        labels = [
            long or short for long, short in zip(flow.pns_labels, flow.pnn_labels, strict=True)
        ]
        # the first file sets the channels and their order
        names = labels if names is None else names
        place = {
            **{n: i for i, n in enumerate(flow.pnn_labels)},
            **{n: i for i, n in enumerate(labels)},
        }
        absent = [name for name in names if name not in place]
        if absent:
            raise ValueError(
                f"{file.name} has no channel {absent[0]!r}: {suggest(absent[0], labels)}"
            )
        clouds.append(flow.as_array()[:, [place[name] for name in names]])
    return Clouds.from_list(clouds, [file.stem for file in files], names)


def _parsed(flowio: Any, file: Path, only_text: bool = False) -> Any:
    try:
        with file.open("rb") as opened:
            return flowio.FlowData(opened, only_text=only_text)
    except Exception as error:  # the parser raises whatever its first bad byte leads to
        raise ValueError(f"{file.name} cannot be read as FCS: {error}") from None
