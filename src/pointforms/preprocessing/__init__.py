"""Transformers from clouds to clouds, for the front of a pipeline.

The public names are listed in `__init__.pyi` and loaded when they are first used.
"""

import lazy_loader

from pointforms.support.saved_classes import register_class

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# so that `pointforms.load` finds the classes, which are imported when they are first used
for _name in __all__:
    if _name[0].isupper():
        register_class(_name, f"{__name__}:{_name}")
