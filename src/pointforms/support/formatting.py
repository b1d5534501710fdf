"""Numbers as text, and text that Markdown, LaTeX and spreadsheets show as it is."""

from __future__ import annotations

import html
import re
from math import isfinite, isnan
from typing import Any

from pointforms.support.statistics import Difference, Estimate, Range


def estimate(value: Estimate) -> str:
    """Show a mean with half its interval.

    >>> estimate(Estimate(0.9, 0.0213))
    '0.900 ± 0.021'
    """
    return f"{value.mean:.3f}" if value.half is None else f"{value.mean:.3f} ± {value.half:.3f}"


def signed_estimate(value: Estimate) -> str:
    """Show the mean of differences with half its interval.

    >>> signed_estimate(Estimate(-0.03, 0.0213)), signed_estimate(Estimate(0.03))
    ('−0.030 ± 0.021', '+0.030')
    """
    text = signed(value.mean)
    return text if value.half is None else f"{text} ± {value.half:.3f}"


def difference(value: Difference) -> str:
    """Show a difference with its interval.

    >>> difference(Difference(-0.03, -0.05, -0.01, 0.002))
    '−0.030 [−0.050, −0.010]'
    """
    text = signed(value.mean)
    return f"{text} [{signed(value.low)}, {signed(value.high)}]" if isfinite(value.low) else text


def tested_difference(value: Difference) -> str:
    """Show a difference with its interval and p-value, as in a sentence.

    >>> tested_difference(Difference(-0.03, -0.05, -0.01, 0.002))
    '−0.030 [−0.050, −0.010], p = 0.002'
    """
    return difference(value) + (f", {p_value(value.p)}" if isfinite(value.p) else "")


def significance(value: Difference) -> str:
    """Show the p-value of a difference, and an arrow where it is significant.

    >>> significance(Difference(-0.03, p=0.00002)), significance(Difference(0.03, p=0.2))
    ('< 0.001 ↓', '0.200')
    """
    if not isfinite(value.p):
        return ""
    text = p_value(value.p).removeprefix("p = ").removeprefix("p ")
    return text + (" ↑" if value.mean > 0 else " ↓") if value.significant else text


def signed(value: float) -> str:
    """Show a number with its sign and three digits; nothing for one that is not known.

    >>> signed(-0.0304), signed(float("nan"))
    ('−0.030', '')
    """
    return f"{value:+.3f}".replace("-", "−") if not isnan(value) else ""


def p_value(value: float) -> str:
    """Show a p-value.

    >>> p_value(0.00012)
    'p < 0.001'
    """
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def seconds(value: float) -> str:
    """Show a duration in seconds with two or three digits.

    >>> seconds(0.1234), seconds(83.4)
    ('0.12', '83')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def duration(value: float) -> str:
    """Show a duration with its unit, in two digits or so.

    >>> duration(59), duration(90), duration(5400), duration(1e6)
    ('59 s', '1.5 min', '1.5 h', '11.6 d')
    """
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} s"


def thousands(count: float) -> str:
    """Show a whole number with spaces between thousands.

    >>> thousands(1465666)
    '1 465 666'
    """
    return f"{count:,.0f}".replace(",", " ")


def count_range(value: Range) -> str:
    """Show the smallest and the largest of several counts.

    >>> count_range(Range(950, 1200)), count_range(Range(950, 950))
    ('950 – 1 200', '950')
    """
    low, high = thousands(value.least), thousands(value.most)
    return low if low == high else f"{low} – {high}"


def binary_size(count: float) -> str:
    """Show a number of bytes in binary units; in GiB from a tenth of one.

    >>> binary_size(768_320_000), binary_size(4.25 * 2**20), binary_size(512)
    ('0.72 GiB', '4.25 MiB', '0.50 KiB')
    """
    for unit, size, least in (("TiB", 2**40, 1.0), ("GiB", 2**30, 0.1), ("MiB", 2**20, 0.1)):
        if count >= least * size:
            return f"{count / size:.2f} {unit}"
    return f"{count / 2**10:.2f} KiB"


def printable(text: str) -> str:
    """Return text without newlines and other characters that move a cursor or hide themselves."""
    return "".join(c if c.isprintable() else " " for c in text)


_SPACES = "\u00a0\u2009\u202f"  # between thousands and before units


def visible(text: str, lines: bool = False) -> str:
    r"""Return text for a terminal or a log, with escapes for characters that would control it.

    File names, columns and errors come from anywhere: they could move the cursor, colour or clear
    the screen, or reverse the order of letters.

    Parameters
    ----------
    text : str
        Any text.
    lines : bool, default False
        Whether the text may have several lines, and tabs.

    Examples
    --------
    >>> print(visible("\x1b[31mred\r\u202e.csv"))
    \x1b[31mred\r\u202e.csv
    >>> visible("two\nlines", lines=True)
    'two\nlines'
    """
    kept = "\n\t" if lines else ""
    return "".join(
        c if c.isprintable() or c in kept or c in _SPACES else c.encode("unicode_escape").decode()
        for c in text
    )


def warning_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: Any = None
) -> str:
    r"""Show a warning on one line, for `warnings.formatwarning`.

    Those who use commands need not see which line of our code a warning comes from.

    >>> warning_line("few clouds in \x1b.csv", UserWarning, "fitting.py", 7)
    'warning: few clouds in \\x1b.csv\n'
    """
    return visible(f"warning: {message}") + "\n"


# --- escaping -------------------------------------------------------------------------------


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]|~$])", r"\\\1", html.escape(printable(text), quote=False))


_LATEX = {
    "\\": r"\textbackslash{}",
    **{c: rf"\{c}" for c in "{}$&#%_"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "''",
    # at the start of a row a bracket would be an option of the \\ before it
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "≥": r"$\geq$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}


def escape_latex(text: str) -> str:
    """Return text that LaTeX shows as it is."""
    return "".join(_LATEX.get(c, c) for c in printable(text))


def escape_csv(value: Any) -> str:
    """Return a value as a field of CSV that no spreadsheet runs; missing values are empty."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    text = printable(str(value))
    # spreadsheets run text that starts like this as a formula
    return f"'{text}" if isinstance(value, str) and text[:1] in ("=", "+", "-", "@") else text
