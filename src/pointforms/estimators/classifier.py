"""PointFormClassifier: classify clouds by the comparison matrices of learned forms."""

from __future__ import annotations

from pointforms.estimators.network_classifier import NetworkClassifier
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.estimators.saved_values import Attribute, Labels


class PointFormClassifier(NetworkClassifier, PointFormEstimator):  # type: ignore[misc]
    """Classify clouds by the comparison matrices of learned forms.

    Each form ω is given by a small network that returns its coefficients at a point. Two forms are
    compared on a cloud P by ⟨⟨ω_a, ω_b⟩⟩ = Σ_p μ(p) ⟨ω_a, ω_b⟩_G(p), with G the Gram field of the
    cloud, and the l × l matrix of these numbers is what a head classifies.

    Parameters
    ----------
    [options of PointFormEstimator]

    Attributes
    ----------
    classes_ : ndarray, shape (C,)
        The labels, sorted.
    model_ : PointFormNetwork or AverageNetwork
        The trained network, or the average of several members.
    oof_predictions_ : ndarray, shape (N, C)
        Where several networks hold out parts of the training clouds: the prediction for each cloud
        by those that used it neither for training nor for choosing their epoch; NaN for a cloud of
        weight 0. It is not saved.
    [attributes of PointFormEstimator]

    See Also
    --------
    pointforms.PointFormRegressor : Predict numbers instead of classes.
    pointforms.load : Read a saved estimator.

    Examples
    --------
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=40, points=32)
    >>> clf = pf.PointFormClassifier(forms=4, hidden=(16,), epochs=5, random_state=0)
    >>> clf = clf.fit(task.clouds, task.labels, groups=task.groups)
    >>> clf.predict_proba(task.clouds).shape
    (40, 2)
    >>> clf.comparison_matrices(task.clouds).shape
    (40, 4, 4)
    """

    _learned = PointFormEstimator._learned | {"classes_": Attribute(Labels, "outputs")}
