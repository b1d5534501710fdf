"""The theory as a section of the page."""

from __future__ import annotations

from pointforms.paper.theory import section


def test_both_checks_are_measured_and_drawn(monkeypatch):
    monkeypatch.setattr(section, "QUICK_SEEDS", 2)
    monkeypatch.setattr(section, "QUICK_SIZES", (250, 500))
    steps = []
    made = section.theory_section(steps.append)
    assert sum(steps) == len(section.KAPPAS) + 2 * len(section.MANIFOLDS)
    assert [article.title for article in made.articles] == ["Density check", "Consistency"]
    for article in made.articles:
        (part,) = article.parts
        assert part.pictures[0].alt
        assert part.table.rows
        assert article.origin == "simulated"
