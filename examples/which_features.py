"""Which features matter: a pair is planted among eight, and the learned 2-forms find it again."""

import argparse
from pathlib import Path

import numpy as np
import torch

import pointforms as pf
from pointforms.plot import area_map

torch.set_num_threads(1)  # tensors are small: more threads only wait for each other
NAMES = tuple(f"g{i}" for i in range(8))


def clouds_with_a_pair(count: int = 96, n: int = 64) -> tuple[list[np.ndarray], np.ndarray]:
    """Eight features alike in mean and spread; only the area that g3 and g7 fill tells the classes.

    In one class they are bound to each other, with a sign that differs from cloud to cloud: no
    feature alone, and no mean correlation, knows of it.
    """
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 2
    clouds = []
    for label in labels:
        X, sign = rng.normal(size=(n, 8)), rng.choice([-1, 1])
        if label == 0:
            X[:, 7] = sign * 0.8 * X[:, 3] + 0.6 * X[:, 7]  # as wide as before
        clouds.append(X)
    return clouds, labels


def main(out: Path) -> None:
    clouds, y = clouds_with_a_pair()
    model = pf.PointFormClassifier(degree=2, forms=4, epochs=25, random_state=0).fit(clouds, y)
    # refits on halves of the clouds, read on the other half: p values that chance cannot make
    salience = model.explain(clouds, y, feature_names=NAMES, refits=2, permutations=200)
    print(salience)
    print(f"beyond chance (p ≤ 0.05): {', '.join(salience.found()) or 'nothing'}")
    first = salience.top(1)[0]
    picture = out / "which-features.png"
    area_map(model, clouds, first.split(" ∧ "), features=NAMES, path=picture)
    print(f"Picture of {first}: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the picture")
    main(parser.parse_args().out)
