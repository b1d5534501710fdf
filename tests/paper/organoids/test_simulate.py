from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pyarrow import parquet

from pointforms.paper.organoids.schema import PAIRS, schema
from pointforms.paper.organoids.simulate import Simulator, write_simulated


def test_simulated_tables_have_the_schema_and_the_design(small):
    table = parquet.read_table(small)
    assert tuple(table.column_names) == schema().columns
    assert b"pointforms.simulated" in table.schema.metadata
    frame = table.select(["Patient", "Culture", "Cell_type", "Plate", "Treatment"]).to_pandas()
    assert set(zip(frame.Culture, frame.Cell_type, strict=True)) == {*PAIRS, ("PDO", "Fibs")}
    assert set(frame.Patient) == set(schema().values["Patient"])
    assert set(frame.Treatment) == set(schema().treatments)
    missing = np.isnan(table["pPKCa"].to_numpy()).mean()
    assert missing == pytest.approx(11_117_301 / 24_756_030, abs=0.1)
    assert (np.nan_to_num(table["CK18"].to_numpy()) >= 0).all()


def test_the_design_has_the_gaps_of_the_published_table():
    design = Simulator(cells=4).design()
    assert len(design) == 10 * 84 * 4 - 10 - 2 - 2 + 1 == 3347
    replicates = Counter(
        (s.patient, s.culture, s.cell_type, s.treatment, s.concentration) for s in design
    )
    short = {key for key, count in replicates.items() if count == 2}
    assert short == {(p, "F", "Fibs", "H2O", "0") for p in schema().values["Patient"]} | {
        ("23", "PDO", "PDOs", "C", "2"),
        ("23", "PDO", "PDOs", "CS", "3"),
        ("216", "F", "Fibs", "S", "4"),
        ("216", "F", "Fibs", "L", "4"),
    }
    (stray,) = [s for s in design if (s.culture, s.cell_type) not in PAIRS]
    assert (stray.patient, stray.culture, stray.treatment, stray.cells) == ("21", "PDO", "DMSO", 25)
    assert len({(s.patient, s.plate, s.date, s.batch) for s in design}) == 30
    assert len({s.date for s in design}) == 19


def test_the_optional_marker_is_missing_by_plate(small):
    table = parquet.read_table(small, columns=["Patient", "Plate", "pPKCa"]).to_pandas()
    missing = table["pPKCa"].isna().groupby([table["Patient"], table["Plate"]]).mean()
    assert set(missing) == {0.0, 1.0}
    lost = missing.groupby("Patient").sum()
    assert set(lost.index[lost == 3]) == {"27", "75", "141"}
    assert missing["21"].to_dict() == {"CSF": 1.0, "O": 0.0, "SLV": 1.0}


def test_one_seed_gives_one_table(tmp_path, small):
    write_simulated(tmp_path / "again.parquet", cells=4, seed=0)
    assert (tmp_path / "again.parquet").read_bytes() == small.read_bytes()
    with pytest.raises(ValueError, match=r"ends in \.parquet"):
        write_simulated(tmp_path / "cells.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["again.parquet"]


def test_markers_are_near_the_published_quartiles(small):
    """Within half a unit of asinh(x / 5), where dozens of percent are."""
    table = parquet.read_table(small)
    for name, wanted in schema().quartiles.items():
        values = table[name].to_numpy()
        found = np.quantile(values[np.isfinite(values)], 0.5)
        assert np.arcsinh(found / 5) == pytest.approx(np.arcsinh(wanted[1] / 5), abs=0.5), name


def test_a_response_has_a_geometry(small):
    """Drugs kill cells, and change markers that are in no label too."""
    simulator = Simulator(cells=300)
    samples = {
        s.treatment + s.concentration: (s, i)
        for i, s in enumerate(simulator.design())
        if s.patient == "5" and s.culture == "PDO" and s.replicate == "A"
    }
    control, treated = (simulator.cells_of(*samples[name]) for name in ("DMSO0", "S4"))
    place = list(simulator.markers).index("cPARP")
    assert np.arcsinh(treated[:, place] / 5).mean() > np.arcsinh(control[:, place] / 5).mean() + 0.1
