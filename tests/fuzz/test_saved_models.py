"""Any saved model: it predicts what it did when it was saved, or is refused with its folder."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save
from tests.fuzz.judge import judge, must
from tests.fuzz.profiles import share
from tests.fuzz.test_estimators import CLOUDS, HALVES, MEANS, predictions
from tests.fuzz.test_tables import damages

import pointforms as pf

CONFIG, WEIGHTS = "estimator.json", "model.safetensors"
OLD = Path(__file__).parents[1] / "data" / "saved-by-0.1.0"
OPTIONS = {"epochs": 1, "forms": 2, "hidden": (4,), "random_state": 0}
KINDS: dict[str, Callable[[], Any]] = {
    "classifier": lambda: pf.PointFormClassifier(**OPTIONS).fit(CLOUDS, HALVES),
    "text": lambda: pf.PointFormClassifier(**OPTIONS, degree=(0, 1)).fit(
        CLOUDS, np.where(HALVES, "yes", "no")
    ),
    "regressor": lambda: pf.PointFormRegressor(**OPTIONS, dtype="float64").fit(CLOUDS, MEANS),
    "transformer": lambda: pf.PointFormTransformer(**OPTIONS, head=0).fit(CLOUDS),
    "members": lambda: pf.PointFormClassifier(**OPTIONS, members=2, frame="shape").fit(
        CLOUDS, HALVES
    ),
    "components": lambda: pf.PointFormRegressor(**OPTIONS, components=1).fit(CLOUDS, MEANS),
    "unscaled": lambda: pf.PointFormTransformer(**OPTIONS, scale=None).fit(CLOUDS),
    "portfolio": lambda: pf.CloudClassifier(random_state=0, neighbors=4).fit(CLOUDS, HALVES),
    "portfolio of numbers": lambda: pf.CloudRegressor(
        parts=("linear", "forest", "forms"), random_state=0, neighbors=4
    ).fit(CLOUDS, MEANS),
}
#: Models in the format of 0.1.0, which has no checksum.
OLD_KINDS = ("old classifier", "old regressor", "old transformer")

models = st.sampled_from((*sorted(KINDS), *OLD_KINDS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@cache
def saved(kind: str, folder: Path) -> tuple[Path, np.ndarray]:
    """Return a folder with a good model, and what it predicts."""
    if kind in OLD_KINDS:
        path = OLD / kind.removeprefix("old ")
        return path, predictions(pf.load(path), CLOUDS)
    estimator = KINDS[kind]()
    estimator.save(folder / f"good-{kind}")
    return folder / f"good-{kind}", predictions(estimator, CLOUDS)


def copy_of(kind: str, folder: Path) -> Path:
    """Return a copy of a good model to damage."""
    target = folder / "fuzzed-model"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(saved(kind, folder)[0], target)
    return target


def judge_loading(kind: str, folder: Path, same: bool) -> None:
    """Load the damaged copy and predict; where `same`, as the good model does."""
    expected = saved(kind, folder)[1]
    before = sorted(folder.rglob("*"))

    def call() -> Any:
        found = predictions(pf.load(folder / "fuzzed-model"), CLOUDS)
        must(not same or np.array_equal(found, expected), "another prediction than before saving")
        must(sorted(folder.rglob("*")) == before, "loading or predicting wrote files")
        return found

    judge("saved models", call, ["fuzzed-model", "not finite"])


# --- reading and writing the files of a model without the library ---------------------------


def read_weights(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the tensors of a file and the texts of its header."""
    with safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118


def write_weights(
    path: Path, tensors: dict[str, np.ndarray], texts: dict[str, str], signed: bool
) -> None:
    """Write tensors and texts; if `signed`, with the checksum that belongs to them."""
    blank = "0" * 64
    content: bytes = save(tensors, texts | {"sha256": blank} if signed and texts else texts)
    if signed:
        checksum = hashlib.sha256(content).hexdigest()
        content = content.replace(f'"sha256":"{blank}"'.encode(), f'"sha256":"{checksum}"'.encode())
    path.write_bytes(content)


