"""A simulated table with the columns and the design of the published one.

A cell is a point in a small space of states: phase of the cycle, damage, epithelial character,
survival signalling. Drugs move cells in it, by amounts that depend on the patient, the dose and
the presence of fibroblasts. Markers follow the states along curves, so that a response also changes
the shape of a cloud in markers that its label does not use.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pointforms.paper.organoids.schema import FIBROBLAST, PAIRS, TUMOUR, module, schema
from pointforms.support.extras import need
from pointforms.support.files import atomic

# Effects of the single drugs: damage, arrest of the cycle, block of growth signals, and harm to
# fibroblasts. Combinations add up, and V prevents repair of the damage that S does.
_DRUGS = {
    "S": (1.0, 0.6, 0.0, 0.25),
    "F": (0.7, 0.5, 0.1, 0.35),
    "O": (0.6, 0.3, 0.0, 0.45),
    "V": (0.3, 0.1, 0.0, 0.2),
    "C": (0.0, 0.4, 1.0, 0.0),
    "L": (0.05, 0.1, 0.1, 0.05),
}
_SYNERGY = {"VS": 0.5}
# Median and quartile distance, on the scale asinh(x / 5), of markers whose quartiles are unknown.
_USUAL = (3.0, 1.4)
# Rows that are written at once.
_GROUP = 1 << 17
_STATES = 6  # cos and sin of the phase, cycling, damage, epithelial character, survival


class SimulatedSample(NamedTuple):
    """Cells of one type in one well; apart from `cells`, fields are columns of the table."""

    date: str
    patient: str
    culture: str
    cell_type: str
    plate: str
    treatment: str
    concentration: str
    replicate: str
    batch: int
    cells: int


class Simulator:
    """Makes samples; the same seed gives the same table.

    Parameters
    ----------
    cells : int or None, default 120
        Mean number of cells per sample; None gives the published size.
    seed : int, default 0
    """

    def __init__(self, cells: int | None = 120, seed: int = 0) -> None:
        if cells is not None and cells < 1:
            raise ValueError(f"cells={cells!r}: expected at least 1")
        self.cells, self.seed = cells, seed
        known = schema()
        rng = np.random.default_rng([seed, 0])
        self.markers = (*known.markers, known.optional)
        M = len(self.markers)
        patients = known.values["Patient"]
        self.patient_offset = {p: rng.normal(0, 0.5, M) for p in patients}
        # patients differ in how their markers respond
        self.patient_line = {p: rng.normal(0, 0.1, (_STATES, M)) for p in patients}
        dates = sorted({date for plates in known.dates.values() for date in plates.values()})
        self.date_offset = {date: rng.normal(0, 0.15, M) for date in dates}
        self.sensitivity = {p: rng.lognormal(-0.1, 0.5, len(_DRUGS)) for p in patients}
        self.protection = {p: rng.uniform(0.2, 0.9) for p in patients}
        self.toxicity = {p: rng.lognormal(-0.2, 0.5) for p in patients}
        self._loadings(rng)
        self._calibrate()

    # --- cells ------------------------------------------------------------------------------

    def _loadings(self, rng: np.random.Generator) -> None:
        """Draw how markers follow the states: a linear and a bending term for each."""
        M, place = len(self.markers), {m: i for i, m in enumerate(self.markers)}
        self.line = rng.normal(0, 0.3, (_STATES, M))
        self.bend = rng.normal(0, 0.25, (_STATES, M))
        self.line[3] *= 0.2  # damage shifts few markers and bends the others
        self.bend[3] *= 0.5
        self.line[:3], self.bend[:3] = 0.5 * self.line[:3], 0.5 * self.bend[:3]
        self.type_shift = {TUMOUR: rng.normal(0, 0.3, M), FIBROBLAST: rng.normal(0, 0.3, M)}

        def only(names: tuple[str, ...]) -> list[int]:
            places = [place[name] for name in names]
            self.line[:, places], self.bend[:, places] = 0, 0
            return places

        self.apoptosis = only(module("apoptosis"))
        damage = only(module("dna_damage"))
        self.line[3, damage] = (0.9, 0.7, 0.5)
        epithelial, mesenchymal = only(module("epithelial")), only(module("mesenchymal"))
        self.line[4, epithelial], self.line[4, mesenchymal] = 0.8, -0.7
        survival = only(module("survival"))
        self.line[5, survival] = 0.7
        cycle = dict(zip(module("cell_cycle"), only(module("cell_cycle")), strict=True))
        # peaks of the cycle's markers, as (phase, width); pRB is high all through it
        self.peaks = {
            cycle["IdU"]: (0.45, 0.09),
            cycle["Geminin"]: (0.6, 0.18),
            cycle["Cyclin_B1"]: (0.75, 0.12),
            cycle["PLK"]: (0.82, 0.1),
            cycle["pHH3"]: (0.92, 0.04),
        }
        self.cycling_marker = cycle["pRB"]
        for kind, names, height in (
            (TUMOUR, ("EpCAM", "CK18", "Pan_CK", "GFP"), 1.3),
            (FIBROBLAST, ("Vimentin", "CD90", "mCHERRY", "RFP"), 1.2),
        ):
            other = FIBROBLAST if kind == TUMOUR else TUMOUR
            for name in names:
                self.type_shift[kind][place[name]] = height
                self.type_shift[other][place[name]] = -height

    def _states(
        self, sample: SimulatedSample, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the states (n, 6) of cells, and which of them die (n,)."""
        n = sample.cells
        damage, arrest, block, harm = self._effect(sample)
        tumour, together = sample.cell_type == TUMOUR, sample.culture == "PDOF"
        if not tumour:
            damage, arrest, block = harm, 0.4 * harm, 0.0
        cycling = rng.random(n) < np.clip((0.55 if tumour else 0.3) - 0.35 * arrest, 0.03, 1)
        phase = 2 * np.pi * rng.random(n)
        hurt = rng.gamma(1.5, 0.25 + 0.6 * damage, n)
        drift = together * tumour * (0.2 + 1.2 * self.protection[sample.patient] * damage)
        character = rng.normal((0.0 if tumour else -0.5) - drift - 0.2 * damage, 0.6, n)
        support = 0.5 * together * tumour * self.protection[sample.patient]
        survival = rng.normal(support * (0.5 + 2 * damage) - 0.8 * block, 0.6, n) - 0.25 * hurt
        dying = rng.random(n) < 1 / (1 + np.exp(-(1.3 * hurt - 0.8 * survival - 3.2)))
        states = np.column_stack(
            [
                np.cos(phase) * cycling,
                np.sin(phase) * cycling,
                cycling - 0.5,
                hurt,
                character,
                survival,
            ]
        )
        return states, dying

    def _effect(self, sample: SimulatedSample) -> np.ndarray:
        """Return damage, arrest, block and harm by a treatment of this patient's cells."""
        code = sample.treatment
        if code in schema().vehicles.values():
            return np.zeros(4)
        names, sensitivity = list(_DRUGS), self.sensitivity[sample.patient]
        total = np.zeros(4)
        for drug in code:
            total += np.array(_DRUGS[drug]) * np.append(
                np.repeat(sensitivity[names.index(drug)], 3), self.toxicity[sample.patient]
            )
        total[0] += _SYNERGY.get(code, 0.0) * sensitivity[names.index("S")]
        if sample.culture == "PDOF":  # fibroblasts shield the tumour
            total[:3] *= 1 - 0.5 * self.protection[sample.patient]
        dose: np.ndarray = total * (int(sample.concentration) / 4) ** 0.7
        return dose

    def _levels(self, sample: SimulatedSample, rng: np.random.Generator) -> np.ndarray:
        """Return markers of the cells before they are scaled to counts: (n, M)."""
        states, dying = self._states(sample, rng)
        own = self.patient_line[sample.patient] * (np.abs(self.line).sum(0) > 0)
        levels = states @ (self.line + own) + np.tanh(states) ** 2 @ self.bend
        phase = np.arctan2(states[:, 1], states[:, 0]) / (2 * np.pi) % 1
        cycling = states[:, 2] > 0
        for place, (peak, width) in self.peaks.items():
            away = np.abs(phase - peak)
            away = np.minimum(away, 1 - away)
            levels[:, place] = 2.0 * cycling * np.exp(-0.5 * (away / width) ** 2)
        levels[:, self.cycling_marker] = 1.2 * cycling
        levels[:, self.apoptosis] = (1.6 * dying + 0.15 * states[:, 3])[:, None]
        levels -= 0.5 * dying[:, None] * (np.abs(self.line).sum(0) > 0)
        levels += self.type_shift[sample.cell_type]
        levels += self.patient_offset[sample.patient] + self.date_offset[sample.date]
        noisy: np.ndarray = levels + rng.normal(0, 0.6, levels.shape)
        return noisy

    def _calibrate(self) -> None:
        """Set shift and stretch of every marker so that its quartiles are near the published."""
        rng = np.random.default_rng([self.seed, 1])
        pilot = [sample._replace(cells=20) for sample in self.design()]
        chosen = rng.permutation(len(pilot))[:400]
        levels = np.concatenate([self._levels(pilot[i], rng) for i in chosen])
        low, middle, high = np.quantile(levels, (0.25, 0.5, 0.75), axis=0)
        wanted = [self._quartiles(name) for name in self.markers]
        median, spread = np.array(wanted).T
        self.stretch = spread / np.maximum(high - low, 1e-6)
        self.shift = median - self.stretch * middle

    @staticmethod
    def _quartiles(name: str) -> tuple[float, float]:
        """Return median and quartile distance of asinh(x / 5)."""
        known = schema().quartiles.get(name)
        if known is None:
            return _USUAL
        low, middle, high = np.arcsinh(np.array(known) / 5)
        return float(middle), float(max(high - low, 0.4))

    def cells_of(self, sample: SimulatedSample, number: int) -> np.ndarray:
        """Return raw counts of a sample's cells (n, M); some dates lack the optional marker."""
        rng = np.random.default_rng([self.seed, 2, number])
        values = self.shift + self.stretch * self._levels(sample, rng)
        counts: np.ndarray = np.maximum(5 * np.sinh(np.minimum(values, 11)), 0).round(3)
        if sample.date in schema().dates_without_optional:
            counts[:, -1] = np.nan
        return counts

    # --- design -----------------------------------------------------------------------------

    def design(self) -> list[SimulatedSample]:
        """Return the samples of the published table, with its gaps and its stray cells."""
        known = schema()
        rng = np.random.default_rng([self.seed, 3])
        patients = known.values["Patient"]
        total = sum(known.cells["patients"].values()) / len(patients)
        samples = []
        for patient in patients:
            size = known.cells["patients"][patient] / total
            for culture, cell_type in PAIRS:
                usual = known.cells["sample"][culture][cell_type == FIBROBLAST]
                for plate, treatment, concentration in known.conditions():
                    last = 6 if treatment == "DMSO" else 3
                    date = known.dates[patient][plate]
                    batch = 2 if plate == "O" else 1
                    for replicate in known.values["Replicate"][:last]:
                        if known.lacks(patient, culture, treatment, concentration, replicate):
                            continue
                        mean = usual if self.cells is None else self.cells
                        count = max(4, round(mean * size * rng.lognormal(-0.05, 0.3)))
                        origin = (date, patient, culture, cell_type)
                        well = (plate, treatment, concentration, replicate)
                        samples.append(SimulatedSample(*origin, *well, batch, count))
        stray = known.stray
        date = known.dates[stray["patient"]][stray["plate"]]
        return [*samples, SimulatedSample(date=date, batch=1, **stray)]

    def table(self, sample: SimulatedSample, number: int) -> Any:
        """Return the cells of a sample as an Arrow table."""
        import pyarrow as pa

        known = schema()
        columns: dict[str, Any] = dict(
            zip(self.markers, self.cells_of(sample, number).T, strict=True)
        )
        for name in known.metadata:
            columns[name] = pa.repeat(getattr(sample, name.lower()), sample.cells)
        return pa.table({name: columns[name] for name in known.columns})


