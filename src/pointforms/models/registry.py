"""Every model by name: the point-forms, and what they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pointforms.estimators import PointFormClassifier
from pointforms.models.classical import logistic_regression, random_forest, rbf_svm
from pointforms.models.hodge import HodgeClassifier
from pointforms.models.neural import NeuralClassifier, network_class
from pointforms.models.random_forms import random_forms
from pointforms.nn.network import PointFormNetwork


@dataclass(frozen=True)
class Model:
    """A classifier of clouds, and how tables call it.

    Attributes
    ----------
    title : as in the paper's tables, where it is there
    family : "point-forms", "classical", "point", "graph", "topological" or "fixed forms"
    make : (random_state=..., options) -> classifier with fit and predict_proba
    """

    title: str
    family: str
    make: Callable[..., Any]


def _neural(network: str, title: str, family: str, **options: Any) -> Model:
    return Model(title, family, partial(NeuralClassifier, network, **options))


def _point_forms(readout: Any, degree: int) -> Model:
    make = partial(PointFormClassifier, readout=readout, degree=degree)
    return Model(f"NPF-{readout.capitalize()} k={degree}", "point-forms", make)


# Options of the baselines were chosen on validation parts inside the training clouds of
# circles-vs-lines and rna-velocity; manifests let validation choose between the best two.
_LARGE: dict[str, Any] = {"learning_rate": 1e-3, "weight_decay": 3.0, "epochs": 40}

MODELS: dict[str, Model] = {
    **{
        f"npf-{readout}-{degree}": _point_forms(readout, degree)
        for degree in (1, 2)
        for readout in ("tri", "gram", "flat", "diag", "pool")
    },
    "logistic-regression": Model("Logistic regression", "classical", logistic_regression),
    "random-forest": Model("Random forest", "classical", random_forest),
    "svm": Model("SVM RBF", "classical", rbf_svm),
    "mlp": _neural("mlp", "MLP", "point", learning_rate=1e-2, epochs=200, patience=50),
    "set-transformer": _neural(
        "set-transformer", "Set Transformer", "point", learning_rate=1e-3, weight_decay=3.0
    ),
    "pointnet": _neural("pointnet", "PointNet", "point", **_LARGE),
    "pointnet++": _neural("pointnet++", "PointNet++", "point", **_LARGE),
    "point-transformer": _neural("point-transformer", "PointTransformer", "point", **_LARGE),
    "gcn": _neural("gcn", "GCN", "graph", epochs=100, patience=30),
    # its sums grow with the neighbours
    "gin": _neural("gin", "GIN", "graph", neighbors=8, weight_decay=1.0, epochs=100, patience=30),
    "graphsage": _neural("graphsage", "GraphSAGE", "graph", epochs=100, patience=30),
    "graph-transformer": _neural(
        "graph-transformer", "GraphTransformer", "graph", learning_rate=2e-3
    ),
    "tdl": _neural("tdl", "TDL", "topological", weight_decay=3.0, epochs=40),
    "hodge": Model("Hodge", "fixed forms", HodgeClassifier),
    "random-forms": Model("Random point-forms", "fixed forms", random_forms),
}


def names() -> list[str]:
    """The models that can be made."""
    return list(MODELS)


def make(name: str, random_state: Any = None, **options: Any) -> Any:
    """An untrained classifier by name: `fit(clouds, y, groups)`, `predict_proba(clouds)`."""
    if name not in MODELS:
        raise ValueError(f"no model {name!r}: there are {', '.join(MODELS)}")
    return MODELS[name].make(random_state=random_state, **options)


def count_parameters(name: str, features: int, outputs: int) -> int | None:
    """Trainable parameters for clouds of so many features; None where nothing is trained so."""
    model = make(name)
    if isinstance(model, NeuralClassifier):
        network: Any = network_class(model.network)(features, outputs)
    elif isinstance(model, PointFormClassifier):
        network = PointFormNetwork(features, outputs, model.degrees(), readout=model.readout)
    else:
        return None
    return sum(int(p.numel()) for p in network.parameters())
