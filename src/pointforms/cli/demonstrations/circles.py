"""Circles against lines: cross-validated training, and a picture of the forms it found."""

from __future__ import annotations

from pathlib import Path

from pointforms import tasks
from pointforms.estimators import PointFormClassifier, cross_fit
from pointforms.nn.network import PointFormNetwork
from pointforms.paper.figures.learned import circles_figure
from pointforms.support.extras import need

_EPOCHS, _FORMS = 20, 4


def run(folder: Path) -> tuple[dict[str, str], Path]:
    """Train over five folds, draw the forms of the first, and return what was found."""
    need("matplotlib", "plot")
    task = tasks.load("circles-vs-lines")
    estimator = PointFormClassifier(forms=_FORMS, epochs=_EPOCHS)
    found = cross_fit(
        estimator, task.clouds, task.labels, task.folds, (0,), task.groups, progress=True
    )
    mean, spread = found.summary()
    model = found.models[0]
    assert isinstance(model, PointFormNetwork)
    parameters = sum(p.numel() for p in model.parameters())
    pairs = {
        "task": f"{len(task)} trajectories of {len(task.clouds[0])} points in the plane",
        "model": f"{_FORMS} learned 1-forms, {parameters} parameters",
        "AUROC of the folds": "  ".join(f"{value:.3f}" for value in found.auroc[:, 0]),
        "AUROC": f"{mean:.3f} ± {spread:.3f}",
    }
    picture = folder / "circles-vs-lines.png"
    circles_figure(model, task, path=picture)
    return pairs, picture
