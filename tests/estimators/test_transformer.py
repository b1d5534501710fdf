from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.helpers.small_fits import SMALL

import pointforms as pf


def test_pipeline_of_random_and_of_learned_forms(data):
    clouds, y, _, test, labels = data
    for epochs in (0, 30):
        transformer = pf.PointFormTransformer(**(SMALL | {"epochs": epochs, "forms": 8}))
        pipe = make_pipeline(transformer, StandardScaler(), LogisticRegression(max_iter=2000))
        pipe.fit(clouds, y)
        assert pipe.score(test, labels) > 0.8
        assert pipe[0].transform(test).shape == (40, 36)


def test_transformer_without_labels(data):
    clouds, *_ = data
    transformer = pf.PointFormTransformer(**SMALL)
    features = transformer.fit_transform(clouds)
    np.testing.assert_array_equal(features, clone(transformer).fit(clouds).transform(clouds))
