"""The answer to which features a model relies on: a table with one row per feature and kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple

from pointforms.support.extras import need
from pointforms.support.formatting import signed
from pointforms.support.statistics import SIGNIFICANCE_LEVEL, is_significant
from pointforms.support.table import Column, Table


class Reliance(NamedTuple):
    """How much a model relies on a feature, or on the dependence of two.

    Attributes
    ----------
    feature : str
        Name of the feature.
    other : str or None
        Name of the second feature of a pair.
    kind : {"distribution", "covariation"}
        Whether its values were replaced by those of other clouds, or shuffled inside the cloud.
    importance : float
        Mean increase of the loss per cloud; NaN if no group has another to take values from.
    p_value : float
        Family-wise p-value over the whole table.
    low : float
        Lower end of the 95 % interval of the importance over groups, for this row alone; NaN for
        fewer than two groups.
    high : float
        Upper end of that interval.
    score : float
        Drop of the AUROC, or of R².

    Examples
    --------
    >>> Reliance("CD3", None, "distribution", 0.4, 0.001, 0.3, 0.5, 0.2).name
    'CD3'
    """

    feature: str
    other: str | None
    kind: str
    importance: float
    p_value: float
    low: float
    high: float
    score: float

    @property
    def name(self) -> str:
        """The feature, or both features of a pair."""
        return self.feature if self.other is None else f"{self.feature} × {self.other}"

    @property
    def found(self) -> bool:
        """Whether the p-value is below 0.05."""
        return is_significant(self.p_value)


class StandIns(NamedTuple):
    """Correlated features, and what they are worth together.

    Attributes
    ----------
    features : tuple of str
        Names of the features.
    distribution : float
        Importance where all of them have the distribution of another cloud; NaN if it was not
        measured.
    covariation : float
        Importance where all of them are shuffled by one permutation.
    p_distribution : float
        P-value of `distribution`, corrected together with those of the table.
    p_covariation : float
        P-value of `covariation`, corrected likewise.

    Examples
    --------
    >>> print(StandIns(("CD3", "CD8"), 0.5, 0.25, 0.001, 0.2))
    CD3, CD8 (together: distribution 0.500, covariation 0.250)
    """

    features: tuple[str, ...]
    distribution: float
    covariation: float
    p_distribution: float
    p_covariation: float

    def __str__(self) -> str:
        text = ", ".join(self.features)
        values = {"distribution": self.distribution, "covariation": self.covariation}
        known = [f"{kind} {value:.3f}" for kind, value in values.items() if not isnan(value)]
        return text + (f" (together: {', '.join(known)})" if known else "")


@dataclass(frozen=True, eq=False)
class Importance:
    """What a model relies on, measured on clouds that it has not seen.

    :func:`pointforms.explain.importance` makes it. It describes *this model*, not the data: another
    model may use other features, and of correlated features a model may use any.

    Attributes
    ----------
    rows : tuple of Reliance
        One per feature and kind, and per pair; the most important first.
    stand_ins : tuple of StandIns
        Sets of correlated features, which share what the model relies on.
    feature_names : tuple of str
        Names of all features.
    loss : float
        Mean loss of the unperturbed clouds: log loss, or squared error in units of the variance.
    score : float
        Their AUROC or R².
    score_name : {"auroc", "r2"}
        Which of the two.
    smallest_p : dict of str to float
        The smallest p-value that the number of groups allows, by kind.
    clouds : int
        Number of clouds that were measured.
    groups : int
        Number of groups that they belong to.
    repeats : int
        Number of shuffled versions per cloud, in the rows of kind covariation.
    models : str
        Which models predicted the clouds.
    donors : tuple of int, default (1, 1)
        The fewest and the most other groups that the clouds of a group take values from, in the
        rows of kind distribution; (0, 0) if no group has another.
    alone : int, default 0
        Number of groups that have no other group in their fold to take values from. Rows of kind
        distribution leave them out.

    Examples
    --------
    >>> row = Reliance("CD3", None, "distribution", 0.4, 0.001, 0.3, 0.5, 0.2)
    >>> smallest = {"distribution": 0.001, "covariation": 0.001}
    >>> table = Importance((row,), (), ("CD3",), 0.2, 0.9, "auroc", smallest, 40, 40, 5, "refits")
    >>> [row.name for row in table.found()]
    ['CD3']
    """

    rows: tuple[Reliance, ...]
    stand_ins: tuple[StandIns, ...]
    feature_names: tuple[str, ...]
    loss: float
    score: float
    score_name: str
    smallest_p: Mapping[str, float]
    clouds: int
    groups: int
    repeats: int
    models: str
    donors: tuple[int, int] = (1, 1)
    alone: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def top(self, count: int | None = 10, kind: str | None = None) -> list[Reliance]:
        """Return the most important rows, all of them for None; or those of one kind."""
        return [row for row in self.rows if kind in (None, row.kind)][:count]

    def found(self) -> list[Reliance]:
        """Return the rows with a p-value below 0.05, the most important first."""
        return [row for row in self.rows if row.found]

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame, the most important first.

        Its columns are feature, other (None, or the second feature of a pair), kind, importance,
        p_value, low, high, and the drop of the score, called auroc or r2.
        """
        pandas = need("pandas", "sc")
        names = [*Reliance._fields[:-1], self.score_name]
        frame = pandas.DataFrame([tuple(row) for row in self.rows], columns=names)
        frame["other"] = pandas.Series([row.other for row in self.rows], dtype=object)
        return frame

    def table(self) -> Table:
        """Return the rows as a table, for a terminal, a page or a file."""
        score = "AUROC drop" if self.score_name == "auroc" else "R² drop"
        columns = [
            Column("feature", "feature", left=True),
            Column("other", "with", left=True),
            Column("kind", "kind", left=True),
            Column("importance", "importance", signed),
            Column("p_value", "p", _starred),
            Column("low", "low", signed, wide=True),
            Column("high", "high", signed, wide=True),
            Column(self.score_name, score, signed),
        ]
        keys = [*Reliance._fields[:-1], self.score_name]
        rows = [dict(zip(keys, row, strict=True)) for row in self.rows]
        return Table("What the model relies on", columns, rows, self.notes())

    def notes(self) -> list[str]:
        """Return what to know about the numbers: how they were made, and what they can show."""
        return [f"{self.summary()}.", *(f"{text}." for text in self._about_correlation())]

    def summary(self) -> str:
        """Describe in one line what was measured, and how small a p-value can be."""
        score = "AUROC" if self.score_name == "auroc" else "R²"
        loss = "log loss" if self.score_name == "auroc" else "squared error"
        text = (
            f"What this model relies on: increase of {loss} on {self.clouds} clouds in "
            f"{self.groups} groups, {self._versions()}, by {self.models}; "
            f"unperturbed {loss} {self.loss:.3f}, {score} {self.score:.2f}; "
        )
        smallest = dict(self.smallest_p)
        values = {kind: f"{value:.2g}" for kind, value in smallest.items()}
        if len(set(values.values())) == 1:
            text += f"smallest possible p {next(iter(values.values()))}"
        else:
            text += "smallest possible p: " + ", ".join(f"{k} {v}" for k, v in values.items())
        hopeless = [kind for kind, value in smallest.items() if value >= SIGNIFICANCE_LEVEL]
        if len(hopeless) == len(smallest):
            text += f", so that no finding below {SIGNIFICANCE_LEVEL} is possible"
        elif hopeless:
            text += f", so that no finding of {hopeless[0]} below {SIGNIFICANCE_LEVEL} is possible"
        if self.alone:
            text += (
                f"; {self.alone} of {self.groups} groups have no other group in their fold to take "
                "values from, and are left out of the rows of kind distribution"
            )
        return text

    def _versions(self) -> str:
        """Say how many perturbed versions of a cloud there are of each kind."""
        fewest, most = self.donors
        donors = f"{most}" if fewest == most else f"{fewest} to {most}"
        groups = "group" if most == 1 else "groups"
        times = "time" if self.repeats == 1 else "times"
        return (
            f"each cloud with values of {donors} other {groups} (distribution) and shuffled "
            f"{self.repeats} {times} (covariation)"
        )

    def _about_correlation(self) -> list[str]:
        if not self.stand_ins:
            return []
        sets = "; ".join(map(str, self.stand_ins[:5]))
        more = len(self.stand_ins) - 5
        text = f"Correlated features stand in for each other: {sets}"
        return [text + (f"; and {more} more sets" if more > 0 else "")]

    def __str__(self) -> str:
        shown = self.top(10)
        wide = max([len("feature"), *(len(row.name) for row in shown)])
        lines = [f"{'feature':{wide}}  {'kind':12}  importance        95 % interval      p"]
        for row in shown:
            lines.append(
                f"{row.name:{wide}}  {row.kind:12}  {row.importance:10.4f}  "
                f"{f'{row.low:.4f} to {row.high:.4f}':>20}  {_starred(row.p_value)}"
            )
        if len(self) > len(shown):
            lines.append(f"… and {len(self) - len(shown)} more")
        return "\n".join([*lines, self.summary(), *self._about_correlation()])


def _starred(p: float) -> str:
    """A p-value, with a star where it is significant."""
    return (f"{p:.3f}" if p >= 0.001 else f"{p:.0e}") + (" *" if is_significant(p) else "  ")
