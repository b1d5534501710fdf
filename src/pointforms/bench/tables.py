"""Tables of results: every model of a task beside NPF (selected)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from pointforms.bench.costs import CostTable, costs
from pointforms.bench.lines import LEVEL, OURS, Line, is_simulated, make_lines, size_title
from pointforms.bench.records import Record, Row, Size
from pointforms.bench.sheets import (
    Cell,
    Sheet,
    binary_size,
    csv_text,
    latex,
    make_sheet,
    markdown,
    rich_table,
    thousands,
)
from pointforms.bench.statistics import Over, interval
from pointforms.paper.numbers import paper_value

__all__ = [
    "OURS",
    "CostTable",
    "Line",
    "ResultTable",
    "costs",
    "csv_text",
    "every_row",
    "latex",
    "markdown",
    "rich_table",
    "table",
    "tables",
]


@dataclass(frozen=True)
class ResultTable:
    """The models of one task; NPF (selected) first, if there is one.

    Attributes
    ----------
    size : task, clouds, points and seed of the clouds, as rows have them
    lines : one a model
    over : what one difference of a comparison is, "fits" or "folds"
    """

    size: Size
    lines: tuple[Line, ...]
    over: Over = "folds"

    @property
    def title(self) -> str:
        return size_title(self.size)

    @property
    def reference(self) -> Line | None:
        return self.lines[0] if self.lines and self.lines[0].title == OURS else None

    @property
    def baselines(self) -> list[Line]:
        return [line for line in self.lines if not line.ours]

    def paper(self, line: Line) -> tuple[float, float] | None:
        """The paper's AUROC, where the task has the paper's size, and cells are real."""
        size = self.size
        whole = size.clouds is None and size.points is None and not is_simulated(size)
        return paper_value(size.task, line.title) if whole else None

    def sheet(self) -> Sheet:
        return _result_sheet(self)


def tables(
    records: Iterable[Record], rows: Iterable[Row] = (), every: bool = False, over: Over = "folds"
) -> list[ResultTable]:
    """One table for each task and size among the records, by name.

    Parameters
    ----------
    records : in any order
    rows : of the manifest, so that models without a fit yet are listed too
    every : show every row; else one line a model, selected on validation data if it has several
    over : as in :func:`pointforms.bench.statistics.paired`
    """
    by_size: dict[Size, tuple[list[Record], set[Row]]] = {}
    for record in records:
        found, wanted = by_size.setdefault(record.row.size, ([], set()))
        found.append(record)
        wanted.add(record.row)
    for row in rows:
        by_size.setdefault(row.size, ([], set()))[1].add(row)
    return [
        ResultTable(size, make_lines(*by_size[size], every, over), over)
        for size in sorted(by_size, key=repr)
    ]


def table(
    records: Iterable[Record], rows: Iterable[Row] = (), every: bool = False, over: Over = "folds"
) -> ResultTable:
    """The table of one task; options as in :func:`tables`."""
    found = tables(records, rows, every, over)
    if len(found) != 1:
        names = ", ".join(one.title for one in found) or "none"
        raise ValueError(f"expected records of one task and size, got those of: {names}")
    return found[0]


def every_row(records: Iterable[Record], rows: Iterable[Row] = ()) -> Sheet | None:
    """Each row of models that have several, one line each; None where nothing was selected."""
    found = [
        (result, line)
        for result in tables(records, rows, every=True)
        for line in result.lines
        if line is not result.reference and sum(one.title == line.title for one in result.lines) > 1
    ]
    if not found:
        return None
    columns: dict[str, Sequence[str]] = {
        "task": [result.title for result, _ in found],
        "model": [line.name for _, line in found],
        "AUROC": [_spread(*line.summary("auroc")) for _, line in found],
        "log loss": [_spread(*line.summary("log_loss")) for _, line in found],
        f"difference to {OURS}": [_difference(line) for _, line in found],
        "folds × seeds": [_coverage(line) for _, line in found],
    }
    note = (
        "Models that were selected above from several rows, row by row; nothing here is selected."
    )
    return make_sheet("Row by row", columns, [note], [_data(*one) for one in found], 2)


def _result_sheet(result: ResultTable) -> Sheet:
    lines = result.lines
    means = [line.summary("auroc")[0] for line in lines]
    best = max((round(mean, 3) for mean in means if isfinite(mean)), default=nan)
    columns: dict[str, Sequence[str]] = {
        "model": [line.name for line in lines],
        "AUROC": [
            Cell(_spread(*line.summary("auroc")), round(mean, 3) == best)
            for line, mean in zip(lines, means, strict=True)
        ],
        "paper": [_spread(*paper) if (paper := result.paper(line)) else "" for line in lines],
        f"difference to {OURS}": [_difference(line) for line in lines],
        "accuracy": [_spread(*line.summary("accuracy")) for line in lines],
        "log loss": [_spread(*line.summary("log_loss")) for line in lines],
        "parameters": [_range(line.known("parameters")) for line in lines],
        "s / fit": [_seconds(line.known("seconds")) for line in lines],
        "s / epoch": [_seconds(_epoch_seconds(line)) for line in lines],
        "peak memory": [
            binary_size(max(found)) if (found := line.known("memory")) else "" for line in lines
        ],
        "folds × seeds": [_coverage(line) for line in lines],
        "failed": [str(line.failed) for line in lines],
    }
    notes = [*_verdict(result), *_notes(result)]
    return make_sheet(result.title, columns, notes, [_data(result, line) for line in lines])


def _spread(mean: float, half: float | None) -> str:
    if not isfinite(mean):
        return ""
    return f"{mean:.3f}" if half is None else f"{mean:.3f} ± {half:.3f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _difference(line: Line) -> str:
    found = line.comparison
    if not isfinite(found.difference):
        return ""
    text = _signed(found.difference)
    if isfinite(found.low):
        text += f" [{_signed(found.low)}, {_signed(found.high)}]"
    if isfinite(line.p):
        text += f", {_p(line.p)}"
    if line.significant:
        text += " ↑" if found.difference > 0 else " ↓"
    return text


def _range(counts: list[int]) -> str:
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return thousands(low) if low == high else f"{thousands(low)} – {thousands(high)}"


def _seconds(values: list[float]) -> str:
    if not values:
        return ""
    mean = sum(values) / len(values)
    return f"{mean:.0f}" if mean >= 10 else f"{mean:.2g}"


def _epoch_seconds(line: Line) -> list[float]:
    return [record.seconds / record.epochs for record in line.finished if record.epochs]


def _coverage(line: Line) -> str:
    """folds × seeds, or how many fits of them there are."""
    folds = len({record.fold for record in line.records})
    seeds = len({record.seed for record in line.records})
    if not line.records:
        return "none"
    count = len(line.finished)
    grid = f"{folds} × {seeds}"
    return grid if count == folds * seeds else f"{count} of {grid}"


def _verdict(result: ResultTable) -> list[str]:
    """In words: which baselines lead NPF (selected), which trail it, which do neither."""
    if result.reference is None:
        return []
    told: dict[str, list[str]] = {"lead": [], "trail": [], "level": []}
    tested = [line for line in result.baselines if isfinite(line.p)]
    told["untested"] = [line.name for line in result.baselines if not isfinite(line.p)]
    for line in sorted(tested, key=lambda line: -line.comparison.difference):
        found = line.comparison
        bounds = f"[{_signed(found.low)}, {_signed(found.high)}], {_p(line.p)}"
        distance = f"{abs(found.difference):.3f}"
        if not line.significant:
            told["level"].append(f"{line.name} {_signed(found.difference)} {bounds}")
        elif found.difference > 0:
            told["lead"].append(f"{line.name} leads {OURS} by {distance} {bounds}.")
        else:
            told["trail"].append(f"{line.name} by {distance} {bounds}")
    sentences = told["lead"]
    if not sentences and (told["level"] or told["trail"]):
        sentences = [f"No baseline is significantly ahead of {OURS}."]
    if told["level"]:
        sentences.append(f"Not told apart from {OURS} (p ≥ {LEVEL}): {'; '.join(told['level'])}.")
    if told["trail"]:
        sentences.append(f"Significantly behind {OURS}: {'; '.join(told['trail'])}.")
    if told["untested"]:
        sentences.append(f"Too few common fits for a test: {', '.join(told['untested'])}.")
    return sentences


def _notes(result: ResultTable) -> list[str]:
    own = [line for line in result.lines if line is not result.reference]  # it repeats some
    failed = sum(line.failed for line in own)
    notes = [f"Fits: {sum(line.tried for line in own)}; failed and left out: {failed}."]
    undefined = sum(not isfinite(record.auroc) for line in own for record in line.finished)
    if undefined:
        notes.append(f"Fits without AUROC, one class alone in the test fold: {undefined}.")
    notes.append(
        "± is half the 95 % interval over folds × seeds. Fits of one fold share test clouds and "
        "two folds share training clouds: it shows spread, and does not test differences."
    )
    first = result.reference
    if first is None:
        return notes
    if any(line.comparison.pairs for line in result.lines):
        tested = sum(isfinite(line.p) for line in result.baselines)
        each = "on common pairs (fold, seed)" if result.over == "fits" else "on fold means"
        notes.append(
            f"Differences in AUROC {each}: 95 % interval, each by itself, by the corrected "
            f"resampled t-test (Nadeau and Bengio); p adjusted by Holm for {tested} baselines; "
            f"↑ above {OURS}, ↓ below, where p < {LEVEL}."
        )
    fewer = [
        f"{line.name} on {line.comparison.pairs}"
        for line in result.baselines
        if 0 < line.comparison.pairs < len(first.finished)
    ]
    if fewer:
        notes.append(f"Compared on fewer than {len(first.finished)} pairs: {', '.join(fewer)}.")
    rows = {record.fold: record.row for record in first.records}
    taken = Counter(row.title for row in rows.values()).most_common()
    if first.candidates == 1:
        notes.append(f"{OURS} is {taken[0][0]}, the only row there is to choose from.")
    else:
        notes.append(
            f"{OURS} is chosen in every fold by validation loss from {first.candidates} rows "
            f"(folds: {', '.join(f'{title} {count}' for title, count in taken)}). A selected "
            "line's time is that of the chosen fits, not of all that were tried."
        )
    shown = Counter(line.title for line in result.baselines)
    single = [one.title for one in result.baselines if one.candidates == shown[one.title] == 1]
    if first.candidates > 1 and single:
        notes.append(f"One configuration each, nothing to select from: {', '.join(single)}.")
    return notes


def _data(result: ResultTable, line: Line) -> dict[str, Any]:
    mean, half = line.summary("auroc")
    folds = [record.fold for record in line.finished]
    paper = result.paper(line) or (nan, nan)
    counts, seconds = line.known("parameters"), line.known("seconds")
    return {
        **result.size._asdict(),
        "model": line.name,
        "auroc": mean,
        "auroc_half": half,
        "auroc_half_over_folds": interval((r.auroc for r in line.finished), folds)[1],
        "paper": paper[0],
        "paper_half": paper[1],
        "difference": line.comparison.difference,
        "difference_low": line.comparison.low,
        "difference_high": line.comparison.high,
        "p": line.comparison.p,
        "p_holm": line.p,
        "pairs": line.comparison.pairs,
        "accuracy": line.summary("accuracy")[0],
        "accuracy_half": line.summary("accuracy")[1],
        "log_loss": line.summary("log_loss")[0],
        "log_loss_half": line.summary("log_loss")[1],
        "parameters_least": min(counts, default=None),
        "parameters_most": max(counts, default=None),
        "seconds": sum(seconds) / len(seconds) if seconds else None,
        "epoch_seconds": sum(each) / len(each) if (each := _epoch_seconds(line)) else None,
        "memory": max(line.known("memory"), default=None),
        "fits": len(line.finished),
        "fits_tried": line.tried,
        "failed": line.failed,
        "rows": line.candidates,
    }
