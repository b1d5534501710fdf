"""Fits to make pages of, without training anything."""

from __future__ import annotations

import numpy as np
import torch

from pointforms import plot
from pointforms.bench.page import Article, Part, Picture, Section
from pointforms.bench.records import Record, Row
from pointforms.explain import BasisSplit
from pointforms.nn.network import PointFormNetwork

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


def models_section(task="circles-vs-lines", model="NPF-Tri k=1"):
    """A section with every part that an article can have, and a hostile feature name."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    clouds, labels = [points[:20], points[20:]], ["circles", task]
    torch.manual_seed(0)
    network = PointFormNetwork(2, 2, (1, 2), forms=2, hidden=(4,)).eval()
    names = ("x", "<y>")
    parts = (
        Part(
            "Learned 1-forms",
            "As arrows.",
            (Picture(plot.form_field(network, clouds, labels, feature_names=names), "Arrows."),),
        ),
        Part(
            "Learned 2-forms",
            pictures=(Picture(plot.area_map(network, clouds, (0, 1)), f"Areas of {model}."),),
        ),
        Part(
            "Clouds by their comparison matrices",
            pictures=(
                Picture(
                    plot.comparison_pca(
                        rng.normal(size=(40, 2, 2)),
                        np.arange(40) % 2,
                        ["circles", "lines"],
                        tooltips=[f"cloud {i}" for i in range(40)],
                    ),
                    "Clouds.",
                    caption="One mark per cloud.",
                ),
            ),
        ),
        Part(
            "Split over basis forms",
            pictures=(Picture(plot.basis_split(split_table()), "Split."),),
            table=split_table().table(),
        ),
        Part(
            "What drove single predictions",
            pictures=(
                Picture(
                    plot.cloud_prediction(points, rng.normal(size=40), output=f"logit of {task}"),
                    "A cloud.",
                    "circles: cloud 3",
                ),
            ),
        ),
    )
    settings = (("fold", "0"), ("degree", "1"))
    article = Article(f"{model} on {task}", "simulated", ("Fitted again.",), parts, settings)
    return Section("models", "Models", "What the models learned", articles=(article,))


def split_table():
    """Two features, of which one differs between the classes."""
    return BasisSplit(
        names=("x", "<y>"),
        feature_names=("x", "<y>"),
        indices=((0,), (1,)),
        degree=np.array([1, 1]),
        share=np.array([0.3, 0.7]),
        difference=np.array([0.6, 0.1]),
        decision=np.array([1.2, -0.1]),
        p=np.array([0.01, 0.4]),
        rank=np.array([1.0, 2.0]),
        agreement=np.array([0.9, 0.0]),
        columns=(),
        difference_by=np.zeros((0, 2)),
        decision_by=np.zeros((0, 2)),
        chance=0.2,
        correlation=0.5,
        score=0.9,
        clouds=40,
        refits=2,
        permutations=99,
    )
