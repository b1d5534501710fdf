"""Write the tables of the results pages and of the README again from the fits in their CSV files.

It trains nothing. Run it after a change to the results table: python -m docs.refresh_results
"""

from __future__ import annotations

import re
from pathlib import Path

from docs.readme_results import with_results

from pointforms.bench import across_tasks_table, compare, read_csv, results_tables
from pointforms.bench.results_table import every_row, results_table
from pointforms.paper.numbers import paper_value
from pointforms.support.files import write_text
from pointforms.support.table import Table

RESULTS = Path(__file__).parent / "results"
STUDIES = sorted(file.name.removesuffix("-fits.csv") for file in RESULTS.glob("*-fits.csv"))
#: The model that all others are tested against, where it is not the selected point-form.
REFERENCES = {"prediction": "cloud-classifier", "prediction-others": "cloud-classifier"}


def tables_of(study: str) -> list[Table]:
    """Return the tables of a study, computed from its fits."""
    records = read_csv(RESULTS / f"{study}-fits.csv")
    reference = REFERENCES.get(study)
    if reference is not None:
        comparisons = compare(records, published=paper_value, reference=reference)
        return [across_tasks_table(comparisons), *map(results_table, comparisons)]
    by_row = every_row(records)
    return results_tables(records, published=paper_value) + ([] if by_row is None else [by_row])


def refreshed(page: str, tables: list[Table]) -> str:
    """Return a page in which each section with the title of a table holds that table."""
    for table in tables:
        text = table.markdown()
        heading = text.splitlines()[0]
        section = re.compile(rf"^{re.escape(heading)}\n.*?(?=^### |\Z)", re.DOTALL | re.MULTILINE)
        if not section.search(page):
            raise ValueError(f"no section {heading!r} on the page")
        page = section.sub(lambda _, text=text: f"{text}\n", page)
    return page.rstrip() + "\n"


if __name__ == "__main__":
    for study in STUDIES:
        path = RESULTS / f"{study}.md"
        write_text(path, refreshed(path.read_text("utf-8"), tables_of(study)))
        print(f"Written: {path}")
    readme = Path(__file__).parent.parent / "README.md"
    write_text(readme, with_results(readme.read_text("utf-8")))
    print(f"Written: {readme}")
