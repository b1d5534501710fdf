"""A population study from a table of cells: each sample is a cloud, and patients are groups."""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from pyarrow import parquet
from sklearn.model_selection import PredefinedSplit, cross_val_score

import pointforms as pf

torch.set_num_threads(1)  # the tensors are small: more threads only wait for each other
MARKERS = ("CD3", "CD4", "CD8", "Ki67")


def simulate(path: Path, patients: int = 40, cells: int = 64) -> None:
    """Write SIMULATED cells. Stage shifts the mean of CD3; response relates CD4 to Ki67.

    The cells of responders lie along a circle about the origin, those of others along a line away
    from it. The simulation is designed so that means and covariances do not show it.
    """
    rng, clouds, facts = np.random.default_rng(0), [], []
    for p in range(patients):
        responds, late, phase = p % 2, p // 2 % 2, rng.uniform(0, 2 * np.pi)
        for sample in range(2):
            t = rng.uniform(-0.6, 0.6, cells)
            r, angle = 1 + (1 - responds) * t, phase + rng.normal(0, 0.3) + responds * t
            curve = np.c_[0 * t, r * np.cos(angle), 0 * t, r * np.sin(angle)]
            centre = [late + 0.5 * rng.normal(), 0, 0.5 * rng.normal(), 0]
            clouds.append(centre + curve + rng.normal(0, 0.05, (cells, 4)))
            facts.append((f"{p}-{sample}", f"p{p}", ("no", "yes")[responds], ("I", "II")[late]))
    values = [*np.repeat(np.array(facts), cells, axis=0).T, *np.concatenate(clouds).T]
    parquet.write_table(
        pa.table(values, ["sample", "patient", "response", "stage", *MARKERS]), path
    )


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    simulate(table := out / "simulated-cells.parquet")
    for label in ("stage", "response"):
        task = pf.tasks.read(table, "sample", label, group="patient", features=MARKERS)
        print(f"{label} (SIMULATED), {len(task)} samples of {len(set(task.groups))} patients")
        grouped = {"cv": PredefinedSplit(task.folds), "params": {"groups": task.groups}}
        for name, model in (
            ("logistic regression", pf.models.make("logistic-regression", random_state=0)),
            ("point-forms", pf.PointFormClassifier(neighbors=16, epochs=40, random_state=0)),
        ):
            known = model.prepare(task.clouds)  # what does not depend on labels, once for all folds
            auroc = cross_val_score(model, known, task.labels, scoring="roc_auc", **grouped)
            print(f"  {name:20} AUROC {auroc.mean():.3f}  folds {auroc.round(2)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the table")
    main(parser.parse_args().out)
