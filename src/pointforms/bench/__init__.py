"""Experiments: manifests of sweeps, engines that run them, a store of fits, and their tables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
