"""Growth of the cost with n, D, k, l and neighbours, compared with operation counts.

Measures the processor time of Gram fields, and of one forward and backward pass of the comparison
layer, while one size varies. Only ratios within this run are compared: the slope of log time over
log size, beside the slopes of the number of multiplications in our code and in the formulas of the
paper. `python -m benchmarks.scaling docs` writes the table and the figure into the documentation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb, factorial
from pathlib import Path

import numpy as np
import torch

import pointforms as pf
from benchmarks.tables import Results
from pointforms.nn.field_store import FieldStore
from pointforms.nn.point_forms import PointForms
from pointforms.nn.prepared_forms import compound_fits
from pointforms.plot import style

# Width of the two hidden layers of a coefficient network, terms of a wedge form: the defaults.
H, TERMS = 64, 2
# Number of clouds in the batch that the layer compares.
BATCH = 16
# By how much a measured slope may exceed that of our count (blocks, caches, small sizes).
MARGIN = 0.35
REPEATS = 7


@dataclass(frozen=True)
class Sizes:
    """Sizes of a problem: n points with D features, their neighbours, and l forms of degree k."""

    n: int = 128
    D: int = 12
    neighbors: int = 32
    forms: int = 8
    degree: int = 1
    rank: int | None = None
    wedge: bool = False

    @property
    def r(self) -> int:
        """Number of columns of the factor."""
        return min(self.D, self.neighbors, self.n, self.rank or self.D)

    def basis(self) -> int:
        """Return C(D, k)."""
        return comb(self.D, self.degree)


@dataclass(frozen=True)
class Sweep:
    """A sequence of sizes in which one grows, with the functions that time and count each."""

    part: str
    varies: str
    values: Sequence[int]
    sizes: Sequence[Sizes]
    task: Callable[[Sizes], Callable[[], object]]
    ours: Callable[[Sizes], float]
    paper: Callable[[Sizes], float]


@dataclass(frozen=True, eq=False)
class Measured:
    """A sweep with its times in seconds."""

    sweep: Sweep
    seconds: np.ndarray

    @property
    def by_degree(self) -> bool:
        return self.sweep.varies.split(",")[0] == "k"

    def slopes(self) -> tuple[float, float, float]:
        """Return the slopes of the time, of our count and of the paper's count."""
        sizes = self.sweep.sizes
        counts = [[count(s) for s in sizes] for count in (self.sweep.ours, self.sweep.paper)]
        time_slope, ours, paper = (slope(self.sweep.values, y) for y in (self.seconds, *counts))
        return time_slope, ours, paper


