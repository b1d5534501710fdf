"""Classical classifiers behind fixed features, their options chosen by cross-validation.

A head fits features X (N, f) and codes of classes y (N,). It treats whole weights as so many copies
of a cloud.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pointforms.models.heads.fitted_head import FittedHead
from pointforms.models.heads.forest import fit_forest
from pointforms.models.heads.logistic import fit_logistic
from pointforms.models.heads.svm import fit_kernel, fit_svm

Head = Literal["logistic", "forest", "svm", "kernel"]

FIT_HEAD: dict[str, Callable[..., FittedHead]] = {
    "logistic": fit_logistic,
    "forest": fit_forest,
    "svm": fit_svm,
    "kernel": fit_kernel,
}
