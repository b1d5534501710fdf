"""Small work uses one torch thread, large work those that were given, and the number comes back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import pointforms as pf
from pointforms.estimators.training_run import Run
from pointforms.geometry import stream
from pointforms.support.threads import one_thread, threads_for

SMALL, LARGE = 1e3, 1e12


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_small_work_has_one_thread_and_large_work_all():
    for block, expected in ((threads_for(SMALL), 1), (threads_for(LARGE), 3), (one_thread(), 1)):
        with block:
            assert torch.get_num_threads() == expected
        assert torch.get_num_threads() == 3


def test_large_work_inside_small_work_has_all_threads():
    with one_thread():
        with threads_for(SMALL), threads_for(LARGE):
            assert torch.get_num_threads() == 3
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


def test_one_thread_that_the_user_chose_stays_one():
    torch.set_num_threads(1)
    with one_thread(), threads_for(LARGE):
        assert torch.get_num_threads() == 1


def test_an_error_gives_the_threads_back():
    with pytest.raises(KeyError), one_thread(), threads_for(LARGE):
        raise KeyError
    assert torch.get_num_threads() == 3


def test_blocks_in_several_python_threads_do_not_disturb_each_other():
    def count(size):
        torch.set_num_threads(3)
        with one_thread(), threads_for(size):
            return torch.get_num_threads()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, [SMALL, LARGE] * 20)) == [1, 3] * 20
    assert torch.get_num_threads() == 3


class Recorder(TorchDispatchMode):
    """The operations on more than a few numbers that ran with several threads."""

    def __init__(self):
        super().__init__()
        self.large = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        numbers = max((a.numel() for a in args if isinstance(a, torch.Tensor)), default=0)
        if torch.get_num_threads() > 1 and numbers > 500:
            self.large.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.fixture
def seen(monkeypatch):
    """The numbers of threads with which Gram fields were computed and epochs were trained."""
    found = {"fields": set(), "epochs": set()}
    compute, train = stream._fields_of_batch, Run._train_epoch

    def spy_fields(*args):
        found["fields"].add(torch.get_num_threads())
        return compute(*args)

    def spy_epochs(self):
        found["epochs"].add(torch.get_num_threads())
        return train(self)

    monkeypatch.setattr(stream, "_fields_of_batch", spy_fields)
    monkeypatch.setattr(Run, "_train_epoch", spy_epochs)
    return found


def test_small_fits_use_one_thread(seen):
    clouds, y = np.random.default_rng(0).normal(size=(20, 16, 2)), np.arange(20) % 2
    model = pf.PointFormClassifier(epochs=2, dimension=2, random_state=0).fit(list(clouds), y)
    model.predict_proba(list(clouds))
    assert seen == {"fields": {1}, "epochs": {1}}
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize(
    "compute",
    [
        lambda clouds: pf.Geometry(clouds[0]).gram_field(),
        lambda clouds: pf.gram_field(clouds[0]),
        lambda clouds: pf.models.make("hodge").fit(clouds, np.arange(20) % 2).predict(clouds),
        lambda clouds: pf.models.make("point-transformer", epochs=1).fit(clouds, np.arange(20) % 2),
    ],
    ids=["geometry", "gram_field", "hodge", "point-transformer"],
)
def test_no_operation_on_small_clouds_shares_its_work(compute):
    clouds = list(np.random.default_rng(0).normal(size=(20, 20, 3)))
    with Recorder() as recorder:
        compute(clouds)
    assert recorder.large == []


def test_large_fits_use_the_threads_that_were_given(seen):
    clouds, y = np.random.default_rng(0).normal(size=(8, 1500, 40)), np.arange(8) % 2
    options = {"epochs": 1, "dimension": 2, "neighbors": 32, "hidden": (128, 128)}
    pf.PointFormClassifier(**options, random_state=0).fit(list(clouds.astype(np.float32)), y)
    assert seen == {"fields": {3}, "epochs": {3}}
    assert torch.get_num_threads() == 3