def change_configuration(folder: Path, change: Callable[[str], str]) -> None:
    """Replace the configuration of a model, which is a file or a text of the header."""
    if (folder / CONFIG).exists():
        text = change((folder / CONFIG).read_text())
        (folder / CONFIG).write_bytes(text.encode("utf-8", "replace"))
        return
    tensors, texts = read_weights(folder / WEIGHTS)
    texts["pointforms"] = change(texts["pointforms"]).encode("utf-8", "replace").decode()
    write_weights(folder / WEIGHTS, tensors, texts, signed=True)


def _nested(depth: int) -> str:
    return "[" * depth + "]" * depth


#: Stands for a folder beside the model.
ESCAPE = "<escape>"
#: Values that a hostile file may have anywhere.
HOSTILE: tuple[Any, ...] = (
    None, True, 0, 1, -1, 3, 10**6, 10**30, 0.5, 1e300, float("nan"), float("inf"), "", "auto", "a",
    "cuda", "meta", "float16", ESCAPE, "/dev/null", [], [1], [50000, 50000], [-1], {},
    {"a": 1},
    {"values": [0, 1], "dtype": "|O"}, {"values": [0, 1], "dtype": "<f8"},
    {"values": "a", "dtype": 3},
    {"values": [[0], [1]], "dtype": "<i8"}, {"values": ["yes"], "dtype": "<U99999999"}, [[[[]]]],
)  # fmt: skip
KEYS = (
    "format", "class", "options", "learned", "checksum", "predict", "model_", "_new_model", "fit",
    "__class__", "__dict__", "classes_", "n_features_in_", "dimension_", "hidden", "forms",
    "degree",
    "cache", "device", "dtype", "head", "n_jobs", "readout", "coefficients", "neighbors",
    "target_scale_", "target_mean_", "single_target_", "history_", "best_epoch_", "class_weight",
    "../x", "", "parts", "linear", "forest", "forms", "contributions", "oof_predictions_",
    "oof_score_", "oof_scores_", "part_scores_", "batch_centers_", "covariates_", "parts_", "pool_",
    "unit_",
)  # fmt: skip


def _table(config: dict[str, Any], place: str) -> Any:
    """Return a table of a configuration: its own, or one of a part of a portfolio."""
    if place == "top":
        return config
    if not place.startswith("forms"):
        return config.get(place)
    parts = config.get("parts")
    part = parts.get("forms", {}) if isinstance(parts, dict) else {}
    return part.get("options" if place == "forms" else "learned") if isinstance(part, dict) else 0


@share(0.04)
@given(
    kind=models,
    edits=st.lists(
        st.tuples(
            st.sampled_from(("top", "options", "learned", "parts", "forms", "forms learned")),
            st.sampled_from(("set", "set", "set", "delete")),
            st.sampled_from(KEYS),
            st.sampled_from(HOSTILE),
        ),
        min_size=1,
        max_size=2,
    ),
)
def test_configurations(kind: str, edits: list[tuple[str, str, str, Any]], folder: Path) -> None:
    def change(text: str) -> str:
        config = json.loads(text)
        for place, action, key, value in edits:
            table = _table(config, place)
            if not isinstance(table, dict):
                continue
            if action == "delete":
                table.pop(key, None)
            else:
                own = (
                    dict(value) if isinstance(value, dict) else value
                )  # the next edit may change it
                table[key] = str(folder / "escaped") if value == ESCAPE else own
        return json.dumps(config)

    change_configuration(copy_of(kind, folder), change)
    judge_loading(kind, folder, same=False)


TEXTS = ("", "null", "[]", "{}", "NaN", _nested(10**5), '{"a":' * 10**4, "1" * 10**5, "\ufeff{}")


@share(0.01)
@given(kind=models, text=st.sampled_from(TEXTS) | st.text(max_size=10))
def test_configurations_that_are_none(kind: str, text: str, folder: Path) -> None:
    change_configuration(copy_of(kind, folder), lambda _: text)
    judge_loading(kind, folder, same=True)


