"""What the page shows of a fitted model, whoever computed it."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np


@dataclass(frozen=True, eq=False)
class ArrowField:
    """A 1-form as arrows in a plane.

    Attributes
    ----------
    name : of the form
    points, arrows : (m, 2)
        Where the arrows are centred, and what is drawn there, in units of the axes.
    """

    name: str
    points: np.ndarray
    arrows: np.ndarray


@dataclass(frozen=True, eq=False)
class SignedArea:
    """A 2-form over two features.

    Attributes
    ----------
    name : of the form
    x, y : centres of cells, (g,) each
    values : (g, g)
        Coefficients of dx ∧ dy, rows upwards; NaN where there are no data.
    limit : half the range of the colours
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    limit: float


@dataclass(frozen=True, eq=False)
class Places:
    """Clouds as points of a plane, such as a PCA of their comparison matrices.

    Attributes
    ----------
    coordinates : (N, 2)
    labels : (N,)
        Indices of classes.
    names : one a cloud, for who points at it
    axes : names of the two axes
    """

    coordinates: np.ndarray
    labels: np.ndarray
    names: tuple[str, ...]
    axes: tuple[str, str]


@dataclass(frozen=True)
class SalienceRow:
    """How much the classes differ in what one basis form contributes.

    Attributes
    ----------
    name : of the basis form, such as "CD3" for a 1-form and "CD3 ∧ CD4" for a 2-form
    degree : k
    share : of the energy of the learned forms of its degree
    difference : part of the variation of its contribution that lies between the classes, 0 to 1
    p : of the difference, by permutation; NaN where there was none
    decision : what goes through it of a class's advantage, in logits
    agreement : part of the refits in which it is among the first; NaN without refits
    """

    name: str
    degree: int
    share: float
    difference: float
    p: float = nan
    decision: float = nan
    agreement: float = nan


@dataclass(frozen=True, eq=False)
class ExampleCloud:
    """One cloud, its points coloured by what they contribute to the prediction.

    Attributes
    ----------
    title : such as "circles, predicted 0.98"
    points : (n, 2)
    contributions : (n,)
        Positive ones speak for the cloud's own class.
    """

    title: str
    points: np.ndarray
    contributions: np.ndarray


@dataclass(frozen=True, eq=False)
class ModelView:
    """A fitted model as the page shows it. Parts that are empty are left out.

    Attributes
    ----------
    task, model : as tables call them
    origin : of the clouds, such as "simulated"; empty if nothing is to be said
    settings : of the fit, by name
    notes : sentences below the heading
    classes : names
    axes : of the plane of fields and examples
    extent : left, right, bottom and top of a frame about the data, which is drawn as a square
    data : (n, 2)
        Points of all clouds in that plane, drawn behind the fields.
    fields, areas, places, salience, examples
        What there is to see.
    salience_chance : the difference that chance alone reaches
    salience_notes : sentences below the bars
    """

    task: str
    model: str
    origin: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    axes: tuple[str, str] = ("x", "y")
    extent: tuple[float, float, float, float] | None = None
    data: np.ndarray | None = None
    fields: tuple[ArrowField, ...] = ()
    areas: tuple[SignedArea, ...] = ()
    area_axes: tuple[str, str] = ("x", "y")
    places: Places | None = None
    salience: tuple[SalienceRow, ...] = ()
    salience_chance: float = nan
    salience_notes: tuple[str, ...] = ()
    examples: tuple[ExampleCloud, ...] = ()
