"""Out-of-fold scores say how new clouds will be predicted: neither too much, nor too little."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import pointforms as pf
from pointforms.summaries import PooledSummaries


def unrelated(seed: int, count: int = 40, points: int = 12, features: int = 3):
    """Clouds of one distribution, whatever their label."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(points, features)) for _ in range(count)], np.arange(count) % 2


def cohort(seed: int):
    """Six clouds per class of 100 points in R¹⁰, one feature shifted by its deviation."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 6)
    clouds = [rng.normal(size=(100, 10)) for _ in y]
    for cloud, label in zip(clouds, y, strict=True):
        cloud[:, 3] += label
    return clouds, y


class TestNoise:
    """Labels that nothing explains have an AUROC of 0.5 on average."""

    def mean_score(self, parts, seeds, every=2, **options) -> float:
        """The mean score where one of `every` clouds has the second label."""
        scores = []
        for seed in range(seeds):
            clouds, _ = unrelated(seed)
            y = np.arange(len(clouds)) % every == 0
            model = pf.CloudClassifier(parts=parts, random_state=seed, **options)
            scores.append(model.fit(clouds, y).oof_score_)
        return float(np.mean(scores))

    # The standard deviation of one AUROC is 0.09 for 20 against 20 clouds, 0.11 for 10 against 30.
    def test_heads(self):
        assert self.mean_score(("linear",), 12) == pytest.approx(0.5, abs=0.08)

    @pytest.mark.slow
    @pytest.mark.parametrize("options", [{}, {"every": 4, "class_weight": "balanced"}])
    def test_all_parts(self, options):
        parts = ("linear", "forest", "forms", "centred forms")
        assert self.mean_score(parts, 24, **options) == pytest.approx(0.5, abs=0.07)

    def test_a_part_that_remembers_its_training_clouds_gets_no_weight(self):
        clouds, y = unrelated(0)
        model = pf.CloudClassifier(parts=("forest",), random_state=0).fit(clouds, y)
        remembered = model.parts_["forest"].predict(PooledSummaries().fit_transform(clouds))
        assert roc_auc_score(y, remembered[:, 1]) > 0.95
        assert model.part_scores_["forest"]["auroc"] < 0.7
        assert model.weights_["forest"] < 0.1
        np.testing.assert_allclose(model.predict_proba(clouds), 0.5, atol=0.05)


class TestSmallCohort:
    def test_one_shifted_feature_of_ten_is_found(self):
        clouds, y = cohort(0)
        model = pf.CloudClassifier(parts=("linear", "forest"), random_state=0).fit(clouds, y)
        assert model.oof_score_ >= 0.9

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(8))
    def test_by_the_whole_portfolio(self, seed):
        clouds, y = cohort(seed)
        model = pf.CloudClassifier(random_state=seed).fit(clouds, y)
        assert model.oof_score_ >= 0.9
        new, labels = cohort(seed + 1000)
        assert model.score(new, labels) >= 0.9


@pytest.mark.slow
def test_the_score_is_that_of_new_clouds():
    """Where classes overlap, on average over training sets."""
    expected, found = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.arange(400) % 2
        clouds = [rng.normal(size=(8, 2)) + 0.3 * label for label in y]
        model = pf.CloudClassifier(random_state=seed).fit(clouds[:60], y[:60])
        found.append(model.oof_score_)
        expected.append(roc_auc_score(y[60:], model.predict_proba(clouds[60:])[:, 1]))
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=0.05)
