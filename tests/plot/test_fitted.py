"""Views and figures: what is on the axes, and what is on the disk."""

from __future__ import annotations

import os

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib._pylab_helpers import Gcf
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.quiver import Quiver
from typer.testing import CliRunner

import pointforms as pf
from pointforms import plot
from pointforms.cli.app import app
from pointforms.nn.network import PointFormNetwork
from pointforms.paper.figures import catalogue as paper
from pointforms.paper.figures.geometry import curve, gram_field_figure, restricted_forms_figure
from pointforms.paper.figures.learned import alignment, circles_figure
from pointforms.plot import style
from pointforms.plot.ellipses import outlines, spread_out
from pointforms.tasks import rna

run = CliRunner().invoke


@pytest.fixture(scope="module")
def clouds() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, 3)) for n in (30, 40, 50, 60)]


@pytest.fixture(scope="module")
def network() -> PointFormNetwork:
    torch.manual_seed(0)
    return PointFormNetwork(3, 2, (1, 2), forms=5, hidden=(8,)).eval()


def drawn(axes, kind):
    return [artist for artist in axes.get_children() if isinstance(artist, kind)]


def test_a_form_field_draws_the_arrows_of_its_data(clouds, network):
    figure = plot.form_field(
        network, clouds, ["b", "a", "b", "a"], ("u", "w"), features=["u", "v", "w"], grid=9
    )
    data = plot.form_field_data(network, clouds, (0, 2), grid=9)
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == 1 + 5
    for a, axes in enumerate(panels[1:]):
        (quiver,) = drawn(axes, Quiver)
        np.testing.assert_allclose(np.stack([quiver.U, quiver.V], 1), data.arrows()[:, a])
        np.testing.assert_allclose(quiver.XY, data.points)
        assert axes.get_box_aspect() == 1
    assert figure.get_supxlabel().startswith("u\n")
    assert "means over the points" in figure.get_supxlabel()  # the projection is said
    assert figure.get_supylabel() == "w"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_class_names_follow_labels_that_index_them(clouds, network):
    figure = plot.form_field(network, clouds, [1, 1, 1, 1], class_names=["no", "yes"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["no", "yes"]
    colours = {
        tuple(np.round(c.get_facecolor()[0, :3], 3))
        for c in drawn(figure.axes[0], PathCollection)
        if len(c.get_offsets())
    }
    assert colours == {tuple(np.round([0xD5 / 255, 0x5E / 255, 0], 3))}  # the second class's
    with pytest.raises(ValueError, match="shape"):
        plot.form_field(network, clouds, [0, 1])
    with pytest.raises(ValueError, match="3 class names for 2 classes"):
        plot.form_field(network, clouds, list("abab"), class_names=["x", "y", "z"])


def test_area_maps_share_one_symmetric_scale(clouds, network):
    figure = plot.area_map(network, clouds, (1, 2), grid=7)
    images = [image for axes in figure.axes for image in drawn(axes, AxesImage)]
    assert len(images) == 5
    data = plot.area_map_data(network, clouds, (1, 2), grid=7)
    for a, image in enumerate(images):
        np.testing.assert_allclose(np.ma.filled(image.get_array(), np.nan), data.values[a])
        low, high = image.get_clim()
        assert low == -high == -data.limit()
    assert "coefficient of\ndy ∧ dz" in [axes.get_ylabel() for axes in figure.axes]


def test_ellipses_have_the_half_axes_of_g():
    G = torch.tensor([[[4.0, 0.0], [0.0, 0.25]], [[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)
    at = torch.tensor([[1.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    V = (
        torch.linalg.eigh(G).eigenvectors
        * torch.linalg.eigh(G).eigenvalues.clamp_min(0).sqrt()[:, None]
    )
    rings = outlines(at, V, radius=0.5, sides=360) - at[:, None]
    # {r V u : |u| = 1}: xᵀ G⁻¹ x = r², and all of it in the image of G
    solved = torch.linalg.solve(G[0], rings[0].T)
    torch.testing.assert_close((rings[0].T * solved).sum(0), torch.full((360,), 0.25).double())
    assert float((rings[1] @ torch.tensor([1.0, -1.0]).double()).abs().max()) < 1e-9
    assert float(rings[1].norm(dim=1).max()) == pytest.approx(0.5 * 2**0.5, rel=1e-3)


def test_spread_out_points_are_far_apart(rng):
    points = torch.from_numpy(rng.normal(size=(300, 2)))
    chosen = spread_out(points, 20)
    apart = torch.cdist(points[chosen], points[chosen])
    covered = torch.cdist(points, points[chosen]).min(1).values.max()
    # farthest-point sampling: no two nearer than what is left uncovered
    assert float((apart + torch.eye(20) * 9).min()) >= float(covered)
    assert len(spread_out(points[:5], 20)) == 5


def test_tangent_ellipses_of_a_circle_lie_along_it():
    t = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.stack([np.cos(t), np.sin(t), 0 * t], 1)
    field = pf.gram_field(circle, neighbors=16, dimension=1)
    figure = plot.tangent_ellipses(field, ("x", "y"), count=25)
    (axes,) = figure.axes
    assert axes.get_aspect() == 1.0
    (patches,) = drawn(axes, PolyCollection)
    assert len(patches.get_paths()) == 25
    for path in patches.get_paths():
        corners = path.vertices[:-1]
        middle = corners.mean(0)
        assert np.linalg.norm(middle) == pytest.approx(1, abs=0.01)
        longest = corners[np.linalg.norm(corners - middle, axis=1).argmax()] - middle
        cosine = abs(longest @ middle) / np.linalg.norm(longest) / np.linalg.norm(middle)
        assert cosine < 0.05


def test_energy_colours_every_point_with_its_own_value(clouds):
    energies = [np.abs(cloud[:, 0]) for cloud in clouds]
    figure = plot.energy_scatter(clouds, energies, (0, 1))
    (points,) = drawn(figure.axes[0], PathCollection)
    # the picture shows x, so the colour is its absolute value, whatever the order
    np.testing.assert_allclose(points.get_array(), np.abs(points.get_offsets()[:, 0]))
    assert len(points.get_offsets()) == 180
    assert (np.diff(points.get_array()) >= 0).all()  # the strongest on top
    assert figure.axes[1].get_ylabel() == "energy"
    signed = plot.energy_scatter(clouds, [cloud[:, 0] for cloud in clouds], (0, 1))
    (points,) = drawn(signed.axes[0], PathCollection)
    assert points.get_clim()[0] == -points.get_clim()[1]
    assert signed.axes[1].get_ylabel() == "contribution"
    with pytest.raises(ValueError, match=r"cloud 1 have shape \(3,\): expected \(40,\)"):
        plot.energy_scatter(clouds, [energies[0], np.ones(3), *energies[2:]])
    with pytest.raises(ValueError, match="not finite"):
        plot.energy_scatter(clouds, [e * np.nan for e in energies])


def test_comparison_pca_says_what_its_axes_explain(rng):
    A = rng.normal(size=(30, 3, 3))
    C = A @ A.transpose(0, 2, 1)
    labels = np.arange(30) % 3
    figure = plot.comparison_pca(C, labels, ["a", "b", "c"])
    data = plot.comparison_pca_data(C)
    (axes,) = figure.axes
    assert axes.get_xlabel() == f"PC 1 ({data.explained[0]:.0%} of variance)"
    assert axes.get_ylabel() == f"PC 2 ({data.explained[1]:.0%} of variance)"
    offsets = np.concatenate([c.get_offsets() for c in drawn(axes, PathCollection)])
    np.testing.assert_allclose(np.sort(offsets, 0), np.sort(data.coordinates, 0))


def test_a_prediction_runs_from_its_baseline_to_its_sum(clouds, rng):
    values = rng.normal(size=30)
    figure = plot.cloud_prediction(clouds[0], values, (0, 1), baseline=-0.5, output="log-odds")
    running = figure.axes[1]
    steps = max(running.get_lines(), key=lambda line: len(line.get_ydata())).get_ydata()
    assert steps[0] == -0.5
    assert steps[-1] == pytest.approx(-0.5 + values.sum())
    jumps = np.abs(np.diff(steps))
    assert (np.diff(jumps) <= 1e-12).all()  # the weightiest first
    texts = " ".join(text.get_text() for text in running.texts)
    assert "baseline\n−0.50" in texts
    assert "contribution to log-odds" in [axes.get_ylabel() for axes in figure.axes]
    with pytest.raises(ValueError, match=r"shape \(3,\): expected \(30,\)"):
        plot.cloud_prediction(clouds[0], np.ones(3))


# --- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "start"), [(".pdf", b"%PDF"), (".svg", b"<?xml"), (".png", b"\x89PNG")]
)
def test_pictures_are_written_in_every_format_and_the_same_each_time(tmp_path, suffix, start, rng):
    C = rng.normal(size=(10, 2, 2))
    for name in ("one", "two"):
        plot.comparison_pca(C, path=tmp_path / "new" / f"{name}{suffix}")
    one, two = ((tmp_path / "new" / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
    assert one.startswith(start)
    assert one == two
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_what_fails_leaves_what_was_there(tmp_path, monkeypatch):
    figure = Figure()
    style.save(figure, tmp_path / "a.png")
    before = (tmp_path / "a.png").read_bytes()
    real = Figure.savefig

    def broken(self, target, *args, **kwargs):
        real(self, target, *args, **kwargs)
        if str(target).endswith(".pdf"):
            raise OSError("the disk is full")

    monkeypatch.setattr(Figure, "savefig", broken)
    figure.text(0.5, 0.5, "other")
    with pytest.raises(OSError, match="full"):
        style.save(figure, tmp_path / "a.png", tmp_path / "a.pdf")
    assert (tmp_path / "a.png").read_bytes() == before
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_picture_needs_a_pictures_ending(tmp_path):
    with pytest.raises(ValueError, match=r"pictures end in \.pdf, \.png, \.svg"):
        plot.comparison_pca(np.zeros((3, 2, 2)), path=tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


def test_drawing_changes_no_settings_and_leaves_no_figure_open(rng):
    def settings():
        return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != "backend"}

    before, open_before = settings(), Gcf.get_all_fig_managers()
    plot.comparison_pca(rng.normal(size=(5, 2, 2)))
    with pytest.raises(ValueError):
        plot.comparison_pca(np.zeros((1, 2, 2)))
    assert settings() == before
    assert Gcf.get_all_fig_managers() == open_before


# --- the paper's figures --------------------------------------------------------------------


def test_the_curves_tangents_are_its_derivative():
    t = np.linspace(0, 6, 50)
    step = 1e-6
    points, tangents = curve(t)
    slope = (curve(t + step)[0] - points) / step
    slope /= np.linalg.norm(slope, axis=1, keepdims=True)
    np.testing.assert_allclose(tangents, slope, atol=1e-5)


def test_the_gram_figure_draws_strokes_on_the_manifold_and_ellipses_on_its_sample():
    figure = gram_field_figure(quick=True)
    flat = [axes for axes in figure.axes if axes.name != "3d"]
    smooth, sampled = (drawn(axes, PolyCollection)[0].get_paths() for axes in flat)

    def width(path):
        corners = path.vertices - path.vertices.mean(0)
        return np.linalg.svd(corners, compute_uv=False)[1]

    assert len(smooth) == len(sampled)
    assert max(map(width, smooth)) < 1e-9  # a projector on a line
    assert min(map(width, sampled)) > 1e-3  # noise has width


def test_the_restriction_of_a_one_form_is_its_part_along_the_curve():
    figure = restricted_forms_figure(quick=True)
    (axes,) = (
        axes
        for axes in figure.axes
        if "Quiver" in {type(c).__name__ for c in axes.get_children()} and axes.name != "3d"
    )
    ambient, restricted = drawn(axes, Quiver)
    np.testing.assert_allclose(np.stack([ambient.U, ambient.V], 1), ambient.XY @ [[0, 1], [-1, 0]])
    omega = restricted.XY @ np.array([[0, 1], [-1, 0]])
    kept = np.stack([restricted.U, restricted.V], 1)
    # a projection: what is left out is at right angles to what is kept
    np.testing.assert_allclose(((omega - kept) * kept).sum(1), 0, atol=1e-9)


def test_circles_have_the_colour_of_the_flow_along_which_the_forms_lie():
    task = pf.tasks.load("circles-vs-lines", clouds=20)
    network = PointFormNetwork(2, 2, (1,), forms=2, hidden=()).double()
    last = network.point_forms()[0].network.last
    with torch.no_grad():
        last.weight.copy_(torch.tensor([[0.0, 1], [-1, 0], [1, 0], [0, 1]]))
        last.bias.zero_()
    figure = circles_figure(network, task)
    panels = figure.axes[1:3]
    assert [axes.get_xlabel() for axes in panels] == [
        "turning 1.00\nleaving 0.00",
        "turning 0.00\nleaving 1.00",
    ]
    colours = [drawn(axes, Quiver)[0].get_facecolor()[0] for axes in panels]
    assert not np.allclose(*colours)
    assert alignment(np.array([[1.0, 1.0]]), np.array([[2.0, 0.0]])) == pytest.approx(0.5**0.5)


def test_the_regimes_that_are_drawn_are_those_of_the_task():
    task = pf.tasks.load("rna-velocity-quick", seed=3)
    base, other = rna.regimes(12, np.random.default_rng([3, 2]))
    states = np.concatenate([c for c, y in zip(task.clouds, task.labels, strict=True) if y == 0])
    found = np.exp(np.log(states.clip(1e-3)).mean(0))
    expected = np.concatenate(base.steady_state())
    assert np.corrcoef(np.log(found), np.log(expected))[0, 1] > 0.95
    assert 0 < (base.alpha != other.alpha).sum() < 6


def test_the_command_lists_draws_and_refuses(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    listed = run(app, ["figures", "--list"])
    assert listed.exit_code == 0
    for name in ("gram-field", "restricted-forms", "density", "circles-vs-lines", "rna-regimes"):
        assert name in listed.stdout
    out = tmp_path / "out"
    made = run(app, ["figures", "gram-field", "--quick", "--out", str(out), "--format", "pdf"])
    assert made.exit_code == 0, made.output
    assert (out / "gram-field.pdf").read_bytes().startswith(b"%PDF")
    assert str(out / "gram-field.pdf") in made.stdout
    for arguments, message in (
        (["gram-field", "circle-vs-lines"], "did you mean 'circles-vs-lines'?"),
        (["density", "--format", "gif"], "pictures end in .pdf, .png, .svg"),
    ):
        refused = run(app, ["figures", *arguments, "--out", str(tmp_path / "no")])
        assert refused.exit_code == 2
        assert message in refused.output
        assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_every_figure_of_the_paper_is_drawn(tmp_path):
    result = run(app, ["figures", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"{n}.svg" for n in paper.FIGURES)
