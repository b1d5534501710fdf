"""Every model that can be compared, the point-forms among them: all take lists of clouds.

`names()` lists the models, and `make(name)` returns one, untrained. The public names are listed in
`__init__.pyi` and loaded when they are first used: listing the models imports nothing heavy.
"""

import lazy_loader

from pointforms.support.saved_classes import register_class

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# so that `pointforms.load` finds the classes, which are imported when they are first used
register_class("FeatureClassifier", f"{__name__}.classical:FeatureClassifier")
register_class("HodgeClassifier", f"{__name__}.hodge:HodgeClassifier")
register_class("NeuralClassifier", f"{__name__}.neural:NeuralClassifier")
