"""Clouds and a fitted classifier that the tests of estimators share."""

from __future__ import annotations

import pytest
from tests.helpers.small_fits import SMALL

import pointforms as pf


@pytest.fixture(scope="session")
def data():
    """60 training and 40 test clouds of 48 points."""
    task = pf.tasks.load("circles-vs-lines")
    clouds = [cloud[:48] for cloud in task.clouds[:100]]
    return clouds[:60], task.labels[:60], task.groups[:60], clouds[60:], task.labels[60:100]


@pytest.fixture(scope="session")
def fitted(data):
    clouds, y, groups, _, _ = data
    return pf.PointFormClassifier(**SMALL).fit(clouds, y, groups)
