"""Which features the coefficients of forms read, as places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pointforms.nn.point_forms import Sees
from pointforms.support.options import shown
from pointforms.support.suggestions import suggest


def seen_places(sees: Any, names: Sequence[str] | None, width: int, components: bool) -> Sees:
    """Return the option `sees` with places instead of names.

    Parameters
    ----------
    sees : {"all", "own"} or sequence of str or int
        The option.
    names : sequence of str or None
        The names of the features, if they have any.
    width : int
        Number of features, or of components.
    components : bool
        Whether clouds are projected to components, which have no names.

    Examples
    --------
    >>> seen_places(["CD8", 0], ["CD4", "CD8"], 2, components=False)
    [1, 0]
    """
    if isinstance(sees, str):
        return sees  # type: ignore[return-value]
    places = []
    for item in sees:
        if not isinstance(item, str):
            place = int(item)
        elif components:
            raise ValueError(
                f"sees={shown(sees)} with components: expected places of components, which have "
                "no names"
            )
        elif names is None:
            raise ValueError(
                f"sees={shown(sees)}: the features have no names; expected their places, or clouds "
                "with feature_names"
            )
        elif item not in names:
            raise ValueError(f"sees has {item!r}, which is no feature: {suggest(item, names)}")
        else:
            place = list(names).index(item)
        if place >= width:
            raise ValueError(f"sees has {place}: expected places below {width}")
        if place in places:
            raise ValueError(f"sees={shown(sees)} has feature {place} twice")
        places.append(place)
    return places
