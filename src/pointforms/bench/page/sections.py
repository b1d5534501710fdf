"""What a section of the page consists of: articles with text, figures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pointforms.support.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Picture:
    """One figure.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        Made by a function of :mod:`pointforms.plot`.
    alt : str
        What it shows, for readers who do not see it.
    title : str, default ""
        Text above it.
    caption : str, default ""
        Text below it.
    """

    figure: Figure
    alt: str
    title: str = ""
    caption: str = ""


@dataclass(frozen=True, eq=False)
class Part:
    """A piece of an article. Empty attributes are left out.

    Attributes
    ----------
    title : str, default ""
    text : str, default ""
    pictures : tuple of Picture, default ()
    table : Table, optional
        Folded behind its title, with its notes.
    """

    title: str = ""
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    table: Table | None = None


@dataclass(frozen=True, eq=False)
class Article:
    """One subject of a section, such as a fitted model. Empty attributes are left out.

    Attributes
    ----------
    title : str
    origin : str, default ""
        Where the data come from, such as "simulated".
    notes : tuple of str, default ()
        Sentences below the title.
    parts : tuple of Part, default ()
    settings : tuple of pairs of str, default ()
        Names and values, folded at the end.
    """

    title: str
    origin: str = ""
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """A section of the page beyond the results.

    Attributes
    ----------
    key : str
        Its id, such as "models".
    link : str
        Its name in the bar at the top.
    title : str
    text : str, default ""
    articles : tuple of Article, default ()

    Examples
    --------
    >>> section = Section("notes", "Notes", "Notes on the data", "Measured in May.")
    >>> section.key
    'notes'
    """

    key: str
    link: str
    title: str
    text: str = ""
    articles: tuple[Article, ...] = ()
