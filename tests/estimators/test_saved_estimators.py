"""Every estimator says the same after it was saved and loaded."""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.helpers.every_estimator import (
    CLOUDS,
    GROUPS,
    NAMED,
    all_options,
    each,
    each_kind,
    fitted,
)
from tests.helpers.tiny_estimators import (
    CLASSIFIERS,
    answers,
    make_quick,
    slow_besides,
    targets,
    tiny,
)

import pointforms as pf


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    make_quick(monkeypatch)


class TestSaving:
    @each
    def test_a_loaded_estimator_says_the_same(self, name, tmp_path):
        model = tiny(name).fit(NAMED, targets(name), GROUPS)
        model.save(tmp_path / "model")
        again = pf.load(tmp_path / "model")
        assert type(again) is type(model)
        assert again.feature_names_in_.tolist() == ["CD3", "CD4", "CD8"]
        expected = answers(model, CLOUDS)
        np.testing.assert_allclose(answers(again, CLOUDS), expected, rtol=1e-6, atol=1e-9)
        other = NAMED.in_order(["CD8", "CD3", "CD4"])
        np.testing.assert_allclose(answers(again, other), expected, rtol=1e-6, atol=1e-9)
        if name in CLASSIFIERS:
            np.testing.assert_array_equal(again.classes_, model.classes_)
        pf.save(again, tmp_path / "again")  # what was loaded can be saved
        once_more = answers(pf.load(tmp_path / "again"), CLOUDS)
        np.testing.assert_array_equal(once_more, answers(again, CLOUDS))
        assert all_options(clone(again)) == all_options(again)

    @pytest.mark.parametrize("name", slow_besides(["svm", "random-forest", "mlp"], CLASSIFIERS))
    def test_three_classes_with_text(self, name, tmp_path):
        y = np.array(["a", "b", "c"])[np.arange(16) % 3]
        model = tiny(name).fit(CLOUDS, y)
        model.save(tmp_path)
        expected = model.predict_proba(CLOUDS)
        again = pf.load(tmp_path)
        np.testing.assert_allclose(again.predict_proba(CLOUDS), expected, rtol=1e-6, atol=1e-9)
        assert again.predict(CLOUDS).tolist() == model.predict(CLOUDS).tolist()

    @each_kind
    def test_behind_preprocessing(self, name, tmp_path):
        pipe = make_pipeline(pf.preprocessing.Arcsinh(2.0), tiny(name))
        pipe.fit(NAMED, targets(name))
        pf.save(pipe, tmp_path)
        again = pf.load(tmp_path)
        np.testing.assert_allclose(
            answers(again, CLOUDS), answers(pipe, CLOUDS), rtol=1e-6, atol=1e-9
        )

    @pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
    @pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o027, 0o640)])
    def test_files_have_the_permissions_of_the_umask(self, umask, expected, tmp_path):
        before = os.umask(umask)
        try:
            fitted("PointFormTransformer").save(tmp_path / "model")
        finally:
            os.umask(before)
        modes = {file.stat().st_mode & 0o777 for file in (tmp_path / "model").iterdir()}
        assert modes == {expected}

    def test_steps_of_others_are_refused_by_name(self, tmp_path):
        pipe = make_pipeline(tiny("PointFormTransformer"), LogisticRegression())
        pipe.fit(CLOUDS, targets("PointFormClassifier"))
        with pytest.raises(ValueError, match="its step 'logisticregression' is a LogisticRegr"):
            pf.save(pipe, tmp_path)
        with pytest.raises(NotFittedError):
            pf.save(make_pipeline(pf.preprocessing.Log(), tiny("mlp")), tmp_path)
        assert list(tmp_path.iterdir()) == []
