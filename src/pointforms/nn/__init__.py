"""Layers for networks of your own: learned forms, readouts, batches of Gram fields."""

from pointforms.nn.batches import FormBatch
from pointforms.nn.field_store import FieldStore
from pointforms.nn.network import PointFormNetwork
from pointforms.nn.point_forms import PointForms
from pointforms.nn.pyg import AttachGramFactor, form_batch
from pointforms.nn.readouts import READOUTS

__all__ = [
    "READOUTS",
    "AttachGramFactor",
    "FieldStore",
    "FormBatch",
    "PointFormNetwork",
    "PointForms",
    "form_batch",
]
