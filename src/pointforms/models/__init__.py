"""Every model that can be compared, the point-forms among them: all take lists of clouds.

`names()` lists the models, and `make(name)` returns one, untrained. The public names are listed in
`__init__.pyi` and loaded when they are first used: listing the models imports nothing heavy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
