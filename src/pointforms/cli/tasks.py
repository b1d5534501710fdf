"""`npf tasks`: list, describe, write and draw labelled sets of clouds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pointforms import tasks
from pointforms.cli.console import console, explained, print_pairs
from pointforms.support.progress import track

app = typer.Typer(help="Built-in tasks and your own: list, show, write, draw.")

NAME = Annotated[str, typer.Argument(metavar="TASK", help="A task's name, or a file of yours.")]
SEED = Annotated[int, typer.Option(min=0, help="Of the clouds and folds.")]
CLOUDS = Annotated[
    int | None, typer.Option(help="So many clouds; the paper's number if not given.")
]
POINTS = Annotated[int | None, typer.Option(help="So many points in a cloud.")]
CLOUD = Annotated[str, typer.Option(help="Your file's column of cloud ids.")]
LABEL = Annotated[str, typer.Option(help="Your file's column of labels.")]
GROUP = Annotated[str | None, typer.Option(help="Your file's column of groups (patient, donor).")]
FEATURES = Annotated[
    str | None,
    typer.Option(
        help="Your file's columns of coordinates, by commas; all numeric ones if not given."
    ),
]


@app.callback(invoke_without_command=True)
def listed(context: typer.Context) -> None:
    """List the tasks, if nothing else is asked for."""
    if context.invoked_subcommand is None:
        list_tasks()


@app.command("list")
def list_tasks() -> None:
    """List the built-in tasks with their sizes."""
    view = Table(title="Tasks", title_justify="left")
    for heading in ("task", "clouds", "points", "features", "classes", "what"):
        view.add_column(
            heading,
            justify="left" if heading in ("task", "what") else "right",
            no_wrap=heading == "task",
        )
    for name in tasks.names(prepared=True):
        summary = tasks.entry(name).summary()
        if summary is not None:
            view.add_row(*(escape(str(value)) for value in summary.values()))
    console.print(view)


@app.command()
def show(
    name: NAME,
    seed: SEED = 0,
    clouds: CLOUDS = None,
    points: POINTS = None,
    cloud: CLOUD = "cloud",
    label: LABEL = "label",
    group: GROUP = None,
) -> None:
    """Describe a task: sizes, classes, groups, folds, split."""
    with explained("tasks show"):
        task = tasks.find(name, seed, clouds, points, cloud=cloud, label=label, group=group)
    classes = Counter(task.class_names[y] for y in task.labels)
    parts = Counter(task.split.tolist())
    shown = ", ".join(task.feature_names[:8]) + (", …" if len(task.feature_names) > 8 else "")
    print_pairs(
        {
            "task": escape(task.name),
            "what": escape(task.description),
            "clouds": f"{len(task)} of {task.size_range()} points",
            "features": escape(f"{len(task.feature_names)}: {shown}"),
            "classes": escape(", ".join(f"{n} ({count})" for n, count in sorted(classes.items()))),
            "groups": str(len(set(task.groups.tolist()))),
            "folds": ", ".join(str(c) for _, c in sorted(Counter(task.folds.tolist()).items())),
            "split": ", ".join(f"{k} {parts[k]}" for k in ("train", "validation", "test")),
        }
    )
    if name in tasks.names():
        console.print("\n" + tasks.about(name), highlight=False, markup=False)


@app.command()
def write(
    name: NAME,
    out: Annotated[Path, typer.Argument(help="A .parquet, .csv or .npz file.")],
    seed: SEED = 0,
    clouds: CLOUDS = None,
    points: POINTS = None,
    cloud: CLOUD = "cloud",
    label: LABEL = "label",
    group: GROUP = None,
) -> None:
    """Write a task to disk, one row a point, with columns cloud, label, group, fold, split."""
    with explained("tasks write"):
        task = tasks.find(name, seed, clouds, points, cloud=cloud, label=label, group=group)
        tasks.write(task, out)
    typer.echo(f"{task!r}\nWritten: {out.resolve()}")


@app.command()
def draw(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[TASK]...", help="All, if none is given.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("tasks"),
    each: Annotated[int, typer.Option(min=1, max=20, help="Clouds of each class.")] = 6,
    seed: SEED = 0,
    cloud: CLOUD = "cloud",
    label: LABEL = "label",
    group: GROUP = None,
) -> None:
    """Draw a contact sheet of a few clouds of each class: one picture a task."""
    from pointforms.plot.contact_sheets import contact_sheet

    chosen = names or tasks.names()
    made = []
    with explained("tasks draw"), track(len(chosen), "drawing") as advance:
        for name in chosen:
            task = tasks.find(name, seed, cloud=cloud, label=label, group=group)
            made.append(out / f"{task.name}.png")
            contact_sheet(task, made[-1], each)
            advance(1)
    for path in made:
        typer.echo(f"Picture: {path.resolve()}")
