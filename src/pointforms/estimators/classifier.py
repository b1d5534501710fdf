"""PointFormClassifier: classify clouds by the comparison matrices of learned forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pointforms.estimators.network_classifier import NetworkClassifier
from pointforms.estimators.point_form_estimator import PointFormEstimator
from pointforms.estimators.saved_values import Attribute, Labels

if TYPE_CHECKING:
    from pointforms.explain.salience import Salience


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
    n_features_in_ : int
        Number of features of the clouds, D.
    feature_names_in_ : ndarray of str, shape (D,)
        Their names, if the clouds of `fit` were data frames, or :class:`pointforms.Clouds` with
        names other than x0, x1, … Later clouds with the same names in another order are put in this
        order.
    center_ : ndarray, shape (D,)
        The centre of each feature over the training points, where clouds are scaled or framed.
    unit_ : ndarray, shape (D,)
        What each feature is divided by, where clouds are scaled or framed.
    axes_ : list of list of float, shape (components, D)
        The principal axes, where there are `components`.
    oof_predictions_ : ndarray, shape (N, C)
        Where several networks hold out parts of the training clouds: the prediction for each cloud
        by those that used it neither for training nor for choosing their epoch; NaN for a cloud of
        weight 0. It is not saved.
    training_clouds_ : list of str
        Fingerprints of the clouds of `fit`, by which `training_positions` finds them again.
    held_out_ : list of list of int
        Where several members hold out parts of the training clouds: the positions of the clouds
        that each of them was not trained on.
    neighbors_ : int
        The number of points in a neighbourhood that all Gram fields share.
    dimension_ : int
        The intrinsic dimension that all Gram fields share.
    history_ : list of dict
        Losses of each epoch: "train", the weighted loss that its steps minimised, and
        "validation", the mean loss of the validation clouds after it, without weights.
    best_epoch_ : int
        The epoch whose parameters were kept.

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

    def explain(
        self,
        clouds: Any,
        y: Any,
        groups: Any = None,
        feature_names: Sequence[str] | None = None,
        refits: int = 4,
        permutations: int = 500,
        random_state: int | None = 0,
    ) -> Salience:
        """Test which features, or pairs of features, the classes differ by.

        Calls :func:`pointforms.explain.salience` with this classifier.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            Labelled clouds, or their Gram fields.
        y : array-like, shape (N,)
            Their labels.
        groups : array-like, shape (N,), or None, default None
            Clouds of one group are permuted together, and stay in one half of the refits.
        feature_names : sequence of str or None, default None
            Names of the features; None numbers them.
        refits : int, default 4
            Number of refits on halves of the clouds; 0 skips refitting and p-values.
        permutations : int, default 500
            Number of permutations of the labels.
        random_state : int or None, default 0
            Seed of the halves, the refits and the permutations.

        Returns
        -------
        Salience
            A table with one row per feature or pair of features.
        """
        from pointforms.explain.salience import salience

        return salience(self, clouds, y, groups, feature_names, refits, permutations, random_state)
