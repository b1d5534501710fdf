"""The method `explain` of every estimator that predicts something for clouds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from pointforms.explain.importance_table import Importance


class ExplainsItself:
    """A mixin for estimators that can say which features they rely on."""

    def explain(
        self,
        clouds: Any,
        y: Any,
        groups: Any = None,
        random_state: int = 0,
        *,
        feature_names: Sequence[str] | None = None,
        pairs: Literal["top", "all"] | Sequence[tuple[Any, Any]] | bool | None = "top",
        new: bool = False,
        repeats: int | None = None,
        sample_weight: Any = None,
        covariates: Any = None,
        batch: Any = None,
        progress: bool = False,
    ) -> Importance:
        """Measure which features this model relies on, on clouds that it has not seen.

        Calls :func:`pointforms.explain.importance` with this estimator.

        Parameters
        ----------
        clouds : Clouds, or list of array-like or tensor, each of shape (n_i, D)
            The clouds of `fit`, in any order, or some of them; or others with new=True.
        y : array-like, shape (N,) or (N, targets)
            Labels or numbers, as in `fit`.
        groups : array-like, shape (N,), or None, default None
            Clouds that belong together, such as those of one patient: the units of the tests. None
            stands for the groups of `fit`.
        random_state : int, default 0
            Seed of folds, perturbations and tests.
        feature_names : sequence of str or None, default None
            Names of the features, in the order of the clouds; by default those of the clouds, or
            x0, x1, ….
        pairs : "top", "all", sequence of pairs, None or False, default "top"
            Pairs of features to measure: all among the ten most important features, all, or some.
        new : bool, default False
            Declare that the estimator was trained on none of the clouds, and use it as it is.
        repeats : int or None, default None
            Number of perturbed versions of each cloud; None chooses by the number of clouds.
        sample_weight : array-like, shape (N,), or None, default None
            Weights of the clouds, as in `fit`, for clones where clones are needed.
        covariates : data frame, mapping or array-like, or None, default None
            What is known about whole clouds, as in `fit`.
        batch : array-like, shape (N,), or None, default None
            Batches, as in `fit`.
        progress : bool, default False
            Show a progress bar.

        Returns
        -------
        Importance
            A table with one row per feature and kind, and per pair, the most important first.
        """
        from pointforms.explain.importance import importance

        check_is_fitted(self)
        return importance(
            self,
            clouds,
            y,
            groups,
            random_state,
            feature_names=feature_names,
            pairs=pairs,
            new=new,
            repeats=repeats,
            sample_weight=sample_weight,
            covariates=covariates,
            batch=batch,
            progress=progress,
        )
