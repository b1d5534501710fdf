"""A salience table as bars."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pointforms.explain.salience import Salience

_LEVEL = 0.05


def draw_salience(found: Salience, path: str | os.PathLike[str], most: int = 20) -> Path:
    """Bars of the first basis forms: the difference between classes, and the part in the decision.

    Bars are filled where p ≤ 0.05; a line shows how far chance reaches. The file ends in .png,
    .svg or .pdf.
    """
    from pointforms.plot.style import (
        BLACK,
        BLUE,
        GREY,
        ORANGE,
        literal,
        new_figure,
        save,
        styled,
    )

    @styled
    def drawn() -> Path:
        order = found.order()[:most]
        places = np.arange(len(order))
        figure = new_figure(0.9 + 0.22 * len(order))
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        clear = found.p[order] <= _LEVEL
        left.barh(
            places,
            found.difference[order],
            color=np.where(clear, BLUE, "white"),
            edgecolor=np.where(clear, BLUE, GREY),
        )
        for place, i in zip(places, order, strict=True):
            if np.isfinite(found.p[i]):
                text = f"p = {found.p[i]:.3f}" if found.p[i] <= _LEVEL else "n.s."
                left.annotate(
                    text,
                    (found.difference[i], place),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=6.5,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                )
        if np.isfinite(found.chance):
            left.axvline(found.chance, color=BLACK, linestyle="--", linewidth=0.9)
            left.annotate(
                "chance",
                (found.chance, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=6.5,
            )
        left.set_yticks(places, [literal(found.names[i]) for i in order])
        left.invert_yaxis()
        left.set_xlim(
            0, max(1.22 * float(found.difference.max()), 1.1 * np.nan_to_num(found.chance))
        )
        where = "unseen clouds" if found.refits else "in-sample"
        left.set_xlabel(f"difference: variation of $C^{{(I)}}$ between classes, η² ({where})")
        positive = found.decision[order] >= 0
        right.barh(places, found.decision[order], color=np.where(positive, BLUE, ORANGE))
        right.axvline(0, color=BLACK, linewidth=0.7)
        right.set_xlabel("decision: part of the output")
        right.spines["left"].set_visible(False)
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(axis="y", length=0)
        return save(figure, path)[0]

    return drawn()
