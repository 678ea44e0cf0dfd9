"""Figures of the maps: curves through the critical point, files that repeat, what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from matplotlib.figure import Figure

import symres as sr
from symres.core.errors import DeclarationError
from symres.core.symbols import K, gamma
from symres.report.figures import maps_figure
from symres.report.figures.maps_figure import draw_aspect_ratio
from symres.results.advice.advice import Advice
from symres.results.quantity import Quantity, Status
from tests.oracles.closed_forms import KERNELS
from tests.shared import derived


@pytest.fixture(scope="module")
def curves(report):
    return maps_figure.curves(report)


def test_curves_pass_the_critical_point(curves):
    at = curves.kernels[np.argmin(np.abs(np.log(curves.kernels / curves.critical)))]
    assert at == pytest.approx((3 + 17**0.5) / 2, rel=0.02)
    assert np.interp(curves.critical, curves.kernels, curves.values["chi_parallel"]) == pytest.approx(1.0, abs=1e-4)
    exact = [
        (1.98305825743755 * float(KERNELS["gelu"].subs(K, k)) + 0.172922390756067) / k for k in curves.kernels[::80]
    ]
    np.testing.assert_allclose(curves.values[maps_figure.RATIO][::80], exact, rtol=1e-13)
    assert np.interp(curves.critical, curves.kernels, curves.values[maps_figure.RATIO]) == pytest.approx(1.0, abs=1e-6)
    assert curves.setting == r"\xi = 1,\ C_W = 1.98305826,\ C_b = 0.172922391,\ \gamma = 0"
    assert "$K^* = 3.56155281$" in curves.caption


@pytest.mark.exhaustive
def test_a_line_of_critical_points_is_drawn_at_one_of_them():
    drawn = maps_figure.curves(derived(sr.residual("where(z > 1, z - 1, where(z < -1, z + 1, 0))")).report())
    assert drawn.critical == 1
    for name in ("chi_parallel", "chi_perp", maps_figure.RATIO):
        assert np.interp(0.0, np.log(drawn.kernels), drawn.values[name]) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("phi", "labels"),
    [
        ("relu", [r"$\chi_\parallel$", r"$\chi_\perp$ $=$ $\chi_\parallel$"]),
        ("erf", [r"$\chi_\parallel$", r"$\chi_\perp$"]),
    ],
)
def test_curves_that_cover_each_other_are_said_to(phi, labels):
    from matplotlib.figure import Figure

    figure = Figure()
    maps_figure._plot(maps_figure.curves(derived(phi).report()), figure)
    shape, growth, below = figure.axes
    assert shape.get_legend_handles_labels()[1] == [r"$\phi(z)$", r"$\phi\prime (z)$"]
    assert growth.get_legend_handles_labels()[1] == [r"$K\prime /K$"]
    assert below.get_legend_handles_labels()[1][:2] == labels


def test_the_activation_and_its_slope_are_those_of_the_formula():
    places, phi, slope = maps_figure.curves(derived("tanh").report()).shape
    np.testing.assert_allclose(phi, np.tanh(places), rtol=1e-14)
    np.testing.assert_allclose(slope, 1 / np.cosh(places) ** 2, rtol=1e-13)
    relu = maps_figure.curves(derived("relu").report()).shape
    np.testing.assert_array_equal(relu[2], relu[0] > 0)


def test_an_activation_with_a_free_parameter_has_no_shape(curves, tmp_path):
    without = maps_figure.draw(tmp_path / "a.svg", replace(curves, shape=None)).read_text()
    assert len(without) < len(maps_figure.draw(tmp_path / "b.svg", curves).read_text())
    assert "Top" not in replace(curves, shape=None).caption and "Top" in curves.caption


def test_parameters_that_a_layer_does_not_have_are_not_named(report):
    fixed = tuple(replace(q, definition=q.definition.subs(gamma, 0), body=q.body.subs(gamma, 0),
        symbols=tuple(s for s in q.symbols if s != gamma)) for q in report.quantities)  # fmt: skip
    drawn = maps_figure.curves(replace(report, quantities=fixed, settings=()))
    assert "gamma" not in drawn.setting + drawn.caption


@pytest.mark.sample(1)
@pytest.mark.parametrize(("suffix", "head"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_figure_is_written_and_repeats(curves, tmp_path, suffix, head):
    first, second = (maps_figure.draw(tmp_path / f"{name}{suffix}", curves).read_bytes() for name in "ab")
    assert first == second
    assert len(first) > 10_000
    assert first.startswith(head)


def test_a_panel_where_every_kernel_is_critical_says_so(curves, tmp_path):
    plain = replace(curves, critical=None)
    said = replace(plain, everywhere=True)
    assert "Every kernel is critical" in said.caption
    assert "critical" not in plain.caption
    first, second = (
        maps_figure.draw(tmp_path / f"{k}.svg", drawn).read_bytes() for k, drawn in enumerate((plain, said))
    )
    assert first != second


@pytest.mark.sample(1)
@pytest.mark.parametrize("formula", ["sinh(z)", "exp(z/2)", "z^5"])
def test_fast_growth_leaves_the_level_1_readable(formula):
    growth = maps_figure.curves(derived(sr.mlp(formula)).report()).values[maps_figure.RATIO]
    assert growth.max() > 1e9
    low, high = maps_figure._growth_limits(growth)
    assert 1 / 60 < low < 1 < high < 60  # at most a factor of 60 on either side of the level


def test_an_infinite_susceptibility_has_words_and_no_line(curves, tmp_path, monkeypatch):
    from matplotlib.axes import Axes

    labels, legend = [], Axes.legend
    monkeypatch.setattr(Axes, "legend", lambda self, **k: labels.append(legend(self, **k)))
    infinite = np.full(curves.kernels.shape, np.inf)
    maps_figure.draw(tmp_path / "a.svg", replace(curves, values=curves.values | {"chi_perp": infinite}))
    styles = {t.get_text(): h.get_linestyle() for found in labels for t, h in
              zip(found.get_texts(), found.get_lines(), strict=True)}  # fmt: skip
    assert styles[r"$\chi_\perp$ $= \infty$"] == "None"
    assert r"$\chi_\perp$" not in styles
    assert styles[r"$\chi_\parallel$"] == "-"


def test_figure_refuses(curves, report, tmp_path):
    with pytest.raises(DeclarationError, match=r"\.pdf, \.png or \.svg"):
        maps_figure.draw(tmp_path / "a.bmp", curves)
    alpha = sp.Symbol("alpha", positive=True)
    body = alpha * K**2
    free = (Quantity("kernel_map", (K, alpha), body, body, Status.EXACT),)
    with pytest.raises(DeclarationError, match="alpha has no number"):
        maps_figure.curves(replace(report, quantities=free))


@pytest.mark.exhaustive
def test_the_plot_is_drawn_at_the_advised_skip_connection(curves, tmp_path):
    """The page advises gamma = 0.93 for 50 layers of width 512; without advice it stays at gamma = 0."""
    theory = derived(sr.residual("gelu"))
    drawn = maps_figure.curves(replace(theory.report(), advice=theory.advice()))
    assert drawn.setting == r"C_W = 0.267911171,\ C_b = 0.023361815,\ \gamma = 0.93"
    assert drawn.critical == pytest.approx((3 + 17**0.5) / 2) and drawn.advised == pytest.approx(drawn.critical)
    for name in ("chi_parallel", "chi_perp", maps_figure.RATIO):
        assert np.interp(drawn.advised, drawn.kernels, drawn.values[name]) == pytest.approx(1.0, abs=1e-4)
    assert "advised for 50 layers of width 512" in drawn.caption
    assert curves.advised is None and "advised" not in curves.caption
    marked = maps_figure.draw(tmp_path / "a.svg", drawn).read_bytes()
    assert marked != maps_figure.draw(tmp_path / "b.svg", replace(drawn, advised=None)).read_bytes()


def test_an_advised_point_that_is_not_critical_has_no_critical_mark():
    report = derived("erf").report()
    drawn = maps_figure.curves(replace(report, advice=Advice(50, 512, True, 1.5, 0.1, {}, 2000.0)))
    assert drawn.critical is None and drawn.setting == r"C_W = 1.5,\ C_b = 0.1"
    assert drawn.kernels[0] < drawn.advised == 2000 < drawn.kernels[-1]
    at_zero = maps_figure.curves(replace(report, advice=Advice(50, 512, True, math.pi / 4, 0.0, {}, 0.01)))
    assert at_zero.critical == 0 and at_zero.advised == 0.01


def test_advice_that_does_not_hold_is_not_drawn():
    drawn = maps_figure.curves(replace(derived("erf").report(), advice=Advice(50, 512, False, 1.5, 0.1, {}, 2.0)))
    assert drawn.advised is None and drawn.critical == 0 and "1.5" not in drawn.setting


@pytest.mark.sample(1)
@pytest.mark.parametrize(("phi", "same"), [("relu", False), ("erf", True)])
def test_numbers_are_plain_and_covered_curves_are_said_to_be(phi, same, monkeypatch, tmp_path):
    """What neurons remember makes no difference to erf at its critical point K* = 0."""
    drawn = Figure()
    monkeypatch.setattr(maps_figure, "write_figure", lambda path, draw, **options: draw(drawn))
    draw_aspect_ratio(tmp_path / "ratio.png", derived(sr.residual(phi)).growth_curve)
    drawn.canvas.draw()
    above, below = drawn.axes
    assert above.get_legend_handles_labels()[1][1].endswith("(the same curve)") == same
    low, high = below.get_ylim()
    labels = [*below.yaxis.get_ticklabels(), *below.yaxis.get_ticklabels(minor=True)]
    written = [text.get_text() for text in labels if low <= text.get_position()[1] <= high and text.get_text()]
    assert len(written) >= 3 and all(float(text) > 0 for text in written)
