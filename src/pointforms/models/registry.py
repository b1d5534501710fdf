"""Every model by name: the point-forms, and the models they are compared with.

An entry names the callable that makes a model as "module:callable", so that this module imports
nothing heavy. To add a model, write a module with a classifier and add an entry to `MODELS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pkgutil import resolve_name
from typing import Any

from pointforms.support.suggestions import suggest

#: Options of Gram fields in every model that reproduces the paper, and in its figures. They are
#: stated, so that these, and stored fits, keep their meaning whatever the defaults become.
COMPARED_GEOMETRY: dict[str, Any] = {"neighbors": 32, "dimension": "local-pca"}
#: How networks that reproduce the paper are trained: in the units of the data, with this decay.
_AS_PUBLISHED: dict[str, Any] = {"scale": None, "weight_decay": 1e-3}
#: Neighbours in the graphs of those networks.
_PUBLISHED_NEIGHBORS = 32


@dataclass(frozen=True)
class Model:
    """A classifier of clouds in the registry.

    Parameters
    ----------
    title : str
        Its name in tables; the paper's, where the paper has the model.
    family : str
        "point-forms", "portfolio", "classical", "point", "graph", "topological" or "fixed forms".
    maker : str
        The class or function that makes it, as "module:callable".
    options : mapping, optional
        Options that differ from the defaults of `maker`, or that must not follow them.
    named : tuple of str, default ()
        Options that are part of the model's name, and therefore cannot be set.

    Examples
    --------
    >>> import pointforms as pf
    >>> model = pf.models.MODELS["mlp"]
    >>> model.title, model.family, model.options["epochs"]
    ('MLP', 'point', 200)
    """

    title: str
    family: str
    maker: str
    options: Mapping[str, Any] = field(default_factory=dict)
    named: tuple[str, ...] = ()

    @cached_property
    def make(self) -> Callable[..., Any]:
        """The maker with its options: call it with more options for an untrained classifier."""
        return partial(resolve_name(self.maker), **self.options)


def _point_forms(readout: str, degree: int) -> Model:
    return Model(
        f"NPF-{readout.capitalize()} k={degree}",
        "point-forms",
        "pointforms.estimators:PointFormClassifier",
        {"readout": readout, "degree": degree, **COMPARED_GEOMETRY, **_AS_PUBLISHED},
        named=("readout", "degree"),
    )


def _classical(title: str, head: str) -> Model:
    maker = "pointforms.models.classical:classifier_of_summaries"
    return Model(title, "classical", maker, {"head": head}, named=("head",))


def _neural(network: str, title: str, family: str, **options: Any) -> Model:
    return Model(
        title,
        family,
        "pointforms.models.neural:NeuralClassifier",
        {"network": network, "neighbors": _PUBLISHED_NEIGHBORS, **_AS_PUBLISHED, **options},
        named=("network",),
    )


# Options of the baselines were chosen on validation parts inside the training clouds of
# circles-vs-lines and rna-velocity; manifests let validation choose between the best two.
_LARGE: dict[str, Any] = {"learning_rate": 1e-3, "weight_decay": 3.0, "epochs": 40}

#: The models by name.
MODELS: dict[str, Model] = {
    **{
        f"npf-{readout}-{degree}": _point_forms(readout, degree)
        for degree in (1, 2)
        for readout in ("tri", "gram", "flat", "diag", "pool")
    },
    "npf-members": Model(
        "NPF, 5 members",
        "point-forms",
        "pointforms.estimators:PointFormClassifier",
        {"members": 5},
        named=("members",),
    ),
    "cloud-classifier": Model(
        "Cloud classifier", "portfolio", "pointforms.models.portfolio:CloudClassifier"
    ),
    "logistic-regression": _classical("Logistic regression", "logistic"),
    "random-forest": _classical("Random forest", "forest"),
    "svm": _classical("SVM RBF", "svm"),
    "composition": Model(
        "Composition", "classical", "pointforms.models.composition:composition_classifier"
    ),
    "distances": Model(
        "Distances, SVM", "classical", "pointforms.models.distances:distance_classifier"
    ),
    "mlp": _neural("mlp", "MLP", "point", learning_rate=1e-2, epochs=200, patience=50),
    "set-transformer": _neural(
        "set-transformer", "Set Transformer", "point", learning_rate=1e-3, weight_decay=3.0
    ),
    "attention-mil": Model(
        "Attention MIL",
        "point",
        "pointforms.models.neural:NeuralClassifier",
        {"network": "attention-mil", "neighbors": 32, "epochs": 100, "patience": 30},
        named=("network",),
    ),
    "pointnet": _neural("pointnet", "PointNet", "point", **_LARGE),
    "pointnet++": _neural("pointnet++", "PointNet++", "point", **_LARGE),
    "point-transformer": _neural("point-transformer", "PointTransformer", "point", **_LARGE),
    "gcn": _neural("gcn", "GCN", "graph", epochs=100, patience=30),
    # its sums grow with the neighbours
    "gin": _neural("gin", "GIN", "graph", neighbors=8, weight_decay=1.0, epochs=100, patience=30),
    # as in the paper on GIN, where "gin" has the size of the paper on point-forms
    "deep-gin": _neural(
        "deep-gin", "Deep GIN", "graph", neighbors=8, frame="cloud", epochs=100, patience=30
    ),
    "graphsage": _neural("graphsage", "GraphSAGE", "graph", epochs=100, patience=30),
    "graph-transformer": _neural(
        "graph-transformer", "GraphTransformer", "graph", learning_rate=2e-3
    ),
    "tdl": _neural("tdl", "TDL", "topological", weight_decay=3.0, epochs=40),
    "hodge": Model(
        "Hodge",
        "fixed forms",
        "pointforms.models.hodge:HodgeClassifier",
        {**COMPARED_GEOMETRY, "scale": None},
    ),
    "random-forms": Model(
        "Random point-forms",
        "fixed forms",
        "pointforms.models.random_forms:random_forms",
        COMPARED_GEOMETRY,
    ),
}


def names() -> list[str]:
    """Return the names of the models that :func:`make` can make.

    Examples
    --------
    >>> import pointforms as pf
    >>> "random-forest" in pf.models.names()
    True
    """
    return list(MODELS)


def make(name: str, random_state: Any = None, **options: Any) -> Any:
    """Return an untrained classifier with `fit(clouds, y, groups)` and `predict_proba(clouds)`.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    random_state : int, RandomState or None, default None
        Makes the fit repeat.
    **options
        Options of the model's class, such as `epochs`. An unknown one raises an error.

    Examples
    --------
    >>> import pointforms as pf
    >>> pf.models.make("npf-diag-2", random_state=0, epochs=5).degree
    2
    """
    if name not in MODELS:
        raise ValueError(f"no model {name!r}: {suggest(name, MODELS)}")
    return MODELS[name].make(random_state=random_state, **options)
