"""Fits by this code and by that of version 0.1.0: point-forms on rna-velocity, slow baselines.

Both run on one thread, in processes of their own that take turns, so that a noisy machine slows
both. Version 0.1.0 is read from the history of the repository. Its defaults are another row: later
versions scale every feature, which suits real data, and changes what is learned here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from itertools import product
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from benchmarks.tables import Results
from pointforms.bench.paired_test import paired_test
from pointforms.bench.records import Record, Row

ROOT = Path(__file__).parent.parent
# The last commit of version 0.1.0.
V_0_1_0 = "168f061"
_OLD_DEFAULTS: dict[str, object] = {"scale": None, "weight_decay": 1e-3, "neighbors": 32}
_FOLDS, _SEEDS = 5, 3
# The baselines that take longest on circles-vs-lines.
_SLOW = ("pointnet++", "pointnet", "point-transformer", "graph-transformer")
# Prints what a fit took, and how well it predicts the test clouds.
_FIT = """
import json, sys, time, warnings
import numpy as np, torch
from sklearn.metrics import roc_auc_score
import pointforms as pf

warnings.simplefilter("ignore")
torch.set_num_threads(1)
model, task, (fold, seed, options) = sys.argv[1], sys.argv[2], map(json.loads, sys.argv[3:])
if model == "default":
    make = pf.PointFormClassifier
else:
    from functools import partial
    if hasattr(pf, "models"):
        from pointforms.models import make
    else:
        from pointforms.baselines import make
    make = partial(make, model)
task = pf.tasks.load(task)
train, test = (np.flatnonzero(part) for part in (task.folds != fold, task.folds == fold))
model = make(random_state=seed, **options)
clouds = [task.clouds[i] for i in train]
start = time.process_time()
model.fit(clouds, task.labels[train], groups=task.groups[train])
seconds = time.process_time() - start
predicted = model.predict_proba([task.clouds[i] for i in test])[:, 1]
auroc = roc_auc_score(task.labels[test], predicted)
print(json.dumps([seconds, len(model.history_), auroc, len(train), len(test)]))
"""


class Measured(NamedTuple):
    """What one fit took, how well it predicts the test clouds, and the numbers of clouds."""

    seconds: float
    epochs: int
    auroc: float
    train_size: int
    test_size: int


def extract(revision: str, folder: Path) -> Path:
    """Write the code of an older revision to a folder, and return where its packages are."""
    archive = subprocess.run(
        ["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True
    )
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as file:
        file.extractall(folder, filter="data")
    return folder / "src"


def fit(
    packages: Path, model: str, task: str, fold: int, seed: int = 0, **options: object
) -> Measured:
    """Train on all other folds in a new process, by the package of some folder."""
    out = subprocess.run(
        [sys.executable, "-c", _FIT, model, task, *map(json.dumps, (fold, seed, options))],
        env={**os.environ, "PYTHONPATH": str(packages)},
        check=True,
        capture_output=True,
        text=True,
    )
    return Measured(*json.loads(out.stdout.splitlines()[-1]))


def default_fits(results: Results, old: Path) -> None:
    """Compare default fits on all folds of rna-velocity, with several seeds.

    The bound on AUROC is one on its mean. How much of a difference may be chance is told by its
    interval, which is that of the corrected resampled t-test over the folds.
    """
    task = "rna-velocity"
    versions: dict[str, tuple[Path, dict[str, object]]] = {
        "0.1.0": (old, {}),
        "now": (ROOT / "src", {}),
        "now, options of 0.1.0": (ROOT / "src", _OLD_DEFAULTS),
    }
    fits: dict[str, list[Measured]] = {name: [] for name in versions}
    records: dict[str, list[Record]] = {name: [] for name in versions}
    for fold, seed in product(range(_FOLDS), range(_SEEDS)):
        for name, (packages, options) in versions.items():
            one = fit(packages, "default", task, fold, seed, **options)
            fits[name].append(one)
            records[name].append(
                Record(
                    Row(task, name),
                    fold,
                    seed,
                    auroc=one.auroc,
                    train_size=one.train_size,
                    test_size=one.test_size,
                )
            )
    before = mean(one.seconds for one in fits["0.1.0"])
    for name, own in fits.items():
        case = f"{task}, {name}"
        seconds = mean(one.seconds for one in own)
        results.note(case, "seconds per fit", f"{seconds:.1f}")
        results.note(case, "epochs", f"{mean(one.epochs for one in own):.0f}")
        results.note(case, "AUROC", f"{mean(one.auroc for one in own):.4f}")
        if name != "0.1.0":
            results.add(case, "times faster", before / seconds, 2.0, lower=False)
            change = paired_test(records[name], records["0.1.0"])
            results.add(case, "AUROC below 0.1.0", -change.difference, 0.005)
            interval = f"{change.difference:+.4f} [{change.low:+.4f}, {change.high:+.4f}]"
            results.note(case, "AUROC minus that of 0.1.0", f"{interval}, p = {change.p:.2f}")


def slow_baselines(results: Results, old: Path) -> None:
    """Compare the slowest baselines on the first fold of circles-vs-lines.

    The one that takes 0.1.0 longest has a bound.
    """
    fits = {
        name: [fit(place, name, "circles-vs-lines", 0) for place in (old, ROOT / "src")]
        for name in _SLOW
    }
    slowest = max(fits, key=lambda name: fits[name][0].seconds)
    for name, (before, now) in fits.items():
        case = f"circles-vs-lines, {name}"
        for version, one in (("0.1.0", before), ("now", now)):
            shown = f"{one.seconds:.0f}, {one.epochs}, {one.auroc:.4f}"
            results.note(case, f"{version}: seconds, epochs, AUROC", shown)
        ratio = before.seconds / now.seconds
        if name == slowest:
            results.add(case, "times faster", ratio, 2.0, lower=False)
            results.add(case, "AUROC below 0.1.0", before.auroc - now.auroc, 0.005)
        else:
            results.note(case, "times faster", f"{ratio:.2f}")


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("The same fits by version 0.1.0 and now")
    with tempfile.TemporaryDirectory() as folder:
        old = extract(V_0_1_0, Path(folder))
        default_fits(results, old)
        slow_baselines(results, old)
    results.print()
    return results.missed
