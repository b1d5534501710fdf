"""How many inputs the batteries try: a few that never change, or many at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

_COMMON: dict[str, Any] = {
    "deadline": None,  # the judge has its own
    "phases": (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    "suppress_health_check": list(HealthCheck),
}
settings.register_profile("few", max_examples=600, derandomize=True, database=None, **_COMMON)
settings.register_profile("fuzz", max_examples=10_000, print_blob=True, **_COMMON)


def fuzzing() -> bool:
    """Whether this is a long run (`pytest --hypothesis-profile=fuzz`)."""
    return settings.get_current_profile_name() == "fuzz"


def share(part: float) -> Callable[[Any], Any]:
    """Decorate a property that gets this part of all inputs of a run."""
    profile = settings.get_profile("fuzz" if fuzzing() else "few")
    return settings(profile, max_examples=max(1, round(part * profile.max_examples)))
