"""Distances between clouds as a fitted model sees them: by their comparison matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.utils.validation import check_is_fitted

from pointforms.clouds import cloud_list
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.explain.contributions import comparison_matrices
from pointforms.explain.evaluation import all_in_double_precision, cloud_points
from pointforms.explain.prediction import PoolsForms
from pointforms.support.checks import check_choice
from pointforms.support.threads import one_thread

Metric = Literal["log-euclidean", "euclidean"]
# What is added to the eigenvalues before their logarithm, in units of their mean over all clouds.
_FLOOR = 1e-3


class FormMatrices(NamedTuple):
    """Comparison matrices of the forms of one degree, learned by one network.

    Attributes
    ----------
    part : str
        The part of a portfolio; "" for a model that is not one.
    member : int
        The member of an ensemble.
    degree : int
        Degree of the forms.
    matrices : (N, l, l) array
        One matrix per cloud.
    """

    part: str
    member: int
    degree: int
    matrices: np.ndarray


@dataclass(frozen=True, eq=False)
class ComparisonFeatures:
    """The entries of comparison matrices as one row per cloud.

    Attributes
    ----------
    values : (N, f) array
        Entries on and above the diagonal.
    names : tuple of str
        A name per column, such as "forms, degree 1: 2 × 3" for the second and the third form.
    parts : tuple of str
        The part of the portfolio that each column belongs to; "" without parts.
    degrees : tuple of int
        Degree of the forms of each column.
    forms : tuple of pair of int
        The two forms of each column, counted from 1.

    Examples
    --------
    >>> row = ComparisonFeatures(np.ones((1, 1)), ("degree 1: 1 × 1",), ("",), (1,), ((1, 1),))
    >>> row.values.shape
    (1, 1)
    """

    values: np.ndarray
    names: tuple[str, ...]
    parts: tuple[str, ...]
    degrees: tuple[int, ...]
    forms: tuple[tuple[int, int], ...]


def form_matrices(model: Any, clouds: Any) -> list[FormMatrices]:
    """Return the comparison matrices of all forms of a fitted model, in double precision.

    Parameters
    ----------
    model : PointFormTransformer, PointFormClassifier, CloudClassifier or similar
        A fitted estimator with point-forms. A portfolio without them is an error.
    clouds : list of (n_i, D) arrays, or Gram fields
        The clouds. A portfolio needs arrays.
    """
    estimators: dict[str, PointFormEstimator]
    if isinstance(model, PoolsForms):
        pooled = model.pooled_forms(clouds)
        estimators = dict(zip(pooled.names, pooled.estimators, strict=True))
        clouds = pooled.fields
    elif isinstance(model, PointFormEstimator):
        check_is_fitted(model, "model_")
        estimators, clouds = {"": model}, model.prepare_for_prediction(cloud_list(clouds))
    else:
        raise TypeError(
            f"model is a {type(model).__name__}: expected a fitted model with point-forms, such as "
            "PointFormTransformer or CloudClassifier"
        )
    result = []
    for part, estimator in estimators.items():
        points = cloud_points(estimator, clouds)
        for member, network in enumerate(all_in_double_precision(estimator.model_)):
            layers = network.point_forms()
            every = comparison_matrices(network, points)
            for layer, matrices in zip(layers, every, strict=True):
                result.append(FormMatrices(part, member, layer.degree, matrices.numpy()))
    return result


def comparison_features(model: Any, clouds: Any) -> ComparisonFeatures:
    """Return the entries of the comparison matrices of each cloud, with their names.

    Members of an ensemble have learned different forms; the features are those of the first.

    Parameters
    ----------
    model : PointFormTransformer, PointFormClassifier, CloudClassifier or similar
        A fitted estimator with point-forms.
    clouds : list of (n_i, D) arrays, or Gram fields
        The clouds. A portfolio needs arrays.

    Returns
    -------
    ComparisonFeatures

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 20, 3)))
    >>> model = pf.PointFormTransformer(forms=2, hidden=(4,), epochs=0, neighbors=8).fit(clouds)
    >>> pf.explain.comparison_features(model, clouds).names
    ('degree 1: 1 × 1', 'degree 1: 1 × 2', 'degree 1: 2 × 2')
    """
    return features_of_matrices(form_matrices(model, clouds))


def features_of_matrices(blocks: Sequence[FormMatrices]) -> ComparisonFeatures:
    """Return the entries on and above the diagonal of the matrices of first members."""
    values, names, parts, degrees, forms = [], [], [], [], []
    for block in blocks:
        if block.member:
            continue
        rows, columns = np.triu_indices(block.matrices.shape[-1])
        values.append(block.matrices[:, rows, columns])
        part = f"{block.part}, " if block.part else ""
        for a, b in zip((rows + 1).tolist(), (columns + 1).tolist(), strict=True):
            names.append(f"{part}degree {block.degree}: {a} × {b}")
            parts.append(block.part)
            degrees.append(block.degree)
            forms.append((a, b))
    return ComparisonFeatures(
        np.hstack(values), tuple(names), tuple(parts), tuple(degrees), tuple(forms)
    )


@one_thread()
def comparison_distances(model: Any, clouds: Any, metric: Metric = "log-euclidean") -> np.ndarray:
    """Return the distances between clouds by the comparison matrices of a fitted model.

    With C and C' the matrices of two clouds, the distance is

    - log-Euclidean: |log C − log C'|, where eigenvalues have 1/1000 of their mean over all clouds
      added, so that directions in which forms vanish do not count without limit;
    - Euclidean: |C − C'|, in units of the mean of |C| over all clouds.

    Neither depends on the scale of the forms. Of several degrees, members of an ensemble and parts
    of a portfolio, it is the root of the mean squared distance. Both are Euclidean distances
    between vectors.

    Forms that were learned from labels show training clouds as better separated than new ones. For
    a map that does not depend on labels, use `PointFormTransformer(epochs=0)`, whose forms are
    random.

    Parameters
    ----------
    model : PointFormTransformer, PointFormClassifier, CloudClassifier or similar
        A fitted estimator with point-forms.
    clouds : list of (n_i, D) arrays, or Gram fields
        The clouds. A portfolio needs arrays.
    metric : {"log-euclidean", "euclidean"}, default "log-euclidean"
        How matrices are compared.

    Returns
    -------
    (N, N) array

    Examples
    --------
    >>> import pointforms as pf
    >>> clouds = list(np.random.default_rng(0).normal(size=(4, 20, 3)))
    >>> model = pf.PointFormTransformer(forms=2, hidden=(4,), epochs=0, neighbors=8).fit(clouds)
    >>> distances = pf.explain.comparison_distances(model, [*clouds, clouds[0]])
    >>> distances.shape, bool(distances[0, 4] < 1e-6 < distances[0, 1])
    ((5, 5), True)
    """
    check_choice("metric", metric, "log-euclidean", "euclidean")
    return distances_of_matrices([block.matrices for block in form_matrices(model, clouds)], metric)


def distances_of_matrices(
    blocks: Sequence[np.ndarray], metric: Metric = "log-euclidean"
) -> np.ndarray:
    """Return distances (N, N) by sets of symmetric PSD matrices (N, l, l)."""
    vectors = [_vectors(matrices, metric) for matrices in blocks]
    return np.asarray(squareform(pdist(np.hstack(vectors))) / np.sqrt(len(vectors)))


def _vectors(C: np.ndarray, metric: Metric) -> np.ndarray:
    """Return vectors (N, l²) whose distances are those of the matrices."""
    if metric == "euclidean":
        unit = np.linalg.norm(C, axis=(1, 2)).mean()
        scaled: np.ndarray = C / (unit if unit > 0 else 1.0)
        return scaled.reshape(len(C), -1)
    values, vectors = np.linalg.eigh(C)
    mean = np.maximum(values, 0).mean()
    logs = np.log(np.maximum(values, 0) + _FLOOR * (mean if mean > 0 else 1.0))
    whole: np.ndarray = np.einsum("nai,ni,nbi->nab", vectors, logs, vectors)
    return whole.reshape(len(C), -1)
