"""Every estimator, fitted to the same few clouds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from tests.helpers.tiny_estimators import KINDS, NAMES, slow_besides, some_clouds, targets, tiny

import pointforms as pf

CLOUDS = some_clouds()
NAMED = pf.Clouds.from_list(CLOUDS, feature_names=["CD3", "CD4", "CD8"])
GROUPS = np.repeat(np.arange(8), 2)
PREDICTORS = [name for name in NAMES if name != "PointFormTransformer"]
each = pytest.mark.parametrize("name", NAMES)
# for checks that fit many times: one estimator of each kind, and all others as slow tests
each_kind = pytest.mark.parametrize("name", slow_besides(KINDS, NAMES))
each_predictor = pytest.mark.parametrize("name", slow_besides(KINDS, PREDICTORS))


@cache
def fitted(name: str) -> Any:
    """Return an estimator that all tests share and none changes."""
    return tiny(name).fit(CLOUDS, targets(name), GROUPS)


def all_options(estimator: Any) -> str:
    """Return the text of an estimator with all its options."""
    with config_context(print_changed_only=False):
        return repr(estimator)
