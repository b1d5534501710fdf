"""Columns that are taken as groups if no other is named."""

from __future__ import annotations

from collections.abc import Sequence

from pointforms.io.leaks import plain_name

#: Names of such columns, the first of which is the most certain.
GROUP_NAMES = (
    "group", "patient", "patient_id", "donor", "donor_id", "subject", "subject_id",
)  # fmt: skip


def guess_group(names: Sequence[str]) -> str | None:
    """Return the column that says which clouds belong together, by its name.

    Parameters
    ----------
    names : sequence of str
        Names of columns.

    Examples
    --------
    >>> guess_group(["cd3", "Patient ID", "donor"])
    'Patient ID'
    >>> guess_group(["cd3", "plate"]) is None
    True
    """
    by_name = {plain_name(name): name for name in reversed(names)}
    return next((by_name[name] for name in GROUP_NAMES if name in by_name), None)
