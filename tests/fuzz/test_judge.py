"""The judge tells results, clear and unclear errors, wrong values and hangs apart."""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from tests.fuzz import judge as judging
from tests.fuzz.judge import Verdict, judge, must


def fail(error: BaseException) -> None:
    raise error


@dataclass
class Field:
    values: object


CASES = {
    "number": (lambda: 1.5, Verdict.RESULT),
    "nothing": (lambda: None, Verdict.RESULT),
    "tensors": (lambda: {"a": [torch.ones(2), Field(np.arange(3))]}, Verdict.RESULT),
    "value error": (lambda: fail(ValueError("epochs=0: expected 1")), Verdict.CLEAR),
    "not fitted": (lambda: fail(NotFittedError("epochs")), Verdict.CLEAR),
    "no name": (lambda: fail(ValueError("expected 1")), Verdict.UNCLEAR),
    "another type": (lambda: fail(KeyError("epochs")), Verdict.UNCLEAR),
    "of a library": (lambda: json.loads("epochs"), Verdict.UNCLEAR),
    "assertion": (lambda: fail(AssertionError("epochs")), Verdict.UNCLEAR),
    "memory": (lambda: np.empty(10**12), Verdict.UNCLEAR),
    "warning": (lambda: warnings.warn("divide", RuntimeWarning, stacklevel=1), Verdict.UNCLEAR),
    "law": (lambda: must(False, "epochs"), Verdict.WRONG),
    "not a number": (lambda: [np.array([np.nan])], Verdict.WRONG),
    "infinite tensor": (lambda: Field(torch.tensor([np.inf])), Verdict.WRONG),
    "waiting hang": (lambda: time.sleep(5), Verdict.HANG),
    "computing hang": (lambda: sum(iter(lambda: 1, 0)), Verdict.HANG),
}


@pytest.mark.parametrize("case", CASES)
def test_verdicts(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, verdict = CASES[case]
    tally: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
    monkeypatch.setattr(judging, "tally", tally)
    monkeypatch.setattr(judging, "SECONDS", 0.05 if "hang" in case else 10)
    if verdict in judging.FAILURES:
        with pytest.raises(AssertionError, match=verdict):
            judge("family", call, ["epochs"])
    else:
        judge("family", call, ["epochs"])
    assert tally == {"family": Counter({verdict: 1})}


def test_every_error_is_unclear_where_an_input_must_be_accepted() -> None:
    with pytest.raises(AssertionError, match="expected no error"):
        judging._fail(Verdict.UNCLEAR, ValueError("epochs"), [])
    assert not judging._is_clear(ValueError("epochs"), [])
