"""Point-forms as a sample representation of patpy, beside its pseudobulk and composition."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pointforms.estimators import PointFormTransformer
from pointforms.explain.matrix_distances import (
    Metric,
    distances_of_matrices,
    features_of_matrices,
    form_matrices,
)
from pointforms.io.anndata import check_anndata, read_anndata
from pointforms.support.checks import check_choice
from pointforms.support.extras import need

try:
    _Base: Any = import_module("patpy.tl").SampleRepresentationMethod
except ModuleNotFoundError as error:  # the class can be looked at, but not be made
    if error.name != "patpy":
        raise
    _Base = object


class PointFormRepresentation(_Base):  # type: ignore[misc]
    """Represent samples by the comparison matrices of point-forms, in the form of patpy.

    It has the methods of `patpy.tl.SampleRepresentationMethod`: `prepare_anndata`,
    `calculate_distance_matrix`, `embed`, `evaluate_representation`, `to_adata` and the figures.
    Needs the extra `patpy`.

    Parameters
    ----------
    sample_key : str
        Column of `obs` with the sample of each cell.
    cell_group_key : str or None, default None
        Column of `obs` with cell types. Other methods of patpy need it; point-forms do not use it.
    layer : str or None, default "X_pca"
        Where the coordinates are: a key of `obsm`, or else of `layers`; None or "X" for the genes.
    seed : int, default 67
        Seed of the forms and of patpy's embeddings.
    model : estimator or None, default None
        A model with point-forms. A fitted one is used as it is. A transformer that is not fitted is
        fitted to the clouds without labels. None stands for a transformer with random forms of
        degrees 0 and 1.
    metric : {"log-euclidean", "euclidean"}, default "log-euclidean"
        How comparison matrices are compared; see :func:`pointforms.explain.comparison_distances`.

    Attributes
    ----------
    samples : ndarray
        The samples, in the order of the distances.
    sample_representation : DataFrame, shape (samples, f)
        The entries of the comparison matrices of each sample.
    model_ : estimator
        The fitted model.
    """

    DISTANCES_UNS_KEY = "X_pointforms_distances"

    def __init__(
        self,
        sample_key: str,
        cell_group_key: str | None = None,
        layer: str | None = "X_pca",
        seed: int = 67,
        model: Any = None,
        metric: Metric = "log-euclidean",
    ) -> None:
        need("patpy", "patpy")
        check_choice("metric", metric, "log-euclidean", "euclidean")
        super().__init__(
            sample_key=sample_key, cell_group_key=cell_group_key, layer=layer, seed=seed
        )
        self.model, self.metric = model, metric

    def prepare_anndata(self, adata: Any) -> None:
        """Read the clouds of all samples, and compute their comparison matrices.

        Parameters
        ----------
        adata : AnnData
            The cells.
        """
        super().prepare_anndata(check_anndata(adata))
        is_component = self.layer in adata.obsm
        named = None if self.layer in (None, "X") else self.layer
        clouds = read_anndata(
            adata,
            self.sample_key,
            use_rep=named if is_component else None,
            layer=None if is_component else named,
        )
        self.model_ = self._fitted_model(clouds)
        blocks = form_matrices(self.model_, clouds)
        self._matrices = [block.matrices for block in blocks]
        own = features_of_matrices(blocks)
        pandas = need("pandas", "sc")
        self.sample_representation = pandas.DataFrame(
            own.values, index=self.samples, columns=list(own.names)
        )
        self._fitted = True

    def calculate_distance_matrix(self, force: bool = False) -> np.ndarray:
        """Return the distances between samples, and keep them in `adata.uns`.

        Parameters
        ----------
        force : bool, default False
            Compute them even if `adata.uns` has them.

        Returns
        -------
        ndarray, shape (samples, samples)
            In the order of `samples`.
        """
        stored = super().calculate_distance_matrix(force=force)
        if stored is not None:
            return np.asarray(stored)
        self._check_fitted()
        matrix = distances_of_matrices(self._matrices, self.metric)
        self.adata.uns[self.DISTANCES_UNS_KEY] = matrix
        return matrix

    def _fitted_model(self, clouds: Any) -> Any:
        model = self.model
        if model is None:
            model = PointFormTransformer(degree=(0, 1), epochs=0, members=3, random_state=self.seed)
        try:
            check_is_fitted(model)
        except NotFittedError:
            if not isinstance(model, PointFormTransformer):
                raise ValueError(
                    f"model is a {type(model).__name__} that is not fitted: expected a fitted "
                    "one, or a PointFormTransformer, which needs no labels"
                ) from None
            return clone(model).fit(clouds)
        return model
