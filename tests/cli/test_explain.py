"""`npf explain`."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import pointforms as pf
from pointforms.cli.app import app

runner = CliRunner()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A file of clouds whose feature "[b]" tells the classes, and a model of it."""
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("explain")
    clouds, names = [], np.array(["high", "low"])[np.arange(40) % 2]
    with (folder / "cells.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sample", "response", "patient", "a", "[b]", "c"])
        for i, name in enumerate(names):
            cloud = rng.normal(size=(16, 3)) * [1, 3 if name == "high" else 1, 1]
            clouds.append(cloud)
            writer.writerows([[f"s{i}", name, f"p{i}", *point] for point in cloud])
    model = pf.PointFormClassifier(
        degree=(1, 2), forms=3, hidden=(8,), epochs=4, neighbors=8, dimension=2, random_state=0
    )
    model.fit(clouds, names).save(folder / "model")
    return folder


def options(saved) -> list[str]:
    columns = ["--cloud", "sample", "--label", "response", "--group", "patient"]
    return [str(saved / "model"), str(saved / "cells.csv"), *columns]


def test_it_prints_and_writes_what_is_found(saved) -> None:
    picture, table = saved / "bars.png", saved / "out" / "rows.csv"
    given = ["--split", "--refits", "1", "--permutations", "99"]
    given += ["--out", str(picture), "--csv", str(table)]
    result = runner.invoke(app, ["explain", *options(saved), *given, "--most", "4"])
    assert result.exit_code == 0, result.output
    assert "[b]" in result.output
    assert "… and 2 more" in result.output
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert "[b]" in {row["form"] for row in rows if float(row["p"]) <= 0.05}
    assert {row["degree"] for row in rows} == {"1", "2"}
    assert len(rows) == 6
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_importance_comes_first(saved) -> None:
    picture, table = saved / "importance.png", saved / "out" / "importance.csv"
    given = ["--no-pairs", "--repeats", "1", "--out", str(picture), "--csv", str(table)]
    result = runner.invoke(app, ["explain", *options(saved), *given, "--most", "4"])
    assert result.exit_code == 0, result.output
    assert "… and 2 more" in result.output
    assert "smallest possible p" in result.output
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6  # two kinds of three features
    assert {row["feature"] for row in rows} == {"a", "[b]", "c"}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_refits_it_says_so(saved) -> None:
    result = runner.invoke(app, ["explain", *options(saved), "--split", "--refits", "0"])
    assert result.exit_code == 0, result.output
    assert "in-sample" in result.output


def test_errors_are_one_line(saved, tmp_path) -> None:
    result = runner.invoke(app, ["explain", str(tmp_path / "none"), "circles-vs-lines"])
    assert result.exit_code == 2
    assert "no saved estimator" in result.output
    result = runner.invoke(app, ["explain", str(saved / "model"), "circles-vs-lines"])
    assert result.exit_code == 2
    assert "npf explain: " in result.output
    result = runner.invoke(app, ["explain", *options(saved), "--out", "bars.txt"])
    assert result.exit_code == 2
    assert "expected .pdf, .png, .svg" in result.output


def test_the_data_are_not_overwritten(saved) -> None:
    before = (saved / "cells.csv").read_bytes()
    result = runner.invoke(app, ["explain", *options(saved), "--csv", str(saved / "cells.csv")])
    assert result.exit_code == 2
    assert "is read by this command" in result.stderr
    assert (saved / "cells.csv").read_bytes() == before


def test_columns_of_classes_are_those_of_the_classifier(tmp_path) -> None:
    """Files have classes in the order of text, 1, 10, 2, a classifier of numbers 1, 2, 10."""
    rng = np.random.default_rng(0)
    y, clouds = np.array([1, 2, 10])[np.arange(36) % 3], []
    with (tmp_path / "cells.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["cloud", "label", "a", "p$\\foo$"])
        for i, name in enumerate(y):
            clouds.append(rng.normal(size=(16, 2)) * [1, 4 if name == 10 else 1])
            writer.writerows([[f"s{i}", name, *point] for point in clouds[-1]])
    model = pf.PointFormClassifier(
        forms=3, hidden=(8,), epochs=4, neighbors=8, dimension=2, random_state=0
    ).fit(clouds, y)
    model.save(tmp_path / "model")
    given = [str(tmp_path / "model"), str(tmp_path / "cells.csv"), "--split", "--refits", "0"]
    given += ["--csv", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "bars.png")]
    result = runner.invoke(app, ["explain", *given])
    assert result.exit_code == 0, result.output
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        found = {row["form"]: row for row in csv.DictReader(file)}
    expected = pf.explain.basis_split(model, clouds, y, refits=0)
    assert expected.columns == ("1", "2", "10")
    for i, form in enumerate(("a", "p$\\foo$")):
        for c, name in enumerate(expected.columns):
            assert float(found[form][f"difference: {name}"]) == pytest.approx(
                expected.difference_by[c, i], rel=1e-3
            )