# Metadata that marks a file as simulated.
MARK = b"pointforms.simulated"


def write_simulated(
    path: str | os.PathLike[str],
    cells: int | None = 120,
    seed: int = 0,
    advance: Callable[[int], None] = lambda samples: None,
) -> tuple[int, int]:
    """Write a simulated table as parquet, marked as simulated; return its samples and rows.

    Parameters
    ----------
    path : path-like
        The .parquet file.
    cells : int or None, default 120
        Mean number of cells per sample; None gives the published size, 25 million rows.
    seed : int, default 0
    advance : callable, optional
        Called with the number of samples whenever some are written.
    """
    need("pyarrow", "table")
    import pyarrow as pa
    from pyarrow import parquet

    target = Path(path)
    if target.suffix.lower() != ".parquet":
        raise ValueError(f"{os.fspath(path)!r}: expected a name that ends in .parquet")
    simulator = Simulator(cells, seed)
    design = simulator.design()
    columns = simulator.table(design[0], 0).schema.with_metadata({MARK: str(seed).encode()})
    with (
        atomic(target) as partial,
        parquet.ParquetWriter(partial, columns, compression="zstd") as writer,
    ):
        kept, held = [], 0
        for number, sample in enumerate(design):
            kept.append(simulator.table(sample, number).cast(columns))
            held += sample.cells
            if held >= _GROUP or number == len(design) - 1:
                writer.write_table(pa.concat_tables(kept))
                kept, held = [], 0
            advance(1)
    return len(design), sum(sample.cells for sample in design)
