"""From components back to the features, such as genes, that they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from pointforms.clouds import Clouds
from pointforms.loadings import Loadings


def component_loadings(model: Any = None, clouds: Any = None) -> Loadings:
    """Return how much of each feature is in each component.

    Components are those of a model with the option `components`, principal components of the
    training points; or the columns of clouds that were read from `obsm["X_pca"]` of AnnData, whose
    genes have their weights in `varm["PCs"]`; or both, one after the other.

    Of a model, features are measured in the units of `fit`, so that a feature that varies little in
    its own unit can have a large loading. Of AnnData, genes are measured as they were when the
    components were computed.

    Parameters
    ----------
    model : estimator, optional
        A fitted estimator of networks, such as `PointFormClassifier(components=5)`.
    clouds : Clouds, optional
        Clouds with `loadings`.

    Returns
    -------
    Loadings
        Its method `top` names the features of the largest loadings of each component; `scores` and
        `table` share out importances of components among features.

    Examples
    --------
    >>> import pointforms as pf
    >>> rng = np.random.default_rng(0)
    >>> t = rng.normal(size=(8, 20, 1))
    >>> points = t * [1.0, 1.0, 0.0] + 0.1 * rng.normal(size=(8, 20, 3))
    >>> clouds = pf.Clouds.from_list(points, feature_names=["CD3", "CD4", "CD8"])
    >>> model = pf.PointFormTransformer(components=2, epochs=0, forms=2, neighbors=8, dimension=1)
    >>> loadings = pf.explain.component_loadings(model.fit(clouds))
    >>> sorted(name for name, _ in loadings.top(2)["component 0"])
    ['CD3', 'CD4']
    """
    of_clouds = clouds.loadings if isinstance(clouds, Clouds) else None
    axes = getattr(model, "axes_", None)
    if model is not None and axes is None and of_clouds is None:
        raise ValueError(
            f"the {type(model).__name__} is not fitted with components: expected components=…, or "
            "clouds with loadings"
        )
    if axes is None:
        if of_clouds is None:
            raise ValueError(
                "the clouds have no loadings: expected those that read_anndata returns with "
                'use_rep="X_pca" where varm has "PCs", or with loadings=…'
            )
        return of_clouds
    names = tuple(f"component {c}" for c in range(len(axes)))
    own = np.asarray(axes)
    if of_clouds is None:
        features = getattr(model, "feature_names_in_", None)
        if features is None:
            features = [f"x{j}" for j in range(own.shape[1])]
        return Loadings(own, names, tuple(map(str, features)))
    if len(of_clouds.component_names) != own.shape[1]:
        raise ValueError(
            f"the clouds have {len(of_clouds.component_names)} features, but "
            f"{type(model).__name__} was fitted with {own.shape[1]}"
        )
    order = getattr(model, "feature_names_in_", None)
    if order is not None and isinstance(clouds, Clouds):
        of_clouds = clouds.in_order(list(order)).loadings or of_clouds
    # c = axes (x - center) / unit, and x itself is a sum over genes
    combined = (own / np.asarray(model.unit_)) @ of_clouds.values
    return Loadings(combined, names, of_clouds.feature_names)
