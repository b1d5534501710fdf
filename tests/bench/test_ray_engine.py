"""The Ray engine: what needs no cluster."""

from __future__ import annotations

import multiprocessing as mp
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.helpers.small_units import SIZE, units

from pointforms.bench import ray_engine
from pointforms.bench.ray_engine import RayEngine
from pointforms.bench.records import Record, Row, Unit


class GivenUp(Exception):
    pass


class FakeRay:
    """Does every task at once, and fails those of a model."""

    exceptions = SimpleNamespace(RayError=GivenUp)

    def __init__(self, cores: int, fails: str = "") -> None:
        self.cores, self.fails = cores, fails
        self.prepared: list[Row] = []

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.cores)}

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        return lambda function: SimpleNamespace(
            remote=self.prepare if function.__name__ == "_prepare" else self.fit
        )

    def prepare(self, row: Row, cache: Path | None) -> object:
        self.prepared.append(row)
        return object()

    def fit(self, unit: Unit, prepared: object) -> Any:
        return lambda: [Record(unit.row, fold, seed, auroc=1.0) for fold, seed in unit.fits]

    def wait(self, references: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return references[:1], references[1:]

    def get(self, reference: Any) -> Any:
        records = reference()
        if records[0].row.model == self.fails:
            raise GivenUp("its worker died again and again")
        return records


def train(
    ray: FakeRay, todo: list[Unit], limit: int | None = None
) -> list[tuple[Unit, list[Record]]]:
    """What a run on a fake Ray yields."""
    take = iter([*todo, None]).__next__
    messages = ray_engine._train(ray, take, None, limit, on_cluster=False)
    return [content for kind, content in messages if kind == "finished"]


def test_ray_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pointforms\[ray\]"):
        RayEngine()


def test_units_that_share_a_preparation_are_prepared_once():
    ray = FakeRay(cores=2)
    todo = units("npf-tri-1", "npf-flat-1", "mlp")
    done = train(ray, todo)
    assert {unit for unit, _ in done} == set(todo)
    assert len(ray.prepared) == 2  # Gram fields, and points


def test_what_ray_gives_up_has_failed_and_the_rest_goes_on():
    ray = FakeRay(cores=2, fails="mlp")
    todo = units("mlp", "npf-tri-1")
    done = dict(train(ray, todo))
    assert len(done) == 4
    for unit, (record,) in done.items():
        assert (record.error is not None) == (unit.row.model == "mlp")
    assert "its worker died again" in (done[todo[0]][0].error or "")
    assert len(ray.prepared) == 2


def test_a_unit_that_cannot_be_sent_has_failed():
    todo = units("no-such-model", "mlp")
    done = dict(train(FakeRay(cores=2), todo))
    assert [done[unit][0].error is None for unit in todo] == [False, False, True, True]


@pytest.mark.parametrize(
    ("on_cluster", "limit", "ahead", "workers"),
    [(False, 3, 6, 3), (True, None, 6, 3), (True, 2, 2, 2), (True, 8, 6, 3)],
)
def test_few_units_are_claimed_ahead(on_cluster, limit, ahead, workers):
    taken: list[Unit] = []

    def take() -> Unit:
        taken.append(Unit(Row("circles-vs-lines", "mlp", **SIZE), ((0, len(taken)),)))
        return taken[-1]

    running = ray_engine._train(FakeRay(cores=3), take, None, limit, on_cluster)
    for finished in range(10):
        assert next(running) == ("workers", workers)
        kind, _ = next(running)
        assert kind == "finished"
        assert len(taken) == finished + ahead + 1  # one is at hand


def test_workers_are_reported_on_every_look():
    """Also where nothing changes: an engine that nobody listens to any more has to notice."""
    ray = FakeRay(cores=1)
    running = ray_engine._train(ray, lambda: units("mlp")[0], None, None, on_cluster=True)
    assert next(running) == ("workers", 1)
    assert next(running)[0] == "finished"
    ray.cores = 0  # all nodes are gone, and the driver waits for others
    assert next(running) == ("workers", 1)
    assert next(running)[0] == "finished"
    ray.cores = 3
    assert next(running) == ("workers", 3)


def test_old_preparations_are_let_go():
    tasks = ray_engine._Tasks(FakeRay(2), None)
    for seed in range(100):
        tasks.start(Unit(Row("circles-vs-lines", "mlp", task_seed=seed), ((0, 0),)))
    assert len(tasks.prepared) == ray_engine._KEPT


def test_a_preparation_that_fails_fails_its_units():
    (unit,) = units("mlp")[:1]
    wrong = ray_engine._prepare(Unit(Row("no-such-task", "mlp"), ((0, 0),)), None)
    assert isinstance(wrong, str)
    (record,) = ray_engine._fit(unit, wrong)
    assert record.row == unit.row
    assert "no task 'no-such-task'" in (record.error or "")


def test_files_are_found_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cells.csv").touch()
    for task, found in (("cells.csv", str(tmp_path / "cells.csv")), ("singlecell", "singlecell")):
        unit = Unit(Row(task, "mlp"), ((0, 0),))
        assert ray_engine._with_absolute_path(unit).row.task == found


def test_no_unit_no_ray(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(mp, "get_context", lambda _: pytest.fail("nothing to start it for"))
    assert list(RayEngine(None, 2).run(lambda: None)) == []


def test_no_private_part_of_ray_is_used():
    source = Path(ray_engine.__file__).read_text()
    assert "ray._" not in source
    assert "import ray" not in source  # only the process that talks to Ray imports it


def test_an_address_where_nobody_is():
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(ConnectionError, match="no Ray cluster at '127"):
            RayEngine(f"127.0.0.1:{free.getsockname()[1]}")
