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

    python -m benchmarks planted                    # 20 sets per signal, 100 of noise
    python -m benchmarks planted --sets 3 --noise 5 --model cloud
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import pointforms as pf
from benchmarks.tables import Results

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


def explained(signal: str, features: int, seed: int, model: str) -> dict[str, Any]:
    """Fit and explain one set: score, whether the planted feature is first, false findings."""
    clouds, y = planted_set(signal, features, seed)
    kind = pf.CloudClassifier if model == "cloud" else pf.PointFormClassifier
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pf.explain.importance(kind(random_state=seed), clouds, y, random_state=seed)
    planted = planted_features(signal)
    first = False
    if planted:
        row = table.top(1, KINDS[signal])[0]
        first = {row.feature, row.other or row.feature} <= planted
    false = [
        f"{row.name} ({row.kind})"
        for row in table.found()
        if not {row.feature, row.other or row.feature} & planted
    ]
    true = any({row.feature, row.other or row.feature} <= planted for row in table.found())
    seconds = time.process_time() - start
    return {"score": table.score, "first": first, "true": true, "false": false, "seconds": seconds}


def main(arguments: Sequence[str] | None = None) -> list[str]:
    """Print the table, and return the cells that miss what is asked of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted")
    parser.add_argument("--sets", type=int, default=20, help="sets per signal (default: 20)")
    parser.add_argument("--noise", type=int, help="sets of noise (default: five times --sets)")
    parser.add_argument("--features", type=int, nargs="+", default=list(WIDTHS))
    parser.add_argument("--model", choices=("forms", "cloud"), default="forms")
    given = parser.parse_args([] if arguments is None else arguments)
    title = "Planted signals" + (" (CloudClassifier)" if given.model == "cloud" else "")
    results = Results(title)
    for signal in SIGNALS:
        for features in given.features:
            sets = [explained(signal, features, seed, given.model) for seed in range(given.sets)]
            case = f"{signal}, {features} features"
            shares = {key: np.mean([bool(one[key]) for one in sets]) for key in ("first", "false")}
            scores = [one["score"] for one in sets]
            results.add(case, "AUROC", float(np.mean(scores)), 0.9, lower=False)
            results.add(case, "first of its kind", shares["first"], 0.9, lower=False)
            results.note(case, "found", f"{np.mean([one['true'] for one in sets]):.2f}")
            results.add(case, "sets with a false finding", shares["false"], 0.1)
            seconds = np.mean([one["seconds"] for one in sets])
            results.note(case, "seconds per set, with refits", f"{seconds:.0f}")
            print(
                case, {k: [one[k] for one in sets] for k in ("first", "true", "false")}, flush=True
            )
    count = 5 * given.sets if given.noise is None else given.noise
    noise = [
        explained("noise", given.features[seed % len(given.features)], _NOISE + seed, given.model)
        for seed in range(count)
    ]
    if count:
        share = np.mean([bool(one["false"]) for one in noise])
        bound = 0.05 + 2 * np.sqrt(0.05 * 0.95 / count)
        results.add(f"noise, {count} sets", "sets with a finding", float(share), float(bound))
    results.print()
    return results.missed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