def test_features_are_chosen_by_name(saved) -> None:
    few = runner.invoke(app, ["explain", *options(saved), "--refits", "0", "--features", "c,[b]"])
    assert few.exit_code == 2
    assert "2 features, the model was fitted with 3" in few.stderr
    same = [*options(saved), "--split", "--refits", "0"]
    first, again, turned = (
        runner.invoke(app, ["explain", *same, *more])
        for more in ([], ["--features", "a, [b], c"], ["--features", "c,[b],a"])
    )
    assert first.exit_code == 0, first.output
    assert "features: a, [b], c" in first.output
    assert again.output == first.output
    assert turned.output != first.output


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A model of data frames whose CD3 tells the classes, and files with the columns turned."""
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("named")
    y = np.array(["a", "b"])[np.arange(24) % 2]
    for name in ("training", "others"):
        clouds = [
            pd.DataFrame(rng.normal(size=(10, 3)), columns=["CD3", "CD4", "CD8"]).assign(
                CD3=lambda frame, own=label: frame["CD3"] + 2.0 * (own == "b")
            )
            for label in y
        ]
        rows = pd.concat([c.assign(cloud=f"s{i}", label=y[i]) for i, c in enumerate(clouds)])
        rows[["cloud", "label", "CD8", "CD4", "CD3"]].to_csv(folder / f"{name}.csv", index=False)
        if name == "training":
            pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y).save(
                folder / "model"
            )
            pf.PointFormClassifier(
                forms=2, hidden=(4,), epochs=2, neighbors=6, dimension=2, random_state=0
            ).fit(clouds, y).save(folder / "forms")
            names = ["CD3", "CD4", "CD8"]
            forms = pf.load(folder / "forms")
            split = pf.explain.basis_split(forms, clouds, y, None, names, refits=0)
    return folder, split


@pytest.mark.parametrize("given", [["training.csv"], ["others.csv", "--new"]])
def test_columns_are_matched_by_name(named, given) -> None:
    folder, _ = named
    table = folder / "rows.csv"
    more = ["--no-pairs", "--repeats", "2", "--csv", str(table)]
    arguments = [str(folder / "model"), str(folder / given[0]), *given[1:], *more]
    result = runner.invoke(app, ["explain", *arguments])
    assert result.exit_code == 0, result.output
    with table.open(encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert (first["feature"], first["kind"]) == ("CD3", "distribution")
    assert float(first["importance"]) > 0.3


def test_a_split_matches_columns_by_name(named) -> None:
    folder, expected = named
    table = folder / "split.csv"
    more = ["--split", "--refits", "0", "--csv", str(table)]
    arguments = [str(folder / "forms"), str(folder / "training.csv"), *more]
    result = runner.invoke(app, ["explain", *arguments])
    assert result.exit_code == 0, result.output
    with table.open(encoding="utf-8") as file:
        found = {row["form"]: float(row["difference"]) for row in csv.DictReader(file)}
    for form in expected.top(None):
        assert found[form.name] == pytest.approx(form.difference, rel=1e-3)


def test_errors_name_other_features_and_the_option(named) -> None:
    folder, _ = named
    text = (folder / "others.csv").read_text(encoding="utf-8")
    (folder / "renamed.csv").write_text(text.replace("CD3", "CD19", 1), encoding="utf-8")
    result = runner.invoke(app, ["explain", str(folder / "model"), str(folder / "renamed.csv")])
    assert result.exit_code == 2
    assert "CD19" in result.stderr
    result = runner.invoke(app, ["explain", str(folder / "model"), str(folder / "others.csv")])
    assert result.exit_code == 2
    assert "was fitted on none of these" in result.stderr
    assert "pass --new if" in " ".join(result.stderr.split())
    assert "new=True" not in result.stderr


def test_the_groups_of_fit_are_used_where_the_file_has_none(named) -> None:
    folder, _ = named
    task = pf.tasks.read(folder / "training.csv")
    clouds = pf.Clouds.from_list(task.clouds, feature_names=task.feature_names)
    groups = np.arange(24) // 4 * 2 + np.arange(24) % 2
    y = np.array(task.class_names)[task.labels]
    model = pf.CloudClassifier(parts=("linear",), random_state=0).fit(clouds, y, groups)
    model.save(folder / "grouped")
    arguments = [str(folder / "grouped"), str(folder / "training.csv"), "--no-pairs"]
    result = runner.invoke(app, ["explain", *arguments, "--repeats", "1"])
    assert result.exit_code == 0, result.output
    assert "24 clouds in 12 groups" in " ".join(result.output.split())


def test_columns_that_the_fit_left_out_are_left_out_again(saved, tmp_path) -> None:
    """One patient stands in two clouds, and the fit was told to go on without groups."""
    cells = tmp_path / "cells.csv"
    lines = (saved / "cells.csv").read_text().splitlines()
    lines[1] = lines[1].replace(",p0,", ",p1,")
    cells.write_text("\n".join(lines) + "\n")
    columns = ["--cloud", "sample", "--label", "response"]
    fit = ["fit", str(cells), *columns, "--model", "logistic-regression"]
    model = str(tmp_path / "model")
    refused = runner.invoke(app, [*fit, "--out", model])
    assert refused.exit_code == 2
    assert "--drop patient" in refused.output
    assert runner.invoke(app, [*fit, "--drop", "patient", "--out", model]).exit_code == 0
    explained = runner.invoke(app, ["explain", model, str(cells)])
    assert explained.exit_code == 0, explained.output
