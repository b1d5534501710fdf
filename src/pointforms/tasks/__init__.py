"""Labelled sets of clouds: tasks of the catalogue by name, and users' own files.

The names are listed in `__init__.pyi` and loaded when they are first used: listing the tasks needs
neither NumPy nor scikit-learn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
