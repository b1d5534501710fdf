"""The section "Results" of the README, with every number and claim computed from stored fits.

`python -m docs.refresh_results` writes it, and a test holds the README to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from pointforms.bench import Comparison, ModelResult, compare, compare_across_tasks, read_csv
from pointforms.bench.across_tasks import ModelAcrossTasks
from pointforms.bench.comparison import OURS
from pointforms.support.formatting import estimate, signed_estimate

RESULTS = Path(__file__).parent / "results"
#: The tasks of the table of all models, and what they are called there.
TASKS = {
    "circles-vs-lines": "circles, lines",
    "rna-velocity": "RNA velocity",
    "japanese-vowels": "vowels",
    "osteosarcoma-treatment": "cell shape: treatment",
    "osteosarcoma-line": "cell shape: line",
    "kidney": "kidney",
}
_WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def results_section() -> str:
    """Return the section, from its heading to the next one."""
    return "\n\n".join(["## Results", *_portfolio(), *_equal_budgets()]) + "\n"


def _portfolio() -> list[str]:
    """Compare the portfolio with models of summaries, over tasks."""
    comparisons = compare(read_csv(RESULTS / "prediction-fits.csv"), reference="cloud-classifier")
    models = compare_across_tasks(comparisons)
    tasks = {one.size.task: one.size for one in comparisons}
    real = sum(size.is_real for size in tasks.values())
    lines = [
        "| model | mean rank | AUROC minus that of `CloudClassifier` | the same, real data | "
        "significantly behind |",
        "|---|---|---|---|---|",
    ]
    for model in models:
        if model.name == "Cloud classifier":
            lines.append(f"| **CloudClassifier** | {model.rank:.2f} | | | |")
            continue
        lines.append(
            f"| {model.name} | {model.rank:.2f} | {signed_estimate(model.difference)} | "
            f"{signed_estimate(model.difference_real)} | {model.behind} of {len(comparisons)} |"
        )
    ahead = sum(model.ahead or 0 for model in models)
    return [
        f"**`CloudClassifier()` beside models of pooled summaries**, on {len(tasks)} tasks, "
        f"{_word(real)} of them real data (kidney patients with\ntwo and three classes, spoken "
        "vowels), with five grouped folds and three seeds that no default was chosen on:",
        "\n".join(lines),
        f"{_word(ahead).capitalize()} of the {_word(len(models) - 1)} is significantly ahead on "
        f"any task. ± is half of the 95 % interval over tasks; over {_word(real)} real ones,\n"
        f"{_chance(models)}. [By task](docs/estimators.md), and "
        "[everything](docs/results/prediction.md), from the fits in\n"
        "`docs/results/prediction-fits.csv`.",
    ]


def _chance(models: list[ModelAcrossTasks]) -> str:
    """Say which differences on real data may be chance: those whose interval contains 0."""
    differences = [
        (model.name, model.difference_real) for model in models if model.behind is not None
    ]
    chance = [name for name, one in differences if not abs(one.mean) > one.half]
    if len(chance) == len(differences):
        return "every difference may be chance"
    return f"the difference to {', '.join(chance)} may be chance" if chance else "none is chance"


def _equal_budgets() -> list[str]:
    """Compare all models with four rows each, on tasks of the paper and on real data."""
    records = {name: read_csv(RESULTS / f"{name}-fits.csv") for name in ("equal-budget", "real")}
    comparisons = {one.title: one for fits in records.values() for one in compare(fits)}
    tasks = [comparisons[task] for task in TASKS]
    columns = [{model.title: model for model in _listed(one)} for one in tasks]
    titles = sorted(dict.fromkeys(t for column in columns for t in column), key=_order(columns))
    lines = [f"| model | {' | '.join(TASKS.values())} |", "|---" * (len(TASKS) + 1) + "|"]
    for title in titles:
        cells = [_cell(column.get(title), one) for column, one in zip(columns, tasks, strict=True)]
        name = f"**{title}**" if title == OURS else title
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [
        "**Every model with the same budget**, on the paper's two main tasks (simulated) and four "
        "of real data: four rows per model, of\nwhich validation data inside the training part "
        "choose one in each fold (the cloud classifier has one row, since it chooses\nby itself). "
        "AUROC ± half of the 95 % interval over five folds; the highest of a task is bold:",
        "\n".join(lines),
        "↓ is significantly lower than NPF (selected), ↑ significantly higher (p < 0.05, corrected "
        "resampled t-test over folds, adjusted\nfor the number of models); with five folds, no "
        f"arrow does not mean equal. – was not run.\n{_standings(tasks)}\n"
        "[Simulated tasks](docs/results/equal-budget.md) and [real data](docs/results/real.md) "
        "with intervals and costs, from the\n"
        f"{sum(map(len, records.values()))} fits in `docs/results/equal-budget-fits.csv` and "
        "`docs/results/real-fits.csv`; [rows of the paper](docs/results/synthetic.md)\nand "
        "[simulated organoids](docs/results/pdo.md), as version 0.1.0 trained them. " + _primary(),
    ]


def _primary() -> str:
    """Say which baselines are ahead in the paper's primary sweeps, as far as they have been run."""
    studies = {"synthetic-primary": "synthetic tasks", "pdo-primary": "simulated organoids"}
    tasks = {study: compare(read_csv(RESULTS / f"{study}-fits.csv")) for study in studies}
    ahead = [
        f"{model.title} on {TASKS.get(one.size.task, one.size.task)} "
        f"({model.summary('auroc').mean:.3f} against {one.reference.summary('auroc').mean:.3f})"
        for study in studies
        for one in tasks[study]
        for model in one.compared
        if model.difference.significant and model.difference.mean > 0
    ]
    means = [model.difference.mean for one in tasks["pdo-primary"] for model in one.compared]
    links = [f"[{title}](docs/results/{study}.md)" for study, title in studies.items()]
    return (
        "Baselines with published options\nthat are significantly ahead of NPF (selected) in the "
        f"paper's primary sweeps so far, of {' and '.join(links)}: {', '.join(ahead) or 'none'}. "
        f"On the organoids, {sum(mean > 0 for mean in means)} of {len(means)} comparisons have the "
        "baseline ahead by mean."
    )


