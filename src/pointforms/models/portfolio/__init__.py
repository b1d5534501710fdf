"""A portfolio of models on clouds behind one fit: point-forms, and heads on pooled summaries."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
