"""Portfolios that are fitted within a second, and clouds for them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.tiny_estimators import SmallForest

import pointforms as pf
from pointforms.models.portfolio import portfolio
from pointforms.models.portfolio.heads import HEADS


@pytest.fixture
def quick(monkeypatch):
    """Let forests have few trees, and networks few forms."""
    monkeypatch.setitem(HEADS, "forest", SmallForest)
    monkeypatch.setattr(portfolio, "_HIDDEN", (4,))


@pytest.fixture(scope="session")
def two_classes():
    """24 clouds of 12 to 15 points in R³, half of them shifted along one axis."""
    return shifted(24)


def shifted(count: int, shift: float = 1.0, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    axis = np.array([shift, 0, 0])
    return [rng.normal(size=(12 + i % 4, 3)) + y[i] * axis for i in range(count)], y


@pytest.fixture(scope="session")
def numbers(two_classes):
    """A number for each of the clouds, which depends on the mean of their first coordinate."""
    return np.array([10 + 5 * cloud[:, 0].mean() for cloud in two_classes[0]])


@pytest.fixture(scope="session")
def whole(two_classes):
    """A classifier with all parts, as its defaults are."""
    return pf.CloudClassifier(random_state=0).fit(*two_classes)


@pytest.fixture(scope="session")
def whole_regressor(two_classes, numbers):
    """A regressor with all parts, as its defaults are."""
    return pf.CloudRegressor(random_state=0).fit(two_classes[0], numbers)
