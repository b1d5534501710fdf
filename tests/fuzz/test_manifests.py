"""Any manifest: a countable set of fits, or an error with the path of the key, in no time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.judge import judge, must
from tests.fuzz.profiles import share
from tests.fuzz.strategies import AWKWARD

from pointforms import models
from pointforms.bench.manifest import Manifest, read_manifest
from pointforms.bench.sweep import read_sweep
from pointforms.models.options import option_names

NAMES = ("npf-tri-1", "npf-gram-2", "mlp", "gcn", "svm", "hodge", "random-forms")

words = st.sampled_from(("", "auto", "mean", "\x1b[2J", "é", "a.b", 'a"b', "../../etc/passwd"))
numbers = st.sampled_from(
    (0, 1, -1, 2, 5, 6, 2**31 - 1, 2**31, 2**63 - 1, 10**30, 0.0, 0.5, -1.5, 1e-300, 1e300,
    math.inf, math.nan)
)  # fmt: skip
#: Values that TOML can hold.
values = st.recursive(
    words | numbers | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=2),
    max_leaves=5,
)


def _deep(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


# Python's own parser of TOML refuses deeper ones.
deep = st.sampled_from((_deep(10), _deep(90)))

SWEEP: dict[str, st.SearchStrategy[Any]] = {
    "tasks": st.lists(
        st.sampled_from(("colocated", "rna-velocity", "nothing", "cells.csv", "empty.csv", ".", ""))
        | values,
        max_size=3,
    ),
    "models": st.lists(st.sampled_from((*NAMES, "nothing")) | values, max_size=3),
    "folds": st.sampled_from((1, 5, 6, [0], [4, 0], [0, 0], [5], [-1], [], [True])) | values,
    "seeds": st.sampled_from((1, 3, [7], [0, 0], [2**31], 10**9, 10**18, [])) | values,
    "clouds": st.sampled_from((20, 19, 40, 10**9)) | values,
    "points": st.sampled_from((1, 2, 10**9)) | values,
    "task_seed": st.sampled_from((0, 3, 2**32)) | values,
    "together": st.sampled_from((1, 5, 10**18)) | values,
}
option = st.sampled_from(sorted({name for model in NAMES for name in option_names(model)}))
OPTION_VALUES = (
    0, 1, 2, 3, -1, 0.5, 1e300, math.nan, "auto", "tri", "mean", "float64", True, [16], [0], [],
    [2.5], "",
)  # fmt: skip
option_values = st.sampled_from(OPTION_VALUES) | values


@st.composite
def sweeps(draw: Callable[..., Any]) -> tuple[dict[str, Any], list[str]]:
    """Draw a sweep and the keys that may be wrong in it."""
    model = draw(st.sampled_from(NAMES))
    content: dict[str, Any] = {"tasks": ["colocated"], "models": [model]}
    changed = draw(st.lists(st.sampled_from(sorted(SWEEP)), unique=True, max_size=2))
    for name in changed:
        content[name] = draw(SWEEP[name])
    own = st.sampled_from(option_names(model) or ["epochs"])
    if draw(st.booleans()):
        content["options"] = draw(st.dictionaries(own | option, option_values, max_size=2))
        changed += ["options", *content["options"]]
    if draw(st.booleans()):
        several = st.lists(option_values, max_size=3) | values
        content["grid"] = draw(st.dictionaries(own | option, several, max_size=2))
        changed += ["grid", *content["grid"]]
    match draw(st.sampled_from(("",) * 6 + ("unknown", "missing", "huge grid", "deep"))):
        case "unknown":
            key = draw(st.sampled_from(("epochs", "taks", "fold", "random_state", "é", "a.b", "")))
            content[key] = draw(values)
            changed.append(key or '""')
        case "missing":
            key = draw(st.sampled_from(("tasks", "models")))
            del content[key]
            changed.append(key)
        case "huge grid":
            content["grid"] = {
                "epochs": list(range(1, 1001)),
                "learning_rate": [1e-3 * (i + 1) for i in range(1000)],
                "batch_size": list(range(1, 1001)),
            }
            changed += ["grid", *content["grid"]]
        case "deep":
            key = draw(st.sampled_from(("options", "grid", "tasks", "seeds")))
            content[key] = draw(deep)
            changed.append(key)
    return content, changed


def toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def must_be_countable(manifest: Manifest) -> int:
    """Check that the fits of a manifest are those of its units, without repeats."""
    if manifest.fits > 10_000:
        return manifest.fits
    fits = [(unit.row.key, *fit) for unit in manifest.units() for fit in unit.fits]
    must(len(fits) == len(set(fits)) == manifest.fits, "fits are repeated or lost")
    return manifest.fits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("manifests")
    (made / "empty.csv").touch()
    return made


@share(0.04)
@given(drawn=sweeps())
def test_sweeps(drawn: tuple[dict[str, Any], list[str]], folder: Path) -> None:
    content, changed = drawn
    judge(
        "manifests",
        lambda: must_be_countable(Manifest("", (read_sweep(content, folder),))),
        changed,
    )


@share(0.01)
@given(content=st.sampled_from(AWKWARD) | st.dictionaries(st.sampled_from(AWKWARD[:30]), values))
def test_things_that_are_no_sweep(content: Any) -> None:
    names = ["tasks", "models", "sweep", "key"]
    judge("manifests", lambda: read_sweep(content).model_dump(), names)


@share(0.03)
@given(
    drawn=st.lists(sweeps(), max_size=2),
    top=st.dictionaries(
        st.sampled_from(("title", "folds", "seeds", "tasks", "x")), values, max_size=2
    ),
    one_table=st.sampled_from((False,) * 9 + (True,)),
)
def test_manifest_files(drawn: Any, top: dict[str, Any], one_table: bool, folder: Path) -> None:
    contents = [content for content, _ in drawn]
    keys = {key for _, changed in drawn for key in changed} | set(top)
    lines = [f"{json.dumps(key)} = {toml(value)}" for key, value in top.items()]
    if contents:
        lines.append(f"sweep = {toml(contents[0] if one_table else contents)}")
    path = folder / "fuzzed.toml"
    path.write_text("\n".join(lines), encoding="utf-8")

    def call() -> Any:
        try:
            manifest = read_manifest(path)
        except ValueError as error:
            must("fuzzed.toml" in str(error), f"the message lacks the file: {error}")
            raise
        return must_be_countable(manifest)

    judge("manifests", call, [*keys, "sweep"])


@share(0.01)
@given(
    place=st.floats(0, 1),
    text=st.text(max_size=5)
    | st.sampled_from(("[" * 200, "[" * 10**4, "a." * 2000, "=", '"', "9" * 5000)),
    raw=st.none() | st.binary(max_size=4),
)
def test_damaged_manifests(place: float, text: str, raw: bytes | None, folder: Path) -> None:
    good = '[[sweep]]\ntasks = ["colocated"]\nmodels = ["mlp"]\n[sweep.options]\nepochs = 3\n'
    at = int(place * len(good))
    path = folder / "damaged.toml"
    content = text.encode("utf-8", "surrogatepass") if raw is None else raw
    path.write_bytes(good[:at].encode() + content + good[at:].encode())
    judge("manifests", lambda: must_be_countable(read_manifest(path)), ["damaged.toml"])


@share(0.01)
@given(name=st.sampled_from(NAMES), key=option | words, value=option_values)
def test_models_by_name(name: str, key: str, value: Any) -> None:
    """What a manifest accepts for a model, `make` and `check_options` accept too."""

    def call() -> None:
        estimator = models.make(name, **{key: value})
        for check in ("check_options", "_check_options"):
            getattr(estimator, check, lambda: None)()

    judge("manifests", call, [repr(key), f"'{key}'", f"{key}="])
