"""What was understood of a file, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

# Names, or values with their counts, that a line lists at most.
_LISTED = 12


@dataclass(frozen=True)
class FileSummary:
    """What was understood of a file: its clouds, features, labels and groups.

    Printed, it has one line per entry.

    Attributes
    ----------
    entries : dict of str to str
        Texts by name, in the order in which they are printed.

    Examples
    --------
    >>> print(FileSummary({"clouds": "12 of 40 points", "label": "response: no 6, yes 6"}))
    clouds  12 of 40 points
    label   response: no 6, yes 6
    """

    entries: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        width = max(map(len, self.entries), default=0)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in self.entries.items())


def shown_sizes(sizes: Sequence[int] | np.ndarray) -> str:
    """Return the number of clouds and of their points as text.

    Examples
    --------
    >>> shown_sizes([8, 8]), shown_sizes([5, 9, 30])
    ('2 of 8 points', '3 of 5-30 points (median 9)')
    """
    low, high = int(np.min(sizes)), int(np.max(sizes))
    if low == high:
        return f"{len(sizes)} of {low} points"
    return f"{len(sizes)} of {low}-{high} points (median {np.median(sizes):g})"


def shown_names(names: Sequence[str]) -> str:
    """Return names as text, the first of many."""
    more = f", … ({len(names)} in all)" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def shown_counts(values: np.ndarray) -> str:
    """Return values with the number of clouds that have each.

    Examples
    --------
    >>> shown_counts(np.array(["yes", "no", "yes"]))
    'no 1, yes 2'
    """
    counts = sorted(Counter(map(str, values.tolist())).items())
    return shown_names([f"{value} {count}" for value, count in counts])


def shown_left_out(left_out: Mapping[str, str]) -> str:
    """Return columns that are not used, by reason.

    Examples
    --------
    >>> shown_left_out({"note": "text", "batch": "dropped", "comment": "text"})
    'note, comment (text); batch (dropped)'
    """
    reasons: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        reasons.setdefault(reason, []).append(name or "''")
    return "; ".join(f"{shown_names(names)} ({reason})" for reason, names in reasons.items())
