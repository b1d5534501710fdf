"""From a cloud to its Gram field: neighbours, density, dimension, kernel, factor.

The names are listed in `__init__.pyi` and loaded when they are first used: the settings, which
need no tensors, are read without torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
