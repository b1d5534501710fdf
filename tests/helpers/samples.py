"""Fits to make pages of, without training anything."""

from __future__ import annotations

import numpy as np

from pointforms.bench.page.views import (
    ArrowField,
    ExampleCloud,
    ModelView,
    Places,
    SalienceRow,
    SignedArea,
)
from pointforms.bench.records import Record, Row

HOSTILE = "<script>alert(1)</script>"
HOSTILE_MODEL = '"><img src=x onerror=alert(2)>'


def fits(task, model, scores, options=None, error=None, seconds=2.0, **more):
    """Two seeds of as many folds as there are scores, a little apart."""
    row = Row(task, model, options or {}, **more)
    found = []
    for fold, score in enumerate(scores):
        for seed in range(2):
            value = score + 0.002 * seed
            found.append(
                Record(
                    row,
                    fold,
                    seed,
                    value,
                    value - 0.1,
                    1 - value,
                    1 - value,
                    train_size=240,
                    test_size=60,
                    parameters=1000 * (1 + len(model)),
                    seconds=seconds,
                    memory=10**8,
                    epochs=10,
                    version="0.1.0",
                )
            )
    if error:
        found.append(Record(row, 0, 2, error=error, version="0.1.0"))
    return found


def comparison():
    """Two tasks: on one NPF (selected) leads, on the other a baseline does."""
    jitter = np.array([0.0, 0.004, -0.003, 0.002, -0.001])
    return [
        *fits("circles-vs-lines", "npf-tri-1", 0.99 + jitter),
        *fits("circles-vs-lines", "mlp", 0.73 - 3 * jitter),
        *fits("circles-vs-lines", "set-transformer", 0.80 + 2 * jitter, {"learning_rate": 0.01}),
        *fits("rna-velocity", "npf-tri-1", 0.90 + jitter),
        *fits("rna-velocity", "npf-tri-1", 0.88 + jitter, {"weight_decay": 0.3}),
        *fits("rna-velocity", "pointnet++", 0.96 - jitter, seconds=90.0),
        *fits("rna-velocity", "mlp", 0.72 + jitter, error="Traceback\n  x\nOSError: no <disk>\n"),
    ]


def hostile():
    """Names that are markup, of a task, of a model and of an option's value."""
    jitter = np.array([0.0, 0.004, -0.003])
    return [
        *fits(HOSTILE, "npf-tri-1", 0.9 + jitter),
        *fits(HOSTILE, HOSTILE_MODEL, 0.8 - jitter, {"x": "</script><script>alert(3)</script>"}),
        *fits(HOSTILE, "mlp", 0.7 + jitter, error="OSError: </code><img src=x onerror=alert(4)>"),
    ]


def many(count=10_000):
    """So many fits: eight tasks, a few dozen models and settings each."""
    rng = np.random.default_rng(0)
    models = ("npf-tri-1", "npf-flat-1", "npf-diag-1", "npf-pool-1", "mlp", "gin", "gcn", "tdl")
    tasks = (
        "circles-vs-lines",
        "concentric-circles",
        "parallel-lines",
        "colocated",
        "density-check",
        "density-shift",
        "singlecell",
        "rna-velocity",
    )
    found = []
    setting = 0
    while len(found) < count:
        for task in tasks:
            for model in models:
                options = {"weight_decay": 0.001 * (1 + setting)}
                row = Row(task, model, options, settings=f"{setting:08x}")
                centre = rng.uniform(0.6, 0.97)
                for fold in range(5):
                    for seed in range(5):
                        value = min(1.0, centre + rng.normal(0, 0.02))
                        found.append(
                            Record(
                                row,
                                fold,
                                seed,
                                value,
                                value,
                                1 - value,
                                1 - value,
                                240,
                                60,
                                int(rng.integers(10**3, 10**6)),
                                float(rng.lognormal(2, 1)),
                                10**8,
                                60,
                                version="0.1.0",
                            )
                        )
        setting += 1
    return found[:count]


def view(task="circles-vs-lines", model="NPF-Tri k=1"):
    """A model with every part that the page can show."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    grid = np.linspace(-1, 1, 5)
    values = np.outer(grid, grid)
    values[0, 0] = np.nan
    return ModelView(
        task=task,
        model=model,
        origin="simulated",
        settings=(("fold", "0"), ("degree", "1")),
        notes=("Fitted again.",),
        classes=("circles", "lines"),
        axes=("x", "y"),
        extent=(-3.0, 3.0, -3.0, 3.0),
        data=points,
        fields=(ArrowField("Form 1", points, 0.1 * points),),
        areas=(SignedArea("Form 2", grid, grid, values, 1.0),),
        places=Places(
            points, np.arange(40) % 2, tuple(f"cloud {i}" for i in range(40)), ("a", "b")
        ),
        salience=(
            SalienceRow("x", 1, 0.3, 0.6, 0.01, 1.2, 0.9),
            SalienceRow("<y>", 1, 0.7, 0.1, 0.4, -0.1, 0.0),
        ),
        salience_chance=0.2,
        salience_notes=("Of 99 permutations.",),
        examples=(ExampleCloud("circles: cloud 3", points, rng.normal(size=40)),),
    )
