"""Landmarks: a cloud of a million simulated cells, and what landmarks cost in accuracy.

Cells are simulated, in ten features: a ring of differentiating cells, a branch that leaves it, and
two compact populations, all with noise. Patients differ in the place of their cells and in the
sizes of their populations. Every patient has two clouds, before and after a treatment that moves
cells from one compact population to the other (composition) and opens the ring (geometry), more in
some patients than in others.

- Accuracy: a classifier on all cells of 20 clouds, and on their landmarks with and without
  weights. Predictions are out of fold, both clouds of a patient in one fold. What counts is that
  weighted landmarks predict what all cells predict. Landmarks without weights are other data, in
  which rare populations are larger, and may separate the classes better or worse.
- Size: a cloud of a million cells, reduced to landmarks and classified. Seconds are those of the
  processor; memory is the peak above what the process had before.

    python -m benchmarks landmarks
"""

from __future__ import annotations

import gc
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import pointforms as pf
from benchmarks.tables import Results
from pointforms.summaries import PooledSummaries
from pointforms.support.peak_memory import can_reset, memory, peak, reset_peak

PATIENTS, CELLS, FEATURES = 10, 20_000, 10
LANDMARKS = 500
MILLION = 1_000_000


def simulated_cells(patient: int, treated: bool, cells: int, seed: int = 0) -> np.ndarray:
    """Return the cells of a simulated cloud: (cells, 10), in single precision."""
    own = np.random.default_rng([seed, patient])
    shift, sizes = own.normal(scale=0.15, size=FEATURES), own.normal(scale=0.25, size=4)
    effect = own.uniform(0.2, 1.0) * treated
    frame = np.linalg.qr(np.random.default_rng(seed).normal(size=(FEATURES, FEATURES)))[0]
    rng = np.random.default_rng([seed, patient, int(treated)])
    logits = np.array([0.5, 0.0, -1.0, -1.0]) + sizes + rng.normal(scale=0.2, size=4)
    logits += effect * np.array([0.0, 0.0, 0.4, -0.4])
    shares = np.exp(logits) / np.exp(logits).sum()
    kind = rng.choice(4, size=cells, p=shares)
    t = 2 * np.pi * rng.uniform(size=cells) * (1 - 0.25 * effect)
    ring = np.stack([np.cos(t), np.sin(t), 0 * t], 1)
    branch = np.stack([1 + 1.5 * t / 6.3, 0.2 * np.sin(t), t / 6.3], 1)
    compact = [np.tile(center, (cells, 1)) for center in ([-2.0, 1.0, 0.5], [-2.0, -1.0, 0.5])]
    places = np.stack([ring, branch, *compact])[kind, np.arange(cells)]
    noise = rng.normal(scale=0.08, size=(cells, FEATURES))
    return (places @ frame[:3] + noise + shift).astype(np.float32)


def classifier() -> Any:
    return pf.CloudClassifier(parts=("linear", "forms"), neighbors=32, dimension=2, random_state=0)


def main() -> list[str]:
    """Print the table and return the figures that missed their bounds."""
    results = Results("Landmarks of large clouds (simulated cells)")
    patients = np.repeat(np.arange(PATIENTS), 2)
    y = np.tile([0, 1], PATIENTS)
    clouds = [
        simulated_cells(patient, bool(label), CELLS)
        for patient, label in zip(patients, y, strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _accuracy(results, clouds, y, patients)
    results.print()
    return results.missed


def _accuracy(
    results: Results, clouds: list[np.ndarray], y: np.ndarray, patients: np.ndarray
) -> None:
    case = f"{len(clouds)} clouds of {CELLS:,} cells"
    fitted = {}
    for method in ("kmeans", "farthest"):
        own = f"{LANDMARKS} landmarks, {method}"
        start = time.process_time()
        reduce = pf.preprocessing.Landmarks(n=LANDMARKS, method=method).fit(clouds)
        landmarks = reduce.transform(clouds)
        model = classifier().fit(landmarks, y, groups=patients)
        results.note(case, f"{own}: seconds", f"{time.process_time() - start:.0f}")
        fitted[own] = reduce, landmarks, model
        bare = classifier().fit(_without_weights(landmarks), y, groups=patients)
        results.note(case, f"{own}: AUROC without weights", f"{_auroc(bare, y):.3f}")
    reduce, _, model = next(iter(fitted.values()))
    _million(results, reduce, model)
    start = time.process_time()
    whole = classifier().fit(clouds, y, groups=patients)
    results.note(case, "all cells: seconds", f"{time.process_time() - start:.0f}")
    results.note(case, "all cells: AUROC", f"{_auroc(whole, y):.3f}")
    summaries = PooledSummaries().fit_transform(clouds)
    for own, (_, landmarks, model) in fitted.items():
        results.add(case, f"{own}: AUROC", _auroc(model, y), _auroc(whole, y) - 0.05, lower=False)
        both = whole.oof_predictions_[:, 1], model.oof_predictions_[:, 1]
        results.note(case, f"{own}: correlation of predictions", f"{np.corrcoef(*both)[0, 1]:.3f}")
        for name, some in (("", landmarks), (" without weights", _without_weights(landmarks))):
            difference = np.abs(PooledSummaries().fit_transform(some) - summaries)
            error = float(np.mean(difference / summaries.std(0)))
            results.note(case, f"{own}: error of summaries{name}", f"{error:.3f}")


def _without_weights(clouds: pf.Clouds) -> list[np.ndarray]:
    return [np.asarray(cloud) for cloud in clouds]


def _auroc(model: Any, y: np.ndarray) -> float:
    return float(roc_auc_score(y, model.oof_predictions_[:, 1]))


def _million(results: Results, reduce: Any, model: Any) -> None:
    case = f"one cloud of {MILLION:,} cells"
    cloud = simulated_cells(PATIENTS, True, MILLION)
    gc.collect()
    reset_peak()
    before = memory("VmRSS") or 0
    start = time.process_time()
    landmarks = reduce.transform([cloud])
    results.add(case, f"{LANDMARKS} landmarks: seconds", time.process_time() - start, 30.0)
    [probability] = model.predict_proba(landmarks)[:, 1]
    results.add(case, "landmarks and prediction: seconds", time.process_time() - start, 40.0)
    if can_reset():
        results.add(case, "peak memory, MB more", (peak() - before) / 1e6, 400.0)
    start = time.process_time()
    more = pf.preprocessing.Landmarks(n=2000).fit_transform([cloud])
    results.add(case, "2000 landmarks: seconds", time.process_time() - start, 60.0)
    [other] = model.predict_proba(more)[:, 1]
    results.note(case, "probability", f"{probability:.3f}, with 2000 landmarks {other:.3f}")