def slope(x: Sequence[int], y: Sequence[float] | np.ndarray) -> float:
    """Return the exponent a of y ~ x^a, by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


# --- what is timed --------------------------------------------------------------------------


def gram(s: Sizes) -> Callable[[], object]:
    points = np.random.default_rng(0).normal(size=(s.n, s.D))
    return lambda: pf.gram_field(points, neighbors=s.neighbors, dimension=min(2, s.D))


def layer(s: Sizes) -> Callable[[], object]:
    """Return a forward and backward pass on a batch with prepared geometry, as in training."""
    rng = np.random.default_rng(0)
    clouds = rng.normal(size=(BATCH, s.n, s.D)).astype(np.float32)
    fields = pf.gram_fields(clouds, neighbors=s.neighbors, dimension=2, rank=s.rank)
    degrees = () if s.wedge else (s.degree,)
    batch = FieldStore(fields, degrees=degrees).gather(torch.arange(BATCH))
    forms = PointForms(s.D, s.degree, s.forms, "wedge" if s.wedge else "dense")

    def step() -> None:
        C = forms(batch, batch.points)
        C.backward(torch.ones_like(C))

    return step


# --- what is counted: multiplications per cloud --------------------------------------------


def our_gram(s: Sizes) -> float:
    """Count the search, then G and its factor, or the columns alone if fewer than D."""
    tree = s.D <= 10 and s.n > 512
    search = s.n * s.neighbors * np.log2(s.n) if tree else s.n**2 * s.D
    k = s.neighbors
    factor = k * s.D if k <= s.D else k * s.D**2 + s.D**3 / 3
    return float(search + s.n * factor)


def paper_gram(s: Sizes) -> float:
    """Count all distances and D(D+1)/2 sparse products: O(n² D + n D² neighbours)."""
    return float(s.n**2 * s.D + s.n * s.D * (s.D + 1) / 2 * s.neighbors)


def our_layer(s: Sizes) -> float:
    """Count the network and the pairing, by the route that the layer takes."""
    trunk = 2 * s.D * H + 3 * H * H
    k, l, r, C, c = s.degree, s.forms, s.r, s.basis(), comb(s.r, s.degree)
    if s.wedge:
        ones = l * TERMS * k
        pairs = factorial(k) * k * (l * TERMS) ** 2
        return float(
            s.n * (trunk + 3 * H * ones * s.D + 2 * ones * s.D * r + 3 * ones**2 * r + pairs)
        )
    if k >= 2 and not compound_fits(s.D, r, k, BATCH * s.n):
        # slot by slot: by the factor there and back, or by the Gram matrix at once
        there, at_once = (comb(w, k - 1) * (C + (s.D - k + 1) * w) for w in (r, s.D))
        slots = l * min(2 * there, at_once)
        return float(s.n * (trunk + 3 * H * l * C + slots + 3 * l * l * c))
    pairing = l * C * min(2 * c, C)
    return float(s.n * (trunk + 3 * H * l * C + pairing) + 3 * l * l * C * H)


def paper_layer(s: Sizes) -> float:
    """Count the network and O(n l² C(D, k)²): all pairs by the dense compound Gram matrix."""
    C = s.basis()
    return float(s.n * (2 * s.D * H + 3 * H * H + 3 * H * s.forms * C + 2 * (s.forms * C) ** 2))


# --- the sweeps -----------------------------------------------------------------------------


def sweeps() -> list[Sweep]:
    """Vary one size at a time, from n = 1024 (Gram field) or 16 clouds of 128 (layer)."""
    base, wide = Sizes(n=1024), Sizes()
    varied_sizes = []
    for part, task, ours, paper, start, varied in (
        (
            "Gram field", gram, our_gram, paper_gram, base,
            {
                "n, D = 3": (1000, 2000, 4000, 8000, 16000),
                "n": (512, 1024, 2048, 4096),
                "D": (12, 24, 48, 96),
                "neighbors": (16, 32, 64, 128, 256),
            },
        ),
        (
            "layer", layer, our_layer, paper_layer, wide,
            {
                "n": (128, 256, 512, 1024),
                "D": (8, 16, 32, 64),
                "neighbors": (16, 32, 64, 128),
                "forms": (4, 8, 16, 32, 64),
            },
        ),
    ):  # fmt: skip
        for varies, values in varied.items():
            name = varies.split(",")[0]
            at = replace(start, D=3) if varies == "n, D = 3" else start
            sizes = [replace(at, **{name: value}) for value in values]
            varied_sizes.append(Sweep(part, varies, values, sizes, task, ours, paper))
    for label, options in (
        ("k", {}),
        ("k, rank 4", {"rank": 4}),
        ("k, wedge", {"wedge": True}),
    ):
        sizes = [replace(wide, degree=k, **options) for k in (1, 2, 3)]
        values = [s.basis() for s in sizes]
        varied_sizes.append(Sweep("layer", label, values, sizes, layer, our_layer, paper_layer))
    return varied_sizes


def measure(sweep: Sweep, repeats: int = REPEATS) -> Measured:
    """Measure the shortest processor time at every size; the sizes alternate."""
    tasks = [sweep.task(sizes) for sizes in sweep.sizes]
    best = np.full(len(tasks), np.inf)
    for _ in range(repeats + 1):
        for i, task in enumerate(tasks):
            start = time.process_time()
            task()
            best[i] = min(best[i], time.process_time() - start)
    return Measured(sweep, best)


# --- what is shown --------------------------------------------------------------------------


def add(results: Results, measured: Measured) -> None:
    time_slope, ours, paper = measured.slopes()
    case = f"{measured.sweep.part}: {measured.sweep.varies}"
    if measured.by_degree:  # the route changes with k, and moving memory dominates
        results.note(case, "exponent", f"{time_slope:.4g}")
    else:
        results.add(case, "exponent", time_slope, ours + MARGIN)
    results.note(case, "of our count", f"{ours:.2f}")
    results.note(case, "of the paper's", f"{paper:.2f}")


def markdown(measured: Sequence[Measured]) -> str:
    """Return the table of the documentation."""
    headings = ("", "what grows", "through", "time, relative", "exponent", "our count", "paper's")
    lines = [f"| {' | '.join(headings)} |", "| :-- | :-- | :-- | :-- | --: | --: | --: |"]
    for one in measured:
        sizes = [s.degree for s in one.sweep.sizes] if one.by_degree else one.sweep.values
        cells = (
            one.sweep.part,
            one.sweep.varies.replace("neighbors", "neighbours").replace("forms", "forms l"),
            " · ".join(map(str, sizes)),
            " · ".join(f"{t:.3g}" for t in one.seconds / one.seconds[0]),
            *(f"{x + 0.0:.2f}".replace("-", "−") for x in np.round(one.slopes(), 2)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


PANELS = (
    ("Gram field", "n", "points n"),
    ("Gram field", "D", "features D"),
    ("Gram field", "neighbors", "neighbours"),
    ("layer", "n", "points n"),
    ("layer", "D", "features D"),
    ("layer", "neighbors", "neighbours"),
    ("layer", "forms", "forms l"),
    ("layer", "k", "basis forms C(12, k)"),
)


@style.styled
def draw(measured: Sequence[Measured], path: Path) -> None:
    """Draw times over sizes, logarithmic and relative to the smallest, with the counts."""
    figure = style.new_figure(4.2)
    axes = figure.subplots(2, 4).ravel()
    for panel, (part, name, label) in zip(axes, PANELS, strict=True):
        shown = [
            m for m in measured if m.sweep.part == part and m.sweep.varies.split(",")[0] == name
        ]
        for i, one in enumerate(shown):
            x = np.array(one.sweep.values)
            colour, mark = style.COLOURS[i], style.MARKS[i]
            ours = np.array([one.sweep.ours(s) for s in one.sweep.sizes])
            text = one.sweep.varies.partition(", ")[2] or ("full rank" if name == "k" else "D = 12")
            panel.plot(x, one.seconds / one.seconds[0], color=colour, marker=mark, label=text)
            panel.plot(x, ours / ours[0], color=colour, linestyle="dotted")
        paper = np.array([shown[-1].sweep.paper(s) for s in shown[-1].sweep.sizes])
        top = 1.6 * max(float((m.seconds / m.seconds[0]).max()) for m in shown)
        panel.plot(shown[-1].sweep.values, paper / paper[0], color=style.GREY, linestyle="dashed")
        panel.set(xscale="log", yscale="log", xlabel=label, title=part, ylim=(0.6, max(top, 8)))
        panel.minorticks_off()
        ticks = sorted({v for m in shown for v in m.sweep.values})
        ticks = [t for t in ticks if len(shown) == 1 or name == "k" or t in (512, 2000, 8000)]
        panel.set_xticks(ticks, [f"{t}" for t in ticks])
        heights = [t for t in (1, 2, 5, 10, 20, 50, 100, 1000) if t <= panel.get_ylim()[1]]
        if top > 100:
            heights = [t for t in heights if t in (1, 10, 100, 1000)]
        panel.set_yticks(heights, [f"{t}" for t in heights])
        if len(shown) > 1:
            panel.legend(fontsize=6.5, handlelength=1.2)
        style.open_frame(panel)
    for left in (axes[0], axes[4]):
        left.set_ylabel("relative to the smallest")
    from matplotlib.lines import Line2D

    kinds = (
        ("time", style.BLUE, "-"),
        ("our count", style.BLUE, ":"),
        ("paper's", style.GREY, "--"),
    )
    figure.legend(
        handles=[Line2D([], [], color=c, linestyle=s, label=n) for n, c, s in kinds],
        loc="outside upper center", ncols=3,
    )  # fmt: skip
    style.save(figure, path)


def main(docs: Path | None = None) -> list[str]:
    """Print the table, return what missed its bound; with a folder, write table and figure."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    measured = [measure(sweep) for sweep in sweeps()]
    torch.set_num_threads(threads)
    results = Results("Scaling: exponents, at most our count's and a margin")
    for one in measured:
        add(results, one)
    results.print()
    picture = (docs / "images" if docs else Path("build")) / "scaling.svg"
    draw(measured, picture)
    print(f"Picture: {picture}")
    if docs:
        table = docs / "tables" / "scaling.md"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text(markdown(measured), "utf-8")
        print(f"Table: {table}")
    return results.missed


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1]) if sys.argv[1:] else None) else 0)
