"""Classify trajectories that turn and trajectories that leave, and draw the learned 1-forms."""

import argparse
from pathlib import Path

import torch
from sklearn.model_selection import GroupKFold, cross_val_score

import pointforms as pf

torch.set_num_threads(1)  # the tensors are small: more threads only wait for each other


def rotation(p: torch.Tensor) -> torch.Tensor:
    """Return the coefficients of -y dx + x dy, which is large along circles."""
    return torch.stack([-p[:, 1], p[:, 0]], 1)


def dilation(p: torch.Tensor) -> torch.Tensor:
    """Return the coefficients of x dx + y dy, which is large along lines from the origin."""
    return p


def main(out: Path) -> None:
    # both classes start at the same places, so positions say little about the class
    task = pf.tasks.load("circles-vs-lines", clouds=120)
    print(f"{task!r}, {len(set(task.groups.tolist()))} groups")

    model = pf.PointFormClassifier(forms=8, epochs=30, random_state=0)
    scores = cross_val_score(
        model, task.clouds, task.labels, groups=task.groups, cv=GroupKFold(3), scoring="roc_auc",
    )  # fmt: skip
    print(f"AUROC over 3 grouped folds: {scores.mean():.3f} (from {scores.min():.3f})")

    model.fit(task.clouds, task.labels, task.groups)
    fields = model.prepare(task.clouds)  # the geometry that the model was fitted with
    for name, form in (("-y dx + x dy", rotation), ("x dx + y dy", dilation)):
        R = pf.explain.span_correlation(model, form, fields)[0]
        print(f"{name:13} correlation with the span of the learned forms: {R:.3f}")

    picture = out / "circles-vs-lines-forms.png"
    pf.plot.form_field(
        model, task.clouds, task.labels, forms=range(4), class_names=task.class_names, path=picture
    )
    print(f"Figure: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the figure")
    main(parser.parse_args().out)
