"""Find out which features a model relies on: a pair is planted among eight."""

import argparse
from pathlib import Path

import numpy as np
import torch

import pointforms as pf

torch.set_num_threads(1)  # the tensors are small: more threads only wait for each other
NAMES = tuple(f"g{i}" for i in range(8))


def clouds_with_a_pair(count: int = 96, n: int = 64) -> tuple[list[np.ndarray], np.ndarray]:
    """Return clouds of eight features and labels that depend only on g3 and g7 together.

    In one class the two are correlated, with a sign that differs from cloud to cloud. No single
    feature, and no correlation averaged over clouds, reveals the class.
    """
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 2
    clouds = []
    for label in labels:
        X, sign = rng.normal(size=(n, 8)), rng.choice([-1, 1])
        if label == 0:
            X[:, 7] = sign * 0.8 * X[:, 3] + 0.6 * X[:, 7]  # same variance as before
        clouds.append(X)
    return clouds, labels


def main(out: Path) -> None:
    clouds, y = clouds_with_a_pair()
    model = pf.PointFormClassifier(degree=2, forms=4, epochs=25, random_state=0).fit(clouds, y)
    # perturbed clouds are predicted by refits that have not seen them
    table = model.explain(clouds, y, feature_names=NAMES, repeats=2)
    print(table)
    names = [row.name for row in table.found()]
    print(f"found (p < 0.05): {', '.join(names) or 'nothing'}")
    picture = out / "which-features.png"
    pf.plot.importance(table, path=picture)
    print(f"Figure: {picture}")
    # a description of the learned forms: their exact split over basis forms
    split = pf.explain.basis_split(model, clouds, y, feature_names=NAMES, refits=0)
    print(f"most different basis form: {split.top(1)[0].name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the figure")
    main(parser.parse_args().out)
