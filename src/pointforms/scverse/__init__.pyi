# The one list of public names: read by type checkers, and by lazy_loader at run time.

from . import pl as pl, pp as pp, tl as tl
