"""How many parameters a model trains."""

from __future__ import annotations

from typing import Any

from pointforms.estimators import PointFormClassifier
from pointforms.models.neural import NeuralClassifier, network_class
from pointforms.models.registry import make
from pointforms.nn.network import PointFormNetwork


def count_parameters(name: str, features: int, outputs: int) -> int | None:
    """Return the number of trainable parameters of a network.

    Parameters
    ----------
    name : str
        One of :func:`pointforms.models.names`.
    features : int
        Number of features of a point.
    outputs : int
        Number of classes.

    Returns
    -------
    int or None
        None for models that are not trained by gradient descent.

    Examples
    --------
    >>> import pointforms as pf
    >>> pf.models.count_parameters("mlp", features=12, outputs=2)
    26562
    """
    model = make(name)
    if isinstance(model, NeuralClassifier):
        network: Any = network_class(model.network)(features, outputs)
    elif isinstance(model, PointFormClassifier):
        network = PointFormNetwork(features, outputs, model.degrees(), readout=model.readout)
    else:
        return None
    return sum(int(p.numel()) for p in network.parameters())
