"""Neural point-forms: learned geometric features of point clouds.

The public names are listed in `__init__.pyi` and loaded when they are first used, so that
`import pointforms` costs next to nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

# Estimators and tasks join the registries of lower rooms; nothing heavy is imported.
import pointforms.models.portfolio  # noqa: E402
import pointforms.paper.organoids.catalogue  # noqa: E402
import pointforms.preprocessing  # noqa: E402, F401
