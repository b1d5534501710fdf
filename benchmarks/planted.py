"""Planted signals: is the planted feature first, and is anything else found?

Sets of 100 clouds of 50 points with independent standard normal features, of which one or two carry
the class:

- mean: feature 0 is shifted by 0.7 in class 1;
- spread: feature 0 is 1.6 times as wide in class 1;
- correlation: features 0 and 1 have a correlation of 0.8 in class 1, of 0 in class 0;
- curve: features 0 and 1 lie along a parabola in class 1, along a straight line in class 0.

Seeds are 0, 1, 2, …, fixed beforehand. For each signal and number of features, the table counts in
how many sets the planted feature (or, of two, one of them or the pair) is the first row of its
kind, and in how many any other feature has p < 0.05. Sets with labels that are noise follow.

    python -m benchmarks planted                           # 20 sets per signal, 100 of noise
    python -m benchmarks.planted --out sets.csv            # the same, and one row per set
    python -m benchmarks.planted --sets 3 --noise 5 --model cloud
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from rich.progress import track

import pointforms as pf
from benchmarks.tables import Results
from pointforms.support.files import write_text

CLOUDS, POINTS = 100, 50
SIGNALS = ("mean", "spread", "correlation", "curve")
KINDS = {
    "mean": "distribution",
    "spread": "distribution",
    "correlation": "covariation",
    "curve": "covariation",
}
WIDTHS = (5, 20)
# Seeds of sets with noise labels begin here.
_NOISE = 1000


def planted_set(
    signal: str, features: int, seed: int, clouds: int = CLOUDS
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return clouds and their labels; signal "noise" plants nothing."""
    rng = np.random.default_rng([seed, features, [*SIGNALS, "noise"].index(signal)])
    y = np.arange(clouds) % 2
    made = []
    for label in y:
        cloud = rng.normal(size=(POINTS, features))
        if signal == "mean":
            cloud[:, 0] += 0.7 * label
        elif signal == "spread":
            cloud[:, 0] *= 1.6 if label else 1.0
        elif signal == "correlation" and label:
            cloud[:, 1] = 0.8 * cloud[:, 0] + 0.6 * cloud[:, 1]
        elif signal == "curve":
            t = rng.uniform(-1.7, 1.7, POINTS)
            cloud[:, 0] = t + 0.2 * cloud[:, 0]
            cloud[:, 1] = (t**2 - 1 if label else t) + 0.2 * cloud[:, 1]
        made.append(cloud)
    return made, rng.permutation(y) if signal == "noise" else y


def planted_features(signal: str) -> set[str]:
    """Return the names of the features that carry the class."""
    return {
        "mean": {"x0"},
        "spread": {"x0"},
        "correlation": {"x0", "x1"},
        "curve": {"x0", "x1"},
    }.get(signal, set())


@dataclass(frozen=True)
class Explained:
    """One set: what was planted, and what its explanation found.

    Attributes
    ----------
    signal, features, seed : str, int, int
        The set.
    auroc : float
        Of the model, on clouds that it has not seen.
    first : bool
        Whether the planted feature, or one of the planted pair or the pair, is first of its kind.
    found : bool
        Whether it has p < 0.05.
    false : str
        Other features and pairs with p < 0.05.
    seconds : float
        Processor time, with the refits of the cross-fit.
    """

    signal: str
    features: int
    seed: int
    auroc: float
    first: bool
    found: bool
    false: str
    seconds: float


def explained(signal: str, features: int, seed: int, model: str) -> Explained:
    """Fit and explain one set."""
    clouds, y = planted_set(signal, features, seed)
    kind = pf.CloudClassifier if model == "cloud" else pf.PointFormClassifier
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pf.explain.importance(kind(random_state=seed), clouds, y, random_state=seed)
    planted = planted_features(signal)
    first = bool(planted) and _named(table.top(1, KINDS[signal])[0]) <= planted
    false = [f"{row.name} ({row.kind})" for row in table.found() if not _named(row) & planted]
    return Explained(
        signal,
        features,
        seed,
        float(table.score),
        first,
        any(_named(row) <= planted for row in table.found()),
        "; ".join(false),
        time.process_time() - start,
    )


def _named(row: Any) -> set[str]:
    """Return the features of a row: one, or the two of a pair."""
    return {row.feature, row.other or row.feature}


def all_sets(sets: int, noise: int, widths: Sequence[int]) -> list[tuple[str, int, int]]:
    """Return the signal, number of features and seed of every set."""
    planted = [(s, width, seed) for s in SIGNALS for width in widths for seed in range(sets)]
    return planted + [("noise", widths[i % len(widths)], _NOISE + i) for i in range(noise)]


def _one_set(job: tuple[str, int, int, str]) -> Explained:
    torch.set_num_threads(1)
    return explained(*job)


def summary(title: str, done: Sequence[Explained]) -> Results:
    """Return the table of the figures that are asked for."""
    results = Results(title)
    planted = [one for one in done if one.signal != "noise"]
    cases: dict[str, list[Explained]] = defaultdict(list)
    for one in planted:
        cases[f"{one.signal}, {one.features} features"].append(one)
    for case, some in cases.items():
        results.add(case, "AUROC, mean", mean(one.auroc for one in some), 0.9, lower=False)
        first = mean(one.first for one in some)
        results.add(case, "first of its kind, share", first, 0.95, lower=False)
        results.note(case, "found, share", f"{mean(one.found for one in some):.2f}")
        false = sum(bool(one.false) for one in some)
        results.note(case, "sets with a false finding", f"{false} of {len(some)}")
        seconds = mean(one.seconds for one in some)
        results.note(case, "processor seconds per set, with refits", f"{seconds:.0f}")
    for what, some in (("planted", planted), ("noise", [o for o in done if o.signal == "noise"])):
        if some:
            # two standard errors above 5 %: 13 of 160 sets, 9 of 100
            bound = len(some) * (0.05 + 2 * sqrt(0.05 * 0.95 / len(some)))
            false = sum(bool(one.false) for one in some)
            results.add(f"{what}, {len(some)} sets", "sets with a false finding", false, int(bound))
    return results


def main(arguments: Sequence[str] | None = None) -> list[str]:
    """Print the table, and return the cells that miss what is asked of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted")
    parser.add_argument("--sets", type=int, default=20, help="sets per signal (default: 20)")
    parser.add_argument("--noise", type=int, help="sets of noise (default: five times --sets)")
    parser.add_argument("--features", type=int, nargs="+", default=list(WIDTHS))
    parser.add_argument("--model", choices=("forms", "cloud"), default="forms")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--out", type=Path, help="CSV file for one row per set (default: none)")
    given = parser.parse_args([] if arguments is None else arguments)
    noise = 5 * given.sets if given.noise is None else given.noise
    jobs = [(*one, given.model) for one in all_sets(given.sets, noise, given.features)]
    with get_context("spawn").Pool(given.workers) as pool:
        done = list(track(pool.imap(_one_set, jobs), "explained", len(jobs)))
    if given.out is not None:
        write_rows(given.out, done)
    title = "Planted signals" + (" (CloudClassifier)" if given.model == "cloud" else "")
    results = summary(title, done)
    results.print()
    return results.missed


def write_rows(path: Path, done: Sequence[Explained]) -> None:
    """Write one row per set."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(Explained)])
    writer.writerows(astuple(one) for one in done)
    write_text(path, text.getvalue())


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
