"""The page's figures of results: models of a task, and single fits."""

from __future__ import annotations

from math import isfinite, nan
from typing import Any

from pointforms import plot
from pointforms.bench.comparison import OURS, Comparison, ModelResult
from pointforms.bench.page.sections import Picture
from pointforms.support.formatting import p_value
from pointforms.support.statistics import Estimate

_FAMILIES = (
    "point-forms", "classical", "point", "graph", "topological", "fixed forms", "portfolio",
    "other",
)  # fmt: skip


def comparison_pictures(result: Comparison) -> list[Picture]:
    """Return AUROC of every model, best first, and differences to the reference in equal rows."""
    models = [model for model in result.listed if isfinite(model.summary("auroc").mean)]
    models.sort(key=lambda model: -model.summary("auroc").mean)
    if not models:
        return []
    names = [_short_name(model, models) for model in models]
    title = result.reference_title
    order = (title, "baselines", "other point-forms" if title == OURS else "point-forms")
    kinds = [order[_kind(model, result)] for model in models]
    scores = [_ends(model.summary("auroc")) for model in models]
    published = [_ends(model.paper) if isfinite(model.paper.mean) else None for model in models]
    pictures = [
        Picture(
            plot.forest(
                names,
                *zip(*scores, strict=True),
                groups=kinds,
                group_order=order,
                published=published,
            ),
            f"AUROC with 95 % intervals on {result.title}; the table has the numbers.",
            caption="AUROC with 95 % intervals; the dotted line is chance.",
        )
    ]
    differences = [model.difference for model in models]
    if any(isfinite(difference.mean) for difference in differences):
        pictures.append(
            Picture(
                plot.forest(
                    names,
                    [difference.mean for difference in differences],
                    [difference.low for difference in differences],
                    [difference.high for difference in differences],
                    groups=kinds,
                    group_order=order,
                    xlabel=f"AUROC minus that of {title}",
                    reference=0.0,
                    tooltips=[_difference_text(model, result) for model in models],
                ),
                f"Differences in AUROC to {title} on {result.title}, with adjusted intervals.",
                caption=f"Difference to {title}, with the interval of the corrected resampled "
                "t-test, adjusted as p is: it contains 0 where p ≥ 0.05. Point at a mark for its "
                "adjusted p.",
            )
        )
    return pictures


def fit_pictures(fits: dict[str, Any]) -> list[tuple[str, Picture]]:
    """Return one figure per task with a mark per fit, from the columns of the page's fits."""
    rows, pictures = fits["rows"], []
    for task, title in enumerate(fits["tasks"]):
        own = [i for i, row in enumerate(fits["row"]) if rows["task"][row] == task]
        scores = [nan if fits["auroc"][i] is None else fits["auroc"][i] for i in own]
        families = [fits["families"][rows["model"][fits["row"][i]]] for i in own]
        figure = plot.fits(
            scores,
            {
                "seconds of training": [fits["seconds"][i] for i in own],
                "trainable parameters": [fits["parameters"][i] for i in own],
            },
            families,
            group_order=_FAMILIES,
            tooltips=[_fit_text(fits, i) for i in own],
        )
        alt = f"AUROC of single fits on {title} against seconds of training and parameters."
        pictures.append((title, Picture(figure, alt)))
    return pictures


def _short_name(model: ModelResult, models: list[ModelResult]) -> str:
    """The model's title where that is unique."""
    alone = sum(other.title == model.title for other in models) == 1
    return model.title if alone else model.name


def _kind(model: ModelResult, result: Comparison) -> int:
    """0 for the reference, 1 for a baseline, 2 for a point-form."""
    return 0 if model is result.reference else 2 if model.ours else 1


def _ends(value: Estimate) -> tuple[float, float, float]:
    half = nan if value.half is None else value.half
    return value.mean, value.mean - half, value.mean + half


def _difference_text(model: ModelResult, result: Comparison) -> str:
    value = model.difference
    ends = f" [{value.low:+.3f}, {value.high:+.3f}]" if isfinite(value.low) else ""
    text = f"{model.name}\n{value.mean:+.3f}{ends}\n"
    if all(model is not one for one in result.compared):
        return text + "a candidate of the selection, not tested"
    if not isfinite(model.p):
        return text + "too few common fits for a test"
    return text + f"adjusted {p_value(model.p)}"


def _fit_text(fits: dict[str, Any], i: int) -> str:
    row, rows = fits["row"][i], fits["rows"]
    options = f" ({rows['options'][row]})" if rows["options"][row] else ""
    text = f"{fits['models'][rows['model'][row]]}{options}\n"
    text += f"fold {fits['fold'][i]}, seed {fits['seed'][i]}\nAUROC {fits['auroc'][i]}"
    if fits["seconds"][i] is not None:
        text += f"\n{fits['seconds'][i]:g} s"
    if fits["parameters"][i] is not None:
        text += f"\n{fits['parameters'][i]} parameters"
    return text
