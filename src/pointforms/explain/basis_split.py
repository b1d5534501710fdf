"""The exact split of learned forms over basis forms: a description of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from pointforms.clouds import cloud_list
from pointforms.estimators import PointFormClassifier, PointFormRegressor
from pointforms.estimators.per_cloud import check_groups
from pointforms.explain.cloud_labels import CloudLabels
from pointforms.explain.evaluation import CloudPoints, double_precision, refuse_covariates
from pointforms.explain.feature_names import names_in_order
from pointforms.explain.measurement import measure_contributions
from pointforms.explain.refits import Stability, combine, measure_half, output_units, refit_halves
from pointforms.exterior import multi_indices
from pointforms.support.checks import check_int
from pointforms.support.extras import need
from pointforms.support.formatting import signed
from pointforms.support.statistics import is_significant
from pointforms.support.table import Column, Table

# What is measured for every basis form, in the order of a table's columns.
_MEASURED = ("share", "difference", "p", "decision", "rank", "agreement")


class BasisForm(NamedTuple):
    """One row of a basis split: a basis form dx^I and what was measured for it.

    Attributes
    ----------
    name : str
        "CD3" for a 1-form, "CD3 ∧ CD4" for a 2-form, "1" for the function of degree 0.
    features : tuple of str
        Names of the features in it.
    indices : tuple of int
        Their positions.
    degree : int
        Number of features in it.
    share : float
        Part of the energy of the forms of its degree.
    difference : float
        Part of the variation between clouds that lies between the classes, 0 to 1.
    p : float
        Family-wise p-value of the difference; NaN without refits.
    decision : float
        Part of the class's advantage that goes through it.
    rank : float
        Mean rank by difference over refits.
    agreement : float
        Part of the refits that have it among their first tenth.

    Examples
    --------
    >>> form = BasisForm("CD3", ("CD3",), (0,), 1, 0.4, 0.6, 0.01, 1.2, 1.0, 1.0)
    >>> form.features, form.difference
    (('CD3',), 0.6)
    """

    name: str
    features: tuple[str, ...]
    indices: tuple[int, ...]
    degree: int
    share: float
    difference: float
    p: float
    decision: float
    rank: float
    agreement: float

    def __str__(self) -> str:
        lines = [f"{self.name}, k = {self.degree}", f"difference {self.difference:.3f}"]
        lines += [f"p = {self.p:.3g}"] * isfinite(self.p)
        lines += [f"{self.share:.1%} of the energy"]
        lines += [f"among the first in {self.agreement:.0%} of refits"] * isfinite(self.agreement)
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class BasisSplit:
    """How much each basis form dx^I contributes, and how differently in the classes.

    It covers B basis forms of all degrees and R refits, each cross-fitted on two halves of the
    clouds. :func:`basis_split` makes it. It describes the model; what its decisions rely on
    is measured by :func:`pointforms.explain.importance`.

    Attributes
    ----------
    names : tuple of str
        "CD3" for a 1-form, "CD3 ∧ CD4" for a 2-form, "1" for the function of degree 0.
    feature_names : tuple of str
        Names of the D features.
    indices : tuple of tuple of int
        Positions of the features of each basis form.
    degree : (B,) array
        Number of features of each basis form.
    share : (B,) array
        Part of the energy of the forms of its degree, Σ tr C^(I) / Σ tr C, in this model over all
        clouds. It sums to 1 in each degree.
    difference : (B,) array
        η², the part of the variation of C^(I) between clouds that lies between the classes, 0 to 1
        (for a regressor the part that is linear in the target), on clouds that the refits have not
        seen. The table is sorted by it.
    decision : (B,) array
        Part of the class's advantage that goes through dx^I: the difference between the class's
        clouds and the others' of ⟨w, C^(I)⟩, w the gradient of the logit contrast along the path
        between the two mean matrices. In logits (for a regressor in units of the target, between
        the upper and the lower half of the targets); negative where dx^I speaks against. Measured
        with the refits on unseen clouds.
    p : (B,) array
        Family-wise p-value of `difference`: how often the largest difference over all basis forms
        is as large under permuted labels. NaN without refits.
    rank : (B,) array
        Mean rank by `difference` over refits; the first is 1.
    agreement : (B,) array
        Part of the refits in which dx^I is among the first tenth (or the first).
    columns : tuple of str
        Classes, where there are more than two, or targets.
    difference_by : (columns, B) array
        The difference for one class against the rest, or for one target.
    decision_by : (columns, B) array
        The decision for one class against the rest, or for one target.
    chance : float
        How far the largest `difference` reaches under permuted labels: p = 0.05 where the halves
        agree.
    correlation : float
        Mean Spearman correlation between the differences of refits of different seeds; NaN for
        one refit.
    score : float
        AUROC, or R² of a regressor, of the refits on unseen clouds: where they predict nothing,
        there is nothing to explain.
    clouds : int
        Number of clouds.
    refits : int
        Number of refits.
    permutations : int
        Number of permutations of the labels.

    Examples
    --------
    >>> import pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(12) % 2
    >>> clouds = [rng.normal(size=(12, 2)) * [1 + 4 * label, 1] for label in y]
    >>> model = pf.PointFormClassifier(
    ...     forms=2, hidden=(4,), epochs=2, neighbors=6, dimension=2, random_state=0
    ... )
    >>> names, fitted = ["CD3", "CD4"], model.fit(clouds, y)
    >>> table = pf.explain.basis_split(fitted, clouds, y, feature_names=names, refits=0)
    >>> len(table), sorted(form.name for form in table.top())
    (2, ['CD3', 'CD4'])
    """

    names: tuple[str, ...]
    feature_names: tuple[str, ...]
    indices: tuple[tuple[int, ...], ...]
    degree: np.ndarray
    share: np.ndarray
    difference: np.ndarray
    decision: np.ndarray
    p: np.ndarray
    rank: np.ndarray
    agreement: np.ndarray
    columns: tuple[str, ...]
    difference_by: np.ndarray
    decision_by: np.ndarray
    chance: float
    correlation: float
    score: float
    clouds: int
    refits: int
    permutations: int

    def __len__(self) -> int:
        return len(self.names)

    def order(self) -> np.ndarray:
        """Return positions of the basis forms, the largest difference first."""
        order: np.ndarray = np.argsort(-self.difference, kind="stable")
        return order

    def top(self, count: int | None = 10) -> list[BasisForm]:
        """Return the basis forms with the largest differences; all of them for None."""
        return [
            BasisForm(
                self.names[i],
                tuple(self.feature_names[j] for j in self.indices[i]),
                self.indices[i],
                int(self.degree[i]),
                *(float(getattr(self, name)[i]) for name in _MEASURED),
            )
            for i in self.order()[:count]
        ]

    def significant(self) -> list[BasisForm]:
        """Return the basis forms whose difference is significant (p < 0.05)."""
        return [form for form in self.top(None) if is_significant(form.p)]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per basis form, the largest difference first."""
        made = []
        for i, form in zip(self.order(), self.top(None), strict=True):
            row: dict[str, Any] = {"form": form.name, "degree": form.degree}
            row |= {name: getattr(form, name) for name in _MEASURED}
            for c, column in enumerate(self.columns):
                row[f"difference: {column}"] = float(self.difference_by[c, i])
                row[f"decision: {column}"] = float(self.decision_by[c, i])
            made.append(row)
        return made

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame."""
        return need("pandas", "sc").DataFrame(self.rows())

    def table(self) -> Table:
        """Return the rows as a table, for a terminal, a page or a file."""
        columns = [
            Column("form", "form", left=True),
            Column("degree", "degree"),
            Column("share", "share", "{:.3f}".format),
            Column("difference", "difference", "{:.3f}".format),
            Column("p", "p", _starred),
            Column("decision", "decision", signed),
            Column("rank", "rank", "{:.1f}".format, wide=True),
            Column("agreement", "agreement", "{:.2f}".format),
        ]
        by_class = [f"difference: {column}" for column in self.columns]
        columns += [Column(name, name, "{:.3f}".format, wide=True) for name in by_class]
        return Table("Split over basis forms", columns, self.rows(), [f"{self.summary()}."])

    def summary(self) -> str:
        """Describe in one line what the numbers were computed from."""
        if not self.refits:
            return (
                f"{self.clouds} clouds, in-sample: without refits there are no p-values, and a "
                "model always finds differences between its own training clouds"
            )
        text = f"{self.clouds} clouds, {self.refits} refits on halves: score {self.score:.2f} on "
        text += "unseen clouds, "
        if self.refits > 1:
            text += f"correlation between refits {self.correlation:.2f}; "
        text += f"chance reaches {self.chance:.3f} ({self.permutations} permutations)"
        smallest = 2 / (1 + self.permutations)
        if not is_significant(smallest):
            text += f"; so few permutations give no p below {smallest:.2f}"
        return text

    def __str__(self) -> str:
        wide = max(len(name) for name in self.names)
        lines = [f"{'form':{wide}}  share  difference      p  decision  rank  agreement"]
        for form in self.top(10):
            lines.append(
                f"{form.name:{wide}}  {form.share:5.3f}  {form.difference:10.3f}  "
                f"{form.p:5.3f}  {form.decision:8.3f}  {form.rank:4.1f}  "
                f"{form.agreement:9.2f}"
            )
        if len(self) > 10:
            lines.append(f"… and {len(self) - 10} more")
        return "\n".join([*lines, self.summary()])


def basis_split(
    estimator: Any,
    clouds: Any,
    y: Any,
    groups: Any = None,
    feature_names: Sequence[str] | None = None,
    refits: int = 4,
    permutations: int = 500,
    random_state: int | None = 0,
) -> BasisSplit:
    """Describe a fitted point-form model: split its comparison matrices over basis forms.

    The split C = Σ_I C^(I) is exact, but it does not say which features matter. The coefficient of
    dx^I is a function of *all* features, so a change of one feature changes every C^(I), and all of
    them may differ between the classes. Which features a decision relies on is measured by
    :func:`pointforms.explain.importance`.

    A model that was trained on a cloud has fitted its label, so contributions of training clouds
    differ between any two classes. The differences, p-values and agreement are therefore those of
    `refits` clones with other seeds, each trained on one half of the clouds and measured on the
    other, both ways round. Given its training half, a refit knows nothing of the other half's
    labels, so permuting those gives an exact p-value in each half. Twice their mean is reported,
    which holds its level however the halves depend on each other, and is small only where both
    agree.

    Among the definitions of `difference` that were tried on planted signals, η² of the whole
    matrices C^(I) found them most often with each of the readouts; the decision's own direction,
    `decision`, contains the noise of the head, and energies alone, tr C^(I), miss changes between
    forms. Basis forms that share a feature with a strong one may show through the terms that both
    make together.

    Parameters
    ----------
    estimator : PointFormClassifier or PointFormRegressor
        A fitted estimator.
    clouds : list of (n_i, D) arrays, or Gram fields
        One array per cloud, all with the same features.
    y : (N,) or (N, targets) array
        Classes, or targets of a regressor.
    groups : (N,) array, optional
        Clouds of one group stay in one half; labels are permuted between groups where each has
        one label, otherwise inside the groups.
    feature_names : sequence of str, optional
        Names of the D features, in the order of the clouds. By default those of `fit` or of the
        clouds, or x0, x1, ….
    refits : int, default 4
        Number of refits; 0 measures this model on the given clouds, and skips p-values.
    permutations : int, default 500
        Number of permutations of the labels.
    random_state : int or None, default 0
        Seed of halves, refits and permutations.

    Returns
    -------
    BasisSplit

    Examples
    --------
    >>> import pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(12) % 2
    >>> clouds = [rng.normal(size=(12, 2)) * [1 + 4 * label, 1] for label in y]
    >>> model = pf.PointFormClassifier(
    ...     forms=2, hidden=(4,), epochs=2, neighbors=6, dimension=2, random_state=0
    ... )
    >>> table = pf.explain.basis_split(model.fit(clouds, y), clouds, y, refits=1, permutations=20)
    >>> sorted(form.features for form in table.top(2))
    [('x0',), ('x1',)]
    """
    if not isinstance(estimator, PointFormClassifier | PointFormRegressor):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}: expected a fitted PointFormClassifier or "
            "PointFormRegressor, since others make no decision"
        )
    check_int("refits", refits, at_least=0)
    check_int("permutations", permutations, at_least=1)
    refuse_covariates(estimator)
    if estimator.components is not None:
        raise ValueError(
            f"components={estimator.components}: the split is over features, expected None"
        )
    clouds = cloud_list(clouds)
    fields = list(estimator.prepare_for_prediction(clouds))
    labels = CloudLabels.of(estimator, y, len(fields))
    groups = check_groups(groups, len(fields))
    names = names_in_order(estimator, clouds, feature_names)
    points = CloudPoints.of(fields, estimator.measure)
    network = double_precision(estimator.model_)
    everyone = np.arange(len(fields))
    alone = measure_contributions(
        network, points, labels, everyone, everyone, everyone[None], output_units(estimator)
    )
    basis = [
        tuple(I)
        for layer in network.point_forms()
        for I in multi_indices(len(names), layer.degree).tolist()
    ]
    degree = np.array([len(I) for I in basis])
    energy = np.array([alone.energy[degree == k].sum() for k in degree])
    columns = len(labels.columns)
    mean, stability = alone, Stability.unknown(alone)
    if refits:
        rng = np.random.default_rng(random_state)
        halves = labels.halves(groups, int(rng.integers(2**31)))
        seeds = rng.choice(2**31 - 1, refits, replace=False).tolist()
        trained, score = refit_halves(estimator, fields, labels, halves, seeds, groups)
        measured = [
            measure_half(models, points, labels, groups, halves == h, permutations, rng)
            for h, models in enumerate(trained)
        ]
        mean, stability = combine(measured, score)
    return BasisSplit(
        names=tuple(" ∧ ".join(names[i] for i in I) or "1" for I in basis),
        feature_names=names,
        indices=tuple(basis),
        degree=degree,
        share=alone.energy / np.where(energy > 0, energy, 1.0),
        difference=mean.explained[0],
        decision=mean.decision.mean(0),
        columns=labels.columns,
        difference_by=mean.explained_by[:columns],
        decision_by=mean.decision[:columns],
        clouds=len(fields),
        refits=refits,
        permutations=permutations if refits else 0,
        **stability._asdict(),
    )


def _starred(p: float) -> str:
    """A p-value, with a star where it is significant."""
    return f"{p:.3f}" + (" *" if is_significant(p) else "  ")
