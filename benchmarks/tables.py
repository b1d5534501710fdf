"""Tables of measured figures with their bounds."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table


class Results:
    """A table with one row per figure, printed when it is complete."""

    def __init__(self, title: str) -> None:
        self.table = Table("case", "figure", title=title, title_justify="left")
        for heading in ("measured", "reach", ""):
            self.table.add_column(heading, justify="right")
        self.missed: list[str] = []

    def add(self, case: str, figure: str, value: float, reach: float, lower: bool = True) -> None:
        """Add a figure that should be at most (lower) or at least `reach`."""
        good = value <= reach if lower else value >= reach
        if not good:
            self.missed.append(f"{case}, {figure}: {value:.4g}")
        sign = "≤" if lower else "≥"
        mark = "[green]ok[/green]" if good else "[red]missed[/red]"
        self.table.add_row(case, figure, f"{value:.4g}", f"{sign} {reach:.4g}", mark)

    def note(self, case: str, figure: str, value: str) -> None:
        """Add a figure without a bound."""
        self.table.add_row(case, figure, value, "", "")

    def print(self) -> None:
        # wide enough for one line per figure where there is no terminal
        console = Console()
        Console(width=max(console.width, 120)).print(self.table)
