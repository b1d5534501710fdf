from __future__ import annotations

import numpy as np
from tests.helpers.small_fits import SMALL

import pointforms as pf


def test_regressor(data):
    clouds, _, _, test, _ = data
    radius = lambda group: np.array([np.linalg.norm(c, axis=1).mean() for c in group])  # noqa: E731
    reg = pf.PointFormRegressor(**(SMALL | {"degree": (0, 1), "epochs": 40}))
    reg.fit(clouds, 100 + 10 * radius(clouds))
    assert reg.score(test, 100 + 10 * radius(test)) > 0.8
    two = np.stack([radius(clouds), -radius(clouds)], 1)
    assert reg.fit(clouds, two).predict(test).shape == (40, 2)
