"""Names and kinds of the channels of an FCS file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

from pointforms.support.options import shown

#: Kinds of channels that measure the event rather than a marker.
Kind = Literal["time", "scatter", "beads", "event"]

# How channels of each kind are named, by PnN or PnS.
_PATTERNS: dict[str, re.Pattern[str]] = {
    "time": re.compile(r"time$"),
    "scatter": re.compile(
        r"(fsc|ssc)(?![a-z])|(fs|ss)[ _-](lin|log|int|peak|tof|area|height|width)"
    ),
    "beads": re.compile(r".*\bbeads?\d*\b|.*_beads?\d*(_|$)|bead"),
    "event": re.compile(r"(event|cell)[ _-]?length$|(center|offset|width|residual)$"),
}


def channel_names(
    short: Sequence[str], long: Sequence[str], names: Literal["marker", "channel"]
) -> list[str]:
    """Return the names of channels: markers (PnS) where they are given and unique, or PnN.

    Examples
    --------
    >>> channel_names(["Ir191Di", "Nd142Di", "Time"], ["DNA", "CD19", ""], "marker")
    ['DNA', 'CD19', 'Time']
    """
    if names == "channel":
        return list(short)
    markers = [name.strip() for name in long]
    taken = [*markers, *short]
    return [
        marker if marker and (taken.count(marker) == 1 or marker == own) else own
        for marker, own in zip(markers, short, strict=True)
    ]


def without_kinds(
    short: Sequence[str], long: Sequence[str], kinds: Sequence[Kind] | Literal["technical"]
) -> list[int]:
    """Return the positions of channels that are of none of some kinds.

    Examples
    --------
    >>> without_kinds(["FSC-A", "FL1-A", "Time"], ["", "CD3", ""], "technical")
    [1]
    """
    known = get_args(Kind)
    chosen = known if kinds == "technical" else kinds
    if isinstance(chosen, str) or not all(kind in known for kind in chosen):
        raise ValueError(
            f"leave_out={shown(kinds)}: expected 'technical' or a list of {', '.join(known)}"
        )
    patterns = [_PATTERNS[kind] for kind in chosen]
    return [
        j
        for j, names in enumerate(zip(short, long, strict=True))
        if not any(pattern.match(name.strip().lower()) for pattern in patterns for name in names)
    ]
