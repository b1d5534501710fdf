"""What the linear head and the forest have in common."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from pointforms.models.portfolio import linear
from pointforms.models.portfolio.forest import ForestHead
from pointforms.models.portfolio.linear import LinearHead


class SmallForest(ForestHead):
    """A forest of 20 trees, unless a file has another number."""

    def __init__(self, classes, trees=20):
        super().__init__(classes, trees)


HEADS = {"linear": LinearHead, "forest": SmallForest}
each_head = pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # overflows, deprecations, failures to converge
        yield


def problem(classes: int | None, count: int = 60, features: int = 6, seed: int = 0):
    """Features, targets that depend on the first two, and five folds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, features))
    signal = X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=count)
    folds = rng.permutation(np.arange(count) % 5)
    if classes is None:
        return X, np.stack([signal, -2 * X[:, 1]], axis=1), folds
    return X, (np.argsort(np.argsort(signal)) * classes) // count, folds


def error(predicted, y):
    """Return 1 - AUROC of classes, or the share of unexplained variance of numbers."""
    if y.ndim == 2:
        return ((predicted - y) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()
    if predicted.shape[1] == 2:
        return 1 - roc_auc_score(y, predicted[:, 1])
    return 1 - roc_auc_score(y, predicted, multi_class="ovr")


@each_head
@pytest.mark.parametrize("classes", [2, 3, None])
def test_targets_are_learned(head, classes):
    X, y, folds = problem(classes, count=150)
    fitted = head(classes)
    out_of_fold = fitted.fit(X, y, folds)
    X_new, y_new, _ = problem(classes, count=150, seed=1)
    predicted = fitted.predict(X_new)
    for values in (out_of_fold, predicted):
        assert values.shape == (150, classes or 2)
        if classes is not None:
            np.testing.assert_allclose(values.sum(1), 1)
            assert values.min() > 0
    assert error(out_of_fold, y) < 0.2
    assert error(predicted, y_new) < 0.2


@each_head
@pytest.mark.parametrize("classes", [3, None])
def test_a_fold_is_predicted_without_its_targets(head, classes, rng, monkeypatch):
    monkeypatch.setattr(linear, "_PENALTIES", np.array([3.0]))  # all folds have a part in a choice
    X, y, folds = problem(classes)
    other = y.copy()
    other[folds == 2] = rng.permutation(other[folds == 2]) if classes else 100.0
    before = head(classes).fit(X, y, folds)
    after = head(classes).fit(X, other, folds)
    np.testing.assert_array_equal(after[folds == 2], before[folds == 2])
    assert (after[folds != 2] != before[folds != 2]).any()


@each_head
@pytest.mark.parametrize("classes", [2, 3, None])
@pytest.mark.parametrize("features", [6, 150])  # more features than clouds, and than trees keep
def test_arrays_restore_the_head(head, classes, features):
    X, y, folds = problem(classes, features=features)
    fitted = head(classes)
    fitted.fit(X, y, folds)
    restored = head.from_arrays(fitted.arrays(), classes)
    X_new, _, _ = problem(classes, features=features, seed=1)
    np.testing.assert_array_equal(restored.predict(X_new), fitted.predict(X_new))


@each_head
@pytest.mark.parametrize("classes", [3, None])
@pytest.mark.parametrize("features", [6, 150])
def test_units_do_not_matter(head, classes, features, rng):
    X, y, folds = problem(classes, features=features)
    X_new, _, _ = problem(classes, features=features, seed=1)
    powers_of_two = np.where(np.arange(features) % 2, 1024.0, 2.0**-30)
    powers_of_ten = 10.0 ** rng.integers(-8, 9, features)

    def fitted(units):
        model = head(classes)
        return model.fit(X * units, y, folds), model.predict(X_new * units)

    expected = fitted(np.ones(features))
    for values, same in zip(fitted(powers_of_two), expected, strict=True):
        np.testing.assert_array_equal(values, same)
    for units in (1000.0, powers_of_ten):
        for values, same in zip(fitted(units), expected, strict=True):
            np.testing.assert_allclose(values, same, atol=1e-3)


@each_head
@pytest.mark.parametrize("classes", [2, None])
def test_an_offset_does_not_matter(head, classes):
    X, y, folds = problem(classes)
    X = np.round(X * 2**20) / 2**20  # the offset is added without rounding
    expected = head(classes).fit(X, y, folds)
    np.testing.assert_allclose(head(classes).fit(X + 2.0**26, y, folds), expected, atol=1e-3)


@each_head
@pytest.mark.parametrize("classes", [2, None])
def test_constant_features_change_nothing(head, classes):
    X, y, folds = problem(classes)
    constant = np.stack([np.zeros(60), np.full(60, 0.1), np.full(60, 1e8)], axis=1)
    constant[::2, 1] = np.nextafter(0.1, 1)  # constant but for rounding
    fitted = head(classes)
    out_of_fold = fitted.fit(np.hstack([X, constant]), y, folds)
    assert error(out_of_fold, y) < error(head(classes).fit(X, y, folds), y) + 0.03
    without = fitted.predict(np.hstack([X, constant]))
    moved = fitted.predict(np.hstack([X, np.add(constant, [1e-9, 1e-9, 1.0])]))
    np.testing.assert_allclose(moved, without, atol=1e-6)
    only_constant = head(classes).fit(constant, y, folds)
    assert np.isfinite(only_constant).all()


@each_head
@pytest.mark.parametrize("classes", [2, 3, None])
def test_twelve_clouds_are_enough(head, classes):
    X, y, _ = problem(classes, count=12, features=40)
    for count in (2, 5):
        out_of_fold = head(classes).fit(X, y, np.arange(12) % count)
        assert np.isfinite(out_of_fold).all()


@each_head
def test_values_far_outside_of_the_training_clouds_are_predicted(head):
    for classes in (2, None):
        X, y, folds = problem(classes)
        fitted = head(classes)
        fitted.fit(X * 1e-8, y, folds)
        assert np.isfinite(fitted.predict(np.full((1, 6), 1e300))).all()


@each_head
def test_a_class_that_a_fold_model_has_not_seen_is_improbable(head):
    X, y, folds = problem(3)
    folds = np.where(y == 2, 4, folds % 4)
    fitted = head(3)
    out_of_fold = fitted.fit(X, y, folds)
    unseen = out_of_fold[folds == 4, 2]
    assert (unseen > 0).all()
    assert (unseen < 0.05).all()
    np.testing.assert_allclose(out_of_fold.sum(1), 1)
    X_new, y_new, _ = problem(3, seed=1)
    assert error(fitted.predict(X_new), y_new) < 0.2  # four of five models have seen it
    restored = head.from_arrays(fitted.arrays(), 3)
    np.testing.assert_array_equal(restored.predict(X), fitted.predict(X))


@each_head
def test_a_fold_model_of_one_class_knows_nothing_else(head):
    X, y, _ = problem(2)
    out_of_fold = head(2).fit(X, y, y)
    assert (out_of_fold[np.arange(60), y] < 0.05).all()
    assert (out_of_fold[np.arange(60), y] > 0).all()


@each_head
@pytest.mark.parametrize("classes", [3, None])
def test_a_cloud_of_weight_0_trains_nothing(head, classes, rng):
    X, y, folds = problem(classes)
    left_out = np.arange(60) % 4 == 0
    X_other, y_other = X.copy(), y.copy()
    X_other[left_out] = 1000 * rng.normal(size=X[left_out].shape)
    y_other[left_out] = y_other[left_out][::-1]
    predictions = []
    for features, targets in ((X, y), (X_other, y_other)):
        fitted = head(classes)
        out_of_fold = fitted.fit(features, targets, folds, weights=np.where(left_out, 0.0, 2.0))
        predictions.append((out_of_fold[~left_out], fitted.predict(X)))
    for one, other in zip(*predictions, strict=True):
        np.testing.assert_array_equal(one, other)


@each_head
def test_weights_shift_predictions_towards_heavy_clouds(head):
    _, y, folds = problem(2)
    X = (np.arange(60) % 3)[:, None] * 1.0  # clouds of both classes have the same features
    plain = head(2).fit(X, y, folds)
    heavy = head(2).fit(X, y, folds, weights=np.where(y == 1, 10.0, 1.0))
    assert heavy[:, 1].mean() > plain[:, 1].mean() + 0.2
    only_ratios = head(2).fit(X, y, folds, weights=np.where(y == 1, 5.0, 0.5))
    np.testing.assert_allclose(only_ratios, heavy, atol=1e-6)


@each_head
def test_a_seed_repeats_the_fit(head):
    X, y, folds = problem(2)
    one, other = (head(2).fit(X, y, folds, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@each_head
def test_errors_say_what_was_passed(head):
    X, y, folds = problem(2)
    with pytest.raises(NotFittedError):
        head(2).predict(X)
    with pytest.raises(NotFittedError):
        head(2).arrays()
    with pytest.raises(ValueError, match=r"y has shape \(59,\)"):
        head(2).fit(X, y[1:], folds)
    with pytest.raises(ValueError, match="codes from 0 to 2: expected 0 to 1 for 2 classes"):
        head(2).fit(X, y + (np.arange(60) == 59), folds)
    with pytest.raises(ValueError, match=r"y has shape \(60,\): expected \(60, t\)"):
        head(None).fit(X, y, folds)
    with pytest.raises(ValueError, match=r"folds has the values \[0\]"):
        head(2).fit(X, y, np.zeros(60, dtype=int))
    with pytest.raises(ValueError, match=r"folds has the values \[1, 2"):
        head(2).fit(X, y, folds + 1)
    with pytest.raises(ValueError, match="features of cloud 7 are not finite"):
        head(2).fit(np.where(np.arange(60)[:, None] == 7, np.nan, X), y, folds)
    with pytest.raises(ValueError, match="outside of fold 1 are 0"):
        head(2).fit(X, y, folds, weights=(folds == 1) * 1.0)
    fitted = head(2)
    fitted.fit(X, y, folds)
    with pytest.raises(ValueError, match=r"X has shape \(60, 5\): expected \(N, 6\)"):
        fitted.predict(X[:, :5])
    with pytest.raises(ValueError, match="not finite"):
        fitted.predict(np.full((2, 6), np.inf))


@each_head
@pytest.mark.parametrize("classes", [3, None])
def test_damaged_arrays_are_refused(head, classes):
    X, y, folds = problem(classes)
    fitted = head(classes)
    fitted.fit(X, y, folds)
    arrays = fitted.arrays()
    for name, array in arrays.items():
        rest = {key: value for key, value in arrays.items() if key != name}
        with pytest.raises(ValueError, match=f"array '{name}' is missing"):
            head.from_arrays(rest, classes)
        other = np.float32 if array.dtype == np.float64 else np.int64
        for wrong in (array[..., None], array.astype(other), array.tolist()):
            with pytest.raises(ValueError, match=f"array '{name}' has"):
                head.from_arrays(rest | {name: wrong}, classes)
        for wrong in (array[:0], array[:-1]):  # the size may be that of another array
            with pytest.raises(ValueError, match=r"array '.*' has"):
                head.from_arrays(rest | {name: wrong}, classes)
        if array.dtype.kind == "f":
            for bad in (np.nan, np.inf):
                damaged = array.copy()
                damaged.flat[0] = bad
                with pytest.raises(ValueError, match=f"array '{name}' .* not finite"):
                    head.from_arrays(rest | {name: damaged}, classes)
    with pytest.raises(ValueError, match="array 'extra' is unknown"):
        head.from_arrays(arrays | {"extra": np.zeros(3)}, classes)
    with pytest.raises(ValueError, match="array 'scale' has values from"):
        head.from_arrays(arrays | {"scale": -arrays["scale"]}, classes)
    if classes is not None:
        with pytest.raises(ValueError, match="expected"):
            head.from_arrays(arrays, classes + 1)


@each_head
@pytest.mark.parametrize("classes", [3, None])
def test_random_damage_gives_an_error_or_a_prediction(head, classes, rng):
    """Neither an endless descent nor an index out of range."""
    X, y, folds = problem(classes)
    fitted = head(classes)
    fitted.fit(X, y, folds)
    refused = 0
    for _ in range(150):
        arrays = fitted.arrays()
        name = rng.choice(list(arrays))
        damaged = arrays[name].copy()
        raw = damaged.reshape(-1).view(np.uint8)
        raw[rng.integers(len(raw))] ^= np.uint8(1 << rng.integers(8))
        try:
            predicted = head.from_arrays(arrays | {name: damaged}, classes).predict(X)
        except ValueError:
            refused += 1
        else:
            assert np.isfinite(predicted).all()
    assert 0 < refused < 150