@share(0.04)
@given(kind=models, number=st.integers(0, 1), damage=damages())
def test_damaged_files(
    kind: str, number: int, damage: Callable[[bytes], bytes], folder: Path
) -> None:
    files = sorted(copy_of(kind, folder).iterdir())
    path = files[number % len(files)]
    path.write_bytes(damage(path.read_bytes()))
    judge_loading(kind, folder, same=kind not in OLD_KINDS)


CHANGES = ("swap", "nan", "shape", "drop", "add", "dtype", "rename", "other", "zero", "huge")


@share(0.02)
@given(kind=models, change=st.sampled_from(CHANGES), place=st.integers(0, 99), signed=st.booleans())
def test_tensors(kind: str, change: str, place: int, signed: bool, folder: Path) -> None:
    path = copy_of(kind, folder) / WEIGHTS
    tensors, texts = read_weights(path)
    names = sorted(tensors)
    name, next_name = names[place % len(names)], names[(place + 1) % len(names)]
    match change:
        case "swap":
            tensors[name], tensors[next_name] = tensors[next_name], tensors[name]
        case "nan":
            tensors[name] = np.full_like(tensors[name], np.nan, dtype=np.float32)
        case "huge":
            tensors[name] = np.full_like(tensors[name], 3e38, dtype=np.float32)
        case "zero":
            tensors[name] = np.zeros_like(tensors[name])
        case "shape":
            tensors[name] = np.stack([tensors[name]] * 2)
        case "drop":
            del tensors[name]
        case "add":
            tensors["extra"] = np.zeros(3, dtype=np.float32)
        case "dtype":
            tensors[name] = tensors[name].astype(np.int64)
        case "rename":
            tensors["renamed"] = tensors.pop(name)
        case "other":
            other = sorted(set(KINDS) - {kind})[place % (len(KINDS) - 1)]
            tensors = read_weights(saved(other, folder)[0] / WEIGHTS)[0]
    write_weights(path, tensors, texts, signed)
    judge_loading(kind, folder, same=not signed and kind not in OLD_KINDS)


@share(0.01)
@given(
    kind=models,
    header=st.dictionaries(
        st.sampled_from(("head.0.bias", "__metadata__", "a")),
        st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(("F32", "F64", "I64", "X", 3)),
                "shape": st.lists(st.sampled_from((0, 1, 8, -1, 10**12)), max_size=3),
                "data_offsets": st.lists(st.sampled_from((0, 32, 2**62, -1)), max_size=3),
            }
        ),
        max_size=3,
    ),
    length=st.none() | st.sampled_from((0, 1, 2**40, 2**63)),
)
def test_headers_of_weights(
    kind: str, header: dict[str, Any], length: int | None, folder: Path
) -> None:
    text = json.dumps(header).encode()
    content = struct.pack("<Q", len(text) if length is None else length) + text + bytes(64)
    (copy_of(kind, folder) / WEIGHTS).write_bytes(content)
    judge_loading(kind, folder, same=True)


@share(0.01)
@given(
    kind=models,
    missing=st.sampled_from(
        (CONFIG, WEIGHTS, "both", "folder", "folder is a file", "weights are a folder")
    ),
)
def test_missing_files(kind: str, missing: str, folder: Path) -> None:
    target = copy_of(kind, folder)
    for name in (CONFIG, WEIGHTS):
        if missing in (name, "both"):
            (target / name).unlink(missing_ok=True)
    if missing.startswith("folder"):
        shutil.rmtree(target)
        if missing == "folder is a file":
            target.write_text("")
    if missing == "weights are a folder":
        (target / WEIGHTS).unlink()
        (target / WEIGHTS).mkdir()
    judge_loading(kind, folder, same=True)
    if target.is_file():
        target.unlink()


@pytest.mark.parametrize("kind", [*sorted(KINDS), *OLD_KINDS])
def test_good_models_load(kind: str, folder: Path) -> None:
    path, expected = saved(kind, folder)
    judge(
        "saved models",
        lambda: must((predictions(pf.load(path), CLOUDS) == expected).all(), kind),
        [],
    )
