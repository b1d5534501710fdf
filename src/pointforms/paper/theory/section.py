"""The theory on the page: both checks in their quick form, measured when the page is made."""

from __future__ import annotations

from collections.abc import Callable

from pointforms.bench.page.sections import Article, Part, Picture, Section
from pointforms.paper.theory.checks import QUICK_SEEDS, QUICK_SIZES
from pointforms.paper.theory.consistency import MANIFOLDS, consistency
from pointforms.paper.theory.density import KAPPAS, density_check
from pointforms.paper.theory.figures import consistency_figure, density_figure
from pointforms.paper.theory.tables import consistency_table, density_table

STEPS = len(KAPPAS) + len(MANIFOLDS) * QUICK_SEEDS


def theory_section(advance: Callable[[int], None] = lambda steps: None) -> Section:
    """Measure both checks and return them as a section of the page.

    Parameters
    ----------
    advance : callable, optional
        Called with 1 after each of :data:`STEPS` steps.
    """
    density = density_check(range(QUICK_SEEDS), advance=advance)
    rates = consistency(range(QUICK_SEEDS), sizes=QUICK_SIZES, advance=advance)
    check = Part(
        text="∫⟨ω, x²ω⟩ over the unit circle is π. Points of a von Mises density crowd as κ grows; "
        "the volume measure corrects for the density.",
        pictures=(
            Picture(density_figure(density), "Density check: mean error against concentration κ."),
        ),
        table=density_table(density),
    )
    errors = Part(
        text="Errors of Gram fields (local) and of pairings of forms (global) as samples grow, "
        "with fitted slopes beside the slope of the theory's bound.",
        pictures=(
            Picture(
                consistency_figure(rates),
                "Local and global errors against the number of points on three manifolds.",
            ),
        ),
        table=consistency_table(rates),
    )
    return Section(
        "theory",
        "Theory",
        "Theory, measured",
        f"Samples of manifolds whose geometry is known, {QUICK_SEEDS} seeds, in the quick form of "
        "npf theory. Bars are 95 % intervals.",
        (
            Article("Density check", "simulated", parts=(check,)),
            Article("Consistency", "simulated", parts=(errors,)),
        ),
    )
