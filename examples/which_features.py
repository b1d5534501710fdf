"""Find out which features matter: a pair is planted among eight, and 2-forms recover it."""

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
    # refits on one half of the clouds, measured on the other: p-values on unseen clouds
    salience = model.explain(clouds, y, feature_names=NAMES, refits=2, permutations=200)
    print(salience)
    names = [form.name for form in salience.significant()]
    print(f"significant (p < 0.05): {', '.join(names) or 'nothing'}")
    first = salience.top(1)[0]
    picture = out / "which-features.png"
    pf.plot.area_map(model, clouds, first.features, feature_names=NAMES, path=picture)
    print(f"Figure of {first.name}: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the figure")
    main(parser.parse_args().out)
