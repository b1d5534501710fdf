"""Any options, labels and groups: an estimator predicts finite numbers, or refuses them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.judge import judge, must
from tests.fuzz.profiles import share
from tests.fuzz.strategies import awkward, changes, clouds
from tests.fuzz.test_options import OPTIONS

import pointforms as pf
from pointforms.models.classical import FeatureClassifier
from pointforms.summaries import PooledSummaries

N = 12
_rng = np.random.default_rng(0)
CLOUDS = [_rng.normal(size=(4 + i % 5, 2)) * (1 + i % 2) for i in range(N)]
HALVES = np.arange(N) % 2
MEANS = np.array([cloud.mean() for cloud in CLOUDS])

# Sizes stay small: a wide network may need much memory, and that is no defect.
TRAINING: dict[str, tuple[Any, ...]] = {
    "epochs": (0, 1, 2, -1),
    "batch_size": (0, 1, 5, 12, 10**6),
    "learning_rate": (0, 1e-3, 10, -1, 1e300, "0.1"),
    "weight_decay": (0, 1, -1, 1e300, "auto", "much"),
    "scale": ("standard", "isotropic", "robust", None, "log", 1),
    "components": (None, 1, 2, 3, 0, -1, "2"),
    "frame": ("absolute", "cloud", "shape", "both", "batch", "centre", None),
    "members": (1, 2, 3, 0, -1, 2.5),
    "validation_fraction": (0, 0.01, 0.5, 0.99, 1, -0.1),
    "patience": (0, 1, 5),
    "points_per_epoch": (0, 1, 3, 1000, -1, None),
    "random_state": (0, 1, 2**32 - 1, 2**32, -1, None),
    "device": ("cpu", "cuda", "cuda:7", "mps", "meta", "nowhere"),
    "dtype": ("float32", "float64", "float16", "int64"),
    "progress": (True, False),
    "class_weight": (None, "balanced", {0: 1, 1: 2}, {2: 1}, {0: -1}, {0: 0, 1: 0}, {0: "a"}),
}
POINT_FORMS: dict[str, tuple[Any, ...]] = {
    **TRAINING,
    **OPTIONS,
    "degree": (0, 1, 2, 3, 60, -1, (), (0, 1, 2), [1, 1], (1, 3), "1", 1.0),
    "forms": (0, 1, 3, -1),
    "readout": ("tri", "flat", "diag", "pool", "gram", "mean"),
    "coefficients": ("dense", "wedge", "sparse"),
    "terms": (0, 1, 3),
    "sees": ("all", "own", [0], ["CD4"], [60], [0, 0], (), "some", 1, np.array([0])),
    "hidden": (16, (), (3,), [3, 4], (0,), (-1,), (2.5,), "8", np.array([3])),
    "head": (0, 1, 5, -1, 2.5),
    "measure": ("uniform", "volume", "volume-normalized", "counts"),
    "cache": (None, 3, ""),
    "n_jobs": (None, 1, 2, -1, 0),
}
HODGE: dict[str, tuple[Any, ...]] = {
    "degrees": ((0, 1), (), (2,), (3,), (60,), 1, "01", (0, -1), (1.0,)),
    "directions": (1, 2, 5, 0),
    "max_features": (1, 50, 0),
    "spectra": (True, False),
    "landmarks": (2, 8, 1),
    "complex_neighbors": (1, 3, 50, 0),
    "measure": ("uniform", "volume", "counts"),
    "neighbors": OPTIONS["neighbors"],
    "dimension": OPTIONS["dimension"],
    "random_state": TRAINING["random_state"],
}
NETWORK = {**TRAINING, "neighbors": (0, 1, 3, 50), "network": ("mlp", "gcn", "tdl", "nothing", 3)}
SUMMARIES: dict[str, tuple[Any, ...]] = {
    "quantiles": ((), (0.5,), [0, 1], (0.5, 2), (np.nan,), 0.5, ("a",), ((0.5,),)),
    "covariance": (True, False),
}


def _feature_classifier(quantiles: Any = (0.5,), covariance: Any = True, **options: Any) -> Any:
    return FeatureClassifier(features=PooledSummaries(quantiles, covariance), **options)


_SMALL = {"epochs": 1, "random_state": 0}
_FORMS = {**_SMALL, "forms": 2, "hidden": (4,), "head": 4}
#: By name: the estimator with cheap options, and the options to change.
ESTIMATORS: dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]] = {
    "classifier": (lambda **o: pf.PointFormClassifier(**_FORMS | o), POINT_FORMS),
    "regressor": (lambda **o: pf.PointFormRegressor(**_FORMS | o), POINT_FORMS),
    "transformer": (lambda **o: pf.PointFormTransformer(**_FORMS | o), POINT_FORMS),
    "network": (lambda **o: pf.models.NeuralClassifier(**_SMALL | o), NETWORK),
    "hodge": (
        lambda **o: pf.models.make("hodge", **{"max_features": 20, "landmarks": 8} | o),
        HODGE,
    ),
    "random forms": (
        lambda **o: pf.models.make("random-forms", **o),
        {"random_state": TRAINING["random_state"]},
    ),
    "summaries": (
        _feature_classifier,
        {**SUMMARIES, "head": ("logistic", "boost"), "random_state": TRAINING["random_state"]},
    ),
}
#: Estimators, cheap ones more often.
names_of_estimators = st.sampled_from(
    ("classifier",) * 4 + ("regressor", "transformer") * 3 + ("network",) * 3
    + ("hodge", "random forms", "summaries")
)  # fmt: skip

#: Labels by kind, and whether they can be learned.
LABELS: dict[str, Any] = {
    "numbers": HALVES,
    "text": np.where(HALVES, "yes", "no"),
    "list": HALVES.tolist(),
    "booleans": HALVES.astype(bool),
    "floats": HALVES.astype(float),
    "series": pd.Series(np.where(HALVES, "yes", "no"), index=range(5, 5 + N)),
    "categories": pd.Categorical(np.where(HALVES, "yes", "no")),
    "objects": np.array(["a", "b"] * (N // 2), dtype=object),
    "three": np.arange(N) % 3,
    "large": HALVES * 2**62,
    "rare": np.array([1] + [0] * (N - 1)),
    "all different": np.arange(N),
    "fractions": np.linspace(0, 1, N),
    "columns": _rng.normal(size=(N, 2)),
    "huge": np.linspace(-1e300, 1e300, N),
    "constant": np.zeros(N),
    "mixed": [0, "a"] * (N // 2),
    "mixed objects": np.array([0, "a", None] * (N // 3), dtype=object),
    "one missing": [None, *HALVES[1:].tolist()],
    "one NaN": np.array([np.nan, *HALVES[1:]]),
    "one infinite": np.array([np.inf, *HALVES[1:]]),
    "one NA": pd.array([pd.NA, *HALVES[1:]], dtype="Int64"),
    "tuples": [(0, 1)] * N,
    "ragged": [[0], [0, 1]] * (N // 2),
    "complex": HALVES * 1j,
    "dates": pd.date_range("2020", periods=N),
    "too few": HALVES[1:],
    "too many": np.arange(N + 1) % 2,
    "matrix": np.zeros((N, 2), dtype=int),
    "none": [],
    "absent": None,
    "scalar": 1,
    "word": "yes",
}
GROUPS: dict[str, Any] = {
    "none": None,
    "pairs": np.arange(N) // 2,
    "text": [f"p{i // 3}" for i in range(N)],
    "one": np.zeros(N),
    "labels": HALVES,
    "mixed": [0, "a"] * (N // 2),
    "missing": [None, 1] * (N // 2),
    "NaN": np.where(HALVES, np.nan, 1.0),
    "too few": np.arange(N - 1),
    "matrix": np.zeros((N, 2)),
    "scalar": 3,
    "word": "a" * N,
}
#: Labels and groups that are nothing special.
PLAIN = (
    "numbers",
    "text",
    "list",
    "booleans",
    "floats",
    "series",
    "categories",
    "objects",
    "three",
)
PLAIN_GROUPS = ("none", "pairs", "text")


def predictions(estimator: Any, some: Any) -> Any:
    """Return what an estimator predicts, after a look at its laws."""
    if hasattr(estimator, "predict_proba"):
        probabilities = estimator.predict_proba(some)
        must(np.allclose(probabilities.sum(1), 1, atol=1e-5), "probabilities do not sum to 1")
        must((probabilities >= 0).all(), "a probability is negative")
        labels = estimator.predict(some)
        must(np.isin(labels, estimator.classes_).all(), "a prediction is not a class")
        return probabilities
    return estimator.transform(some) if hasattr(estimator, "transform") else estimator.predict(some)


@share(0.09)
@given(
    name_and_options=names_of_estimators.flatmap(
        lambda name: st.tuples(st.just(name), changes(ESTIMATORS[name][1]))
    )
)
def test_options(name_and_options: tuple[str, dict[str, Any]]) -> None:
    name, options = name_and_options

    def call() -> Any:
        make, _ = ESTIMATORS[name]
        y = MEANS if name == "regressor" else HALVES
        return predictions(make(**options).fit(CLOUDS, y), CLOUDS)

    judge("estimators", call, options)


@share(0.05)
@given(
    name=names_of_estimators,
    labels=st.sampled_from(sorted(LABELS)),
    groups=st.sampled_from(PLAIN_GROUPS * 4 + tuple(sorted(GROUPS))),
    fraction=st.sampled_from((0.15, 0, 0.5)),
)
def test_labels_and_groups(name: str, labels: str, groups: str, fraction: float) -> None:
    make, options = ESTIMATORS[name]
    chosen = {"validation_fraction": fraction} if "validation_fraction" in options else {}

    def call() -> Any:
        estimator = make(**chosen).fit(CLOUDS, LABELS[labels], groups=GROUPS[groups])
        return predictions(estimator, CLOUDS)

    usual = labels in PLAIN and groups in PLAIN_GROUPS and name != "regressor"
    judge("estimators", call, [] if usual else ["y ", "y=", "groups", "class", "label"])


#: Covariates by kind, of the clouds to learn from and of those to predict.
COVARIATES: dict[str, Any] = {
    "numbers": np.arange(N),
    "rows": _rng.normal(size=(N, 2)),
    "table": pd.DataFrame({"age": np.arange(N), "sex": np.where(HALVES, "f", "m")}),
    "mapping": {"age": list(range(N)), "sex": ["f", "m"] * (N // 2)},
    "mixed rows": [[i, "ab"[i % 2]] for i in range(N)],
    "constant": {"age": [0.1] * N, "site": ["x"] * N},
    "all different": [f"p{i}" for i in range(N)],
    "categories": pd.DataFrame({"plate": pd.Categorical(np.arange(N) % 3)}),
    "dates": {"day": pd.date_range("2020", periods=N)},
    "huge": np.linspace(-1e300, 1e300, N),
    "tiny": np.linspace(-1e-300, 1e-300, N),
    "overflowing": 1e308 * np.linspace(-1, 1, N),
    "one NaN": [np.nan, *range(N - 1)],
    "one missing": {"sex": [None] + ["f"] * (N - 1)},
    "mixed": [0, "a"] * (N // 2),
    "complex": np.arange(N) * 1j,
    "too few": np.arange(N - 1),
    "cube": np.zeros((N, 2, 2)),
    "empty": {},
    "no columns": np.zeros((N, 0)),
    "scalar": 3,
    "word": "covariates",
    "absent": None,
}
#: Batches by kind.
BATCHES: dict[str, Any] = {
    "pairs": np.arange(N) // 2,
    "text": np.where(np.arange(N) < 5, "a", "b"),
    "one": ["x"] * N,
    "all different": np.arange(N),
    "too few": np.arange(3),
    "missing": [None, 1] * (N // 2),
    "scalar": 3,
    "absent": None,
}


@share(0.03)
@given(
    name=st.sampled_from(("classifier", "regressor")),
    learned=st.sampled_from(sorted(COVARIATES)),
    later=st.none() | st.sampled_from(sorted(COVARIATES)),
    batch=st.sampled_from((None,) * 4 + tuple(sorted(BATCHES))),
    later_batch=st.sampled_from(sorted(BATCHES)),
)
def test_covariates_and_batches(
    name: str, learned: str, later: str | None, batch: str | None, later_batch: str
) -> None:
    make, _ = ESTIMATORS[name]
    y = MEANS if name == "regressor" else HALVES
    own = COVARIATES[learned]
    other = own if later is None else COVARIATES[later]

    def call() -> Any:
        if batch is None:
            estimator = make().fit(CLOUDS, y, covariates=own)
            return estimator.predict(CLOUDS, covariates=other)
        estimator = make(frame="batch").fit(CLOUDS, y, covariates=own, batch=BATCHES[batch])
        return estimator.predict(CLOUDS, covariates=other, batch=BATCHES[later_batch])

    judge("estimators", call, ["covariate", "batch"])


@share(0.02)
@given(
    name=names_of_estimators,
    bad=clouds(widths=(2, 2, 2, 3)),
    place=st.integers(0, N),
    whole=st.none() | awkward,
)
def test_training_clouds(name: str, bad: Any, place: int, whole: Any) -> None:
    some: Any = [*CLOUDS[:place], bad, *CLOUDS[place + 1 :]] if whole is None else whole

    def call() -> Any:
        make, _ = ESTIMATORS[name]
        return predictions(make().fit(some, (np.arange(max(N, place + 1)) % 2)), CLOUDS)

    extreme = ("features with deviations", "features with extreme values")
    named = [f"cloud {place}", *extreme] if whole is None else ["cloud", "y "]
    judge("estimators", call, named)


@cache
def fitted(name: str) -> Any:
    y = MEANS if name == "regressor" else HALVES
    return ESTIMATORS[name][0]().fit(CLOUDS, y)


@share(0.03)
@given(
    name=names_of_estimators,
    bad=clouds(widths=(2, 2, 2, 3)),
    method=st.sampled_from(("predict", "comparison_matrices")),
)
def test_clouds_to_predict(name: str, bad: Any, method: str) -> None:
    estimator = fitted(name)

    def call() -> Any:
        if method == "comparison_matrices" and hasattr(estimator, method):
            return estimator.comparison_matrices([CLOUDS[0], bad])
        return predictions(estimator, [CLOUDS[0], bad])

    judge("estimators", call, ["cloud 1", "features"])


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_unfitted_estimators_say_so(name: str) -> None:
    make, _ = ESTIMATORS[name]
    judge("estimators", lambda: predictions(make(), CLOUDS), ["fitted"])
