"""Pooled summaries of clouds: statistics of the points that ignore their geometry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from pointforms.clouds import cloud_list, plain_clouds
from pointforms.support.cloud_estimator import TakesClouds
from pointforms.support.options import Bounds
from pointforms.support.weighted_statistics import weighted_quantiles
from pointforms.weights import relative_weights

_Level = Annotated[float, Bounds(at_least=0, at_most=1)]
# Larger summaries cannot be standardised: the sum of their squares overflows.
_LARGEST = 1e150


@dataclass(eq=False, repr=False)
class PooledSummaries(TakesClouds, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Mean, standard deviation, quantiles and covariances of the points of each cloud.

    The summaries of a cloud do not depend on the order of its points. A cloud of one point has
    standard deviations and covariances of 0. Where points have weights, all summaries are weighted.

    Parameters
    ----------
    quantiles : sequence of float, default (0.1, 0.25, 0.5, 0.75, 0.9)
        Levels, from 0 to 1, of the quantiles of each coordinate.
    covariance : bool, default True
        Include the upper triangle of the covariance matrix.
    frame : {"absolute", "cloud"}, default "absolute"
        Where quantiles are measured from: "cloud" subtracts the mean of each cloud and leaves it
        out, so that the summaries do not depend on where a cloud lies.

    Attributes
    ----------
    n_features_in_ : int
        D, the number of features of the clouds.

    Examples
    --------
    >>> clouds = [[[0.0, 1.0], [2.0, 3.0]], [[1.0, 1.0]]]
    >>> PooledSummaries(quantiles=[0.5], covariance=False).fit_transform(clouds)
    array([[1., 2., 1., 1., 1., 2.],
           [1., 1., 0., 0., 1., 1.]])
    """

    quantiles: Sequence[_Level] = (0.1, 0.25, 0.5, 0.75, 0.9)
    covariance: bool = True
    frame: Literal["absolute", "cloud"] = "absolute"

    def fit(self, clouds: Any, y: Any = None) -> Self:
        """Check the options and store the number of features; nothing is learned."""
        self.check_options()
        clouds = cloud_list(clouds)
        self._keep_names(clouds)
        self.n_features_in_ = plain_clouds(clouds)[0].shape[1]
        return self

    def transform(self, clouds: Any) -> np.ndarray:
        """Return the summaries (N, f) of N clouds or of their Gram fields."""
        check_is_fitted(self, "n_features_in_")
        clouds = plain_clouds(self._by_name(cloud_list(clouds)))
        self._check_width(clouds[0].shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # an error below says more
            summaries = np.stack([self._summary(points) for points in clouds])
        for i, points in enumerate(clouds):
            if not np.abs(summaries[i]).max() < _LARGEST:  # written so that NaN is an error too
                raise ValueError(
                    f"cloud {i} has coordinates up to {float(points.abs().max()):.3g}: "
                    "squares of its summaries overflow"
                )
        return summaries

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the summaries, such as "mean CD3" or "covariance CD3 CD4".

        Parameters
        ----------
        input_features : sequence of str or None, default None
            Names of the features of the clouds; by default those of `fit`, or x0, x1, ….

        Returns
        -------
        ndarray of str, shape (f,)
        """
        check_is_fitted(self, "n_features_in_")
        D = self.n_features_in_
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(D)])
        names = [str(name) for name in (names if input_features is None else input_features)]
        if len(names) != D:
            raise ValueError(f"input_features has {len(names)} names: expected {D}")
        kinds = ["mean"] if self.frame == "absolute" else []
        kinds += ["deviation", *(f"quantile {level:g}" for level in self.quantiles)]
        found = [f"{kind} {name}" for kind in kinds for name in names]
        if self.covariance:
            rows, columns = np.triu_indices(D)
            pairs = zip(rows.tolist(), columns.tolist(), strict=True)
            found += [f"covariance {names[i]} {names[j]}" for i, j in pairs]
        return np.array(found, dtype=object)

    def width(self, features: int) -> int:
        """Return the number of summaries of a cloud with D features."""
        covariances = features * (features + 1) // 2 if self.covariance else 0
        moments = 2 if self.frame == "absolute" else 1
        return features * (moments + len(self.quantiles)) + covariances

    def _summary(self, cloud: Tensor) -> np.ndarray:
        points: np.ndarray = cloud.double().cpu().numpy()
        mass = relative_weights(cloud)
        weights = None if mass is None else mass.cpu().numpy()
        mean = points.mean(0) if weights is None else weights @ points / len(points)
        centred = points - mean
        read = points if self.frame == "absolute" else centred
        scaled = centred if weights is None else centred * weights[:, None]
        deviation = (
            points.std(0) if weights is None else np.sqrt((scaled * centred).sum(0) / len(points))
        )
        parts = [deviation, weighted_quantiles(read, self.quantiles, weights).ravel()]
        if self.frame == "absolute":
            parts.insert(0, mean)
        if self.covariance:
            rows, columns = np.triu_indices(points.shape[1])
            parts.append((centred.T @ scaled / len(points))[rows, columns])
        return np.concatenate(parts)
