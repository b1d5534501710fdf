"""The section "Results" of the README, with every number and claim computed from stored fits.

`python -m docs.refresh_results` writes it, and a test holds the README to it.
"""

from __future__ import annotations

from math import isnan
from pathlib import Path

from pointforms.bench import Comparison, ModelResult, compare, compare_across_tasks, read_csv
from pointforms.bench.across_tasks import ModelAcrossTasks
from pointforms.support.formatting import estimate, signed_estimate
from pointforms.support.statistics import SIGNIFICANCE_LEVEL

RESULTS = Path(__file__).parent / "results"
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
    """Compare all models on the paper's two main tasks, each chosen from four rows."""
    records = read_csv(RESULTS / "equal-budget-fits.csv")
    circles, rna = compare(records)
    columns = [{model.title: model for model in _listed(one)} for one in (circles, rna)]
    titles = sorted({**columns[0], **columns[1]}, key=lambda title: _order(title, *columns))
    lines = ["| model | circles-vs-lines | rna-velocity |", "|---|---|---|"]
    for title in titles:
        cells = [
            _cell(column.get(title), one)
            for column, one in zip(columns, (circles, rna), strict=True)
        ]
        name = f"**{title}**" if title == "NPF (selected)" else title
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
    return [
        "**Every model with the same budget**, on the paper's two main tasks (both simulated): "
        "four rows per model, of which validation\ndata inside the training part choose one in "
        "each fold (the cloud classifier has one row, since it chooses by itself). AUROC ±\nhalf "
        "of the 95 % interval over five folds:",
        "\n".join(lines),
        "*Level* means no significant difference from NPF (selected), *behind* significantly lower "
        "and *ahead* significantly higher\n(p < 0.05, corrected resampled t-test over folds, "
        "adjusted for the number of models). With five folds, level does not mean "
        f"equal.\n{_sentence(circles)} {_sentence(rna)}\n"
        f"[All numbers and costs](docs/results/equal-budget.md) from the {len(records)} fits in "
        "`docs/results/equal-budget-fits.csv`;\n[rows of the paper](docs/results/synthetic.md) "
        "and [simulated organoids](docs/results/pdo.md), as version 0.1.0 trained them.",
    ]


def _listed(comparison: Comparison) -> list[ModelResult]:
    return [model for model in comparison.models if model is comparison.reference or not model.ours]


def _order(title: str, *columns: dict[str, ModelResult]) -> tuple[float, ...]:
    """Sort by AUROC on the last task, then on the one before."""
    known = [column[title].summary("auroc").mean if title in column else 0 for column in columns]
    return tuple(-mean for mean in reversed(known))


def _standing(model: ModelResult) -> str:
    if isnan(model.p):
        return "not tested"
    if model.p >= SIGNIFICANCE_LEVEL:
        return "level"
    return "ahead" if model.test.difference > 0 else "behind"


def _cell(model: ModelResult | None, comparison: Comparison) -> str:
    if model is None:
        return "not run"
    shown = estimate(model.summary("auroc"))
    if model is comparison.reference:
        return shown
    standing = _standing(model)
    return f"{shown}, **{standing}**" if standing in ("ahead", "behind") else f"{shown}, {standing}"


def _sentence(comparison: Comparison) -> str:
    """Say how many models are level with the reference, behind it and ahead of it."""
    standings = [_standing(model) for model in comparison.compared]
    level, behind, ahead = (standings.count(one) for one in ("level", "behind", "ahead"))
    return (
        f"On {comparison.title}, {_word(level)} are level, {_word(behind)} behind and "
        f"{_word(ahead)} ahead."
    )


def _word(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)


def with_results(readme: str) -> str:
    """Return the text of the README with this section in place of the one that it has."""
    before, _, rest = readme.partition("## Results\n")
    _, _, after = rest.partition("\n## ")
    return f"{before}{results_section()}\n## {after}"
