"""Tell trajectories that turn from trajectories that leave, and draw the 1-forms that do it."""

import argparse
from pathlib import Path

import torch
from sklearn.model_selection import GroupKFold, cross_val_score

import pointforms as pf
from pointforms.explain import span_correlation
from pointforms.plot import form_field

torch.set_num_threads(1)  # tensors are small: more threads only wait for each other


def rotation(p: torch.Tensor) -> torch.Tensor:
    """-y dx + x dy, which grows along circles."""
    return torch.stack([-p[:, 1], p[:, 0]], 1)


def dilation(p: torch.Tensor) -> torch.Tensor:
    """x dx + y dy, which grows along lines from the origin."""
    return p


def main(out: Path) -> None:
    # both classes start at the same places, so where the points are tells little
    task = pf.tasks.load("circles-vs-lines", clouds=120)
    print(f"{task!r}, {len(set(task.groups.tolist()))} groups")

    model = pf.PointFormClassifier(forms=8, epochs=15, random_state=0)
    fields = model.prepare(task.clouds)  # once for all fits: geometry knows no labels
    scores = cross_val_score(
        model, fields, task.labels, groups=task.groups, cv=GroupKFold(3), scoring="roc_auc",
    )  # fmt: skip
    print(f"AUROC over 3 grouped folds: {scores.mean():.3f} (from {scores.min():.3f})")

    model.fit(fields, task.labels, task.groups)
    for name, form in (("-y dx + x dy", rotation), ("x dx + y dy", dilation)):
        R = span_correlation(model, form, fields)[0]
        print(f"{name:13} lies in the span of the learned forms to {R:.3f}")

    picture = out / "circles-vs-lines-forms.png"
    form_field(
        model, task.clouds, task.labels, forms=range(4), class_names=task.class_names, path=picture
    )
    print(f"Picture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the picture")
    main(parser.parse_args().out)
