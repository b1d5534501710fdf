"""A portfolio of models on clouds behind one fit: point-forms, and heads on pooled summaries."""

import lazy_loader

from pointforms.support.saved_classes import register_class

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# so that `pointforms.load` finds the classes, which are imported when they are first used
for _name in ("CloudClassifier", "CloudRegressor"):
    register_class(_name, f"{__name__}:{_name}")
