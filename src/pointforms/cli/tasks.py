"""`npf tasks`: list, describe, write and draw labelled sets of clouds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from pointforms import tasks
from pointforms.cli import options
from pointforms.cli.console import Commands, echo, print_pairs, print_summary, print_table
from pointforms.cli.file_options import FileArguments, takes_file_options
from pointforms.support.table import Column, Table

app = typer.Typer(
    cls=Commands, help="List, describe, write and draw tasks: those of the catalogue and yours."
)


@app.callback(invoke_without_command=True)
def default(context: typer.Context, wide: options.WIDE = False) -> None:
    """List, describe, write and draw tasks: those of the catalogue and yours."""
    if context.invoked_subcommand is None:
        list_tasks(wide)


@app.command("list")
def list_tasks(wide: options.WIDE = False) -> None:
    """List the tasks of the catalogue, and prepared organoid tasks, with their sizes."""
    summaries = [tasks.entry(name).summary() for name in tasks.names(prepared=True)]
    columns = [
        Column("task", "task", left=True),
        *(Column(key, key) for key in ("clouds", "points", "features")),
        Column("classes", "classes", wide=True),
        Column("description", "description", left=True),
    ]
    print_table(Table("Tasks", columns, [one for one in summaries if one]), wide)


@app.command()
@takes_file_options
def show(
    name: options.TASK,
    seed: options.SEED = 0,
    clouds: options.CLOUDS = None,
    points: options.POINTS = None,
    *,
    file: FileArguments,
) -> None:
    """Describe a task: its sizes, classes, groups, folds and split."""
    task = tasks.find(name, seed, clouds, points, options=file.for_task())
    if task.summary is not None:
        print_summary(Path(name).name, task.summary)
        return
    classes = Counter(task.class_names[y] for y in task.labels)
    parts = Counter(task.split.tolist())
    first = ", ".join(task.feature_names[:8]) + (", …" if len(task.feature_names) > 8 else "")
    print_pairs(
        {
            "task": task.name,
            "description": task.description,
            "clouds": f"{len(task)} of {task.size_range()} points",
            "features": f"{len(task.feature_names)}: {first}",
            "classes": ", ".join(f"{n} ({count})" for n, count in sorted(classes.items())),
            "groups": str(len(set(task.groups.tolist()))),
            "folds": ", ".join(str(c) for _, c in sorted(Counter(task.folds.tolist()).items())),
            "split": ", ".join(f"{k} {parts[k]}" for k in ("train", "validation", "test")),
        }
    )
    if name in tasks.names():
        echo("\n" + tasks.about(name))


@app.command()
@takes_file_options
def write(
    name: options.TASK,
    out: Annotated[Path, typer.Argument(help="File to write: .parquet, .csv or .npz.")],
    seed: options.SEED = 0,
    clouds: options.CLOUDS = None,
    points: options.POINTS = None,
    *,
    file: FileArguments,
) -> None:
    """Write a task to a file, one row per point, with columns cloud, label, group, fold, split."""
    task = tasks.find(name, seed, clouds, points, options=file.for_task())
    tasks.write(task, out)
    if task.summary is not None:
        print_summary(Path(name).name, task.summary)
    echo(f"{task!r}\nWritten: {out.resolve()}")


@app.command()
@takes_file_options
def draw(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TASK]...", help="Names of tasks, or files (default: the whole catalogue)."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("tasks"),
    each: Annotated[int, typer.Option(min=1, max=20, help="Number of clouds per class.")] = 6,
    seed: options.SEED = 0,
    *,
    file: FileArguments,
) -> None:
    """Draw a contact sheet with a few clouds of each class, one picture per task."""
    from pointforms.support.progress import track

    chosen = names or tasks.names()
    pictures = []
    with track(len(chosen), "drawing") as advance:
        from pointforms.plot.contact_sheets import contact_sheet

        for name in chosen:
            task = tasks.find(name, seed, options=file.for_task())
            if task.regression:
                raise ValueError(
                    f"the label of {task.name} holds numbers: expected classes to draw"
                )
            pictures.append(out / f"{task.name}.png")
            contact_sheet(
                task.clouds,
                task.labels,
                task.class_names,
                feature_names=task.feature_names,
                each=each,
                title=task.name,
                path=pictures[-1],
            )
            advance(1)
    for path in pictures:
        echo(f"Picture: {path.resolve()}")
