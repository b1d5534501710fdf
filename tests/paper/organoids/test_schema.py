from __future__ import annotations

import pytest

from pointforms.paper.organoids.schema import PAIRS, module, schema, withheld


def test_schema_is_the_published_one():
    known = schema()
    assert (len(known.markers), len(known.columns), len(known.conditions())) == (44, 54, 27)
    treated = [c for c in known.conditions() if c[1] not in known.vehicles.values()]
    assert len(treated) * len(known.values["Patient"]) == 240
    assert len(known.conditions()) * len(known.values["Patient"]) * len(PAIRS) == 1080
    assert known.columns[44:46] == ("Date", "Patient")
    assert known.columns[-3:] == ("pPKCa", "Plate", "Batch")
    for task in ("tumor-selective", "efp", "caf"):
        assert set(withheld(task, "relaxed")) <= set(withheld(task)) <= set(known.markers)
    assert module("apoptosis") == ("cCaspase_3", "cPARP")
    with pytest.raises(ValueError, match="policy='loose'"):
        withheld("efp", "loose")
