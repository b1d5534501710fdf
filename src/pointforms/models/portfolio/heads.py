"""The heads of a portfolio on summaries of clouds, by name."""

from __future__ import annotations

from pointforms.models.portfolio.forest import ForestHead
from pointforms.models.portfolio.linear import LinearHead

Head = LinearHead | ForestHead
HEADS: dict[str, type[Head]] = {"linear": LinearHead, "forest": ForestHead}