def _listed(comparison: Comparison) -> list[ModelResult]:
    return [model for model in comparison.models if model is comparison.reference or not model.ours]


def _order(columns: list[dict[str, ModelResult]]) -> Callable[[str], tuple[float, ...]]:
    """Sort by the number of tasks with fits, then by mean AUROC over these."""

    def place(title: str) -> tuple[float, ...]:
        means = [column[title].summary("auroc").mean for column in columns if title in column]
        return -len(means), -sum(means) / len(means)

    return place


def _cell(model: ModelResult | None, comparison: Comparison) -> str:
    if model is None:
        return "–"
    area = model.summary("auroc")
    highest = max(one.summary("auroc").mean for one in _listed(comparison))
    shown = estimate(area)
    if f"{area.mean:.3f}" == f"{highest:.3f}":
        shown = f"**{shown}**"
    difference = model.difference
    return shown + ((" ↑" if difference.mean > 0 else " ↓") if difference.significant else "")


def _standings(comparisons: Sequence[Comparison]) -> str:
    """Say in how many comparisons a model is ahead of NPF (selected), behind, or neither."""
    differences = [model.difference for one in comparisons for model in one.compared]
    significant = [one.mean > 0 for one in differences if one.significant]
    ahead, behind = sum(significant), len(significant) - sum(significant)
    leads = Counter(
        model.title for one in comparisons for model in _listed(one) if "**" in _cell(model, one)
    )
    (first, most), *_ = leads.most_common()
    return (
        f"Of {len(differences)} comparisons with NPF (selected), it is significantly ahead in "
        f"{_word(behind)} and behind in {_word(ahead)}. By mean AUROC it is\n"
        f"{'; '.join(_place(one) for one in comparisons)}.\n"
        f"{first} has the highest mean most often, alone or shared: on {_word(most)} of the "
        f"{_word(len(comparisons))} tasks."
    )


def _place(comparison: Comparison) -> str:
    """Say which place NPF (selected) has by its mean, where equal means share the first place."""
    means = [round(model.summary("auroc").mean, 3) for model in _listed(comparison)]
    ours = round(comparison.reference.summary("auroc").mean, 3)
    place = 1 + sum(mean > ours for mean in means)
    shared = " (shared)" if means.count(ours) > 1 else ""
    return f"{_ordinal(place)} of {len(means)}{shared} on {TASKS[comparison.title]}"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 < number % 100 < 14 else ending}"


def _word(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)


def with_results(readme: str) -> str:
    """Return the text of the README with this section in place of the one that it has."""
    before, _, rest = readme.partition("## Results\n")
    _, _, after = rest.partition("\n## ")
    return f"{before}{results_section()}\n## {after}"
