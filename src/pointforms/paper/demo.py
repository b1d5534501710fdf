"""What `npf demo` computes: a Gram field that can be checked, and forms that are learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pointforms import plot, tasks
from pointforms.estimators import PointFormClassifier, cross_fit
from pointforms.geometry import gram_field
from pointforms.manifolds import relative_error, tangent_angle
from pointforms.manifolds import torus as sample_torus
from pointforms.nn.network import PointFormNetwork
from pointforms.support.extras import need

_POINTS, _NOISE, _SEED = 4000, 0.05, 0
_EPOCHS, _FORMS = 20, 4


def torus(folder: Path) -> tuple[dict[str, str], Path]:
    """Estimate the Gram field of a noisy torus, compare it with the truth, and draw it.

    Parameters
    ----------
    folder : Path
        Where to write `torus.png`.

    Returns
    -------
    facts : dict of str to str
        What was measured, by name.
    picture : Path
    """
    need("matplotlib", "plot")
    rng = np.random.default_rng(_SEED)
    sample = sample_torus(_POINTS, rng).noisy(_NOISE, rng)
    field = gram_field(sample.points)
    sharp = gram_field(
        sample.points,
        neighbors=field.neighbors,
        dimension=field.dimension,
        spectrum="projector",
    )
    area = float(field.measure("volume").sum())
    facts = {
        "points": f"{_POINTS} on the torus with radii 2 and 1, noise {_NOISE}",
        "neighbours (chosen)": f"{field.neighbors}",
        "dimension (estimated)": f"{field.dimension}   (true: {sample.dimension})",
        "tangent error": f"{tangent_angle(field, sample):.2f}° mean largest principal angle",
        "Gram field error": f"{relative_error(field, sample):.3f} raw, "
        f"{relative_error(sharp, sample):.3f} as projector (relative)",
        "density": f"{float(field.density.median()):.4f} median   (true: {1 / sample.volume:.4f})",
        "area Σ 1/(n q)": f"{area:.1f}   (true: {sample.volume:.1f})",
    }
    picture = folder / "torus.png"
    plot.torus_field(field, sample, path=picture)
    return facts, picture


def circles(folder: Path) -> tuple[dict[str, str], Path]:
    """Train on circles against lines over five folds, and draw the forms of the first fold.

    Parameters
    ----------
    folder : Path
        Where to write `circles-vs-lines.png`.

    Returns
    -------
    facts : dict of str to str
        What was measured, by name.
    picture : Path
    """
    need("matplotlib", "plot")
    task = tasks.load("circles-vs-lines")
    estimator = PointFormClassifier(forms=_FORMS, epochs=_EPOCHS)
    fitted = cross_fit(
        estimator, task.clouds, task.labels, task.folds, (0,), task.groups, progress=True
    )
    mean, half = fitted.summary()
    model = fitted.models[0]
    assert isinstance(model, PointFormNetwork)
    parameters = sum(p.numel() for p in model.parameters())
    facts = {
        "task": f"{len(task)} trajectories of {len(task.clouds[0])} points in the plane",
        "model": f"{_FORMS} learned 1-forms, {parameters} parameters",
        "AUROC of the folds": "  ".join(f"{value:.3f}" for value in fitted.auroc[:, 0]),
        "AUROC": f"{mean:.3f} ± {half:.3f}",
    }
    picture = folder / "circles-vs-lines.png"
    plot.flow_forms(
        model,
        task.clouds,
        task.labels,
        task.class_names,
        feature_names=task.feature_names,
        path=picture,
    )
    return facts, picture
