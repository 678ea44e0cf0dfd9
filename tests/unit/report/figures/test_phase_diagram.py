"""Phase diagrams: every pixel against a recursion written by hand, lines and points, and the file that is written."""

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import symres as sr
from symres.core.errors import DeclarationError, NoClosedForm, UnsupportedLayer
from symres.layers.equation_parser import written
from symres.report.figures.phase_diagram import phase_diagram
from symres.results.advice.advice import Advice
from symres.results.advice.parts import Origin
from symres.studies import phase_flow
from tests.shared import derived

GAMMA = 0.5


def drawn(found):
    """The axes with the picture of a diagram."""
    axes = Figure().subplots()
    found.plot(axes)
    return axes


def names(axes):
    """What is written over the regions."""
    return {text.get_text() for text in axes.texts}


def entries(axes):
    """What is written in the legend."""
    return [text.get_text() for text in axes.get_legend().get_texts()]


def end_of_erf(C_W, C_b, gamma=GAMMA, kernel=1.0):
    """Kernel and chi_perp of a deep residual network of erf (PDLT (B.25)-like closed forms), layer by layer."""
    for _ in range(20_000):
        after = gamma**2 * kernel + C_b + C_W * 2 / math.pi * math.asin(2 * kernel / (1 + 2 * kernel))
        if abs(after - kernel) <= 1e-14 * kernel:
            break
        kernel = after
    return kernel, gamma**2 + C_W * 4 / math.pi / math.sqrt(1 + 4 * kernel)


@pytest.fixture(scope="module")
def erf():
    return derived(sr.residual("erf"))


@pytest.fixture(scope="module")
def of_erf(erf):
    return phase_diagram(erf, ("C_W", 0.3, 3), ("C_b", 0.0, 0.5), points=5, gamma=GAMMA)


def test_every_pixel_is_the_end_of_a_deep_network(of_erf):
    assert of_erf.xs.tolist() == pytest.approx([0.3, 0.975, 1.65, 2.325, 3.0])
    assert of_erf.ys.tolist() == pytest.approx([0, 0.125, 0.25, 0.375, 0.5])
    for row, C_b in enumerate(of_erf.ys):
        for column, C_W in enumerate(of_erf.xs):
            kernel, chi = end_of_erf(C_W, C_b)
            assert of_erf.kernel[row, column] == pytest.approx(kernel, rel=1e-7, abs=1e-11)
            assert of_erf.chi_perp[row, column] == pytest.approx(chi, rel=1e-7)


def test_the_line_is_where_chi_perp_is_one_and_ends_in_the_point(of_erf):
    ((weights, biases, reachable),) = of_erf.lines
    assert reachable and len(weights) > 50
    for C_W, C_b in list(zip(weights, biases, strict=True))[60::12]:
        assert end_of_erf(C_W, C_b)[1] == pytest.approx(1, abs=1e-5)
    ((weight, bias),) = of_erf.points
    assert (weight, bias) == (pytest.approx(math.pi / 4 * (1 - GAMMA**2)), 0)
    assert weights[0] == pytest.approx(weight, rel=1e-5) and biases[0] == pytest.approx(0, abs=1e-12)


def test_an_unreachable_part_of_a_line_and_its_end():
    """Of gelu the line begins at C_W = 4 for small kernels, which flow away, and is reachable beyond the point."""
    found = phase_diagram(derived("gelu"), points=3)
    parts = {reachable: (weights, biases) for weights, biases, reachable in found.lines}
    ((weight, bias),) = found.points
    assert weight == pytest.approx(1.983058257437547) and bias == pytest.approx(0.17292239075606736)
    assert parts[False][0][0] == pytest.approx(4, abs=1e-4) and parts[False][1][0] == pytest.approx(0, abs=1e-9)
    assert parts[False][1].max() <= bias <= parts[True][1].min()
    assert all(np.hypot(w - weight, b - bias).min() < 0.1 for w, b in parts.values())
    # by default up to twice the critical values; beyond, kernels grow without bound
    assert found.xs[-1] == pytest.approx(2 * weight) and found.ys[-1] >= 2 * bias
    assert np.isinf(found.kernel[1:, 2]).all() and np.isfinite(found.kernel[:, :2]).all()


def test_any_two_parameters_are_axes(erf):
    found = phase_diagram(erf, ("C_W", 0.5, 1.5), ("gamma", 0.0, 0.9), points=3, C_b=0.1, depth=5000)
    assert (found.x, found.y, found.points) == ("C_W", "gamma", ())
    for row, gamma in enumerate(found.ys):
        assert found.chi_perp[row].tolist() == pytest.approx([end_of_erf(w, 0.1, gamma)[1] for w in found.xs], rel=1e-7)


def test_the_kernel_of_the_input_and_the_depth_are_taken(erf):
    one = phase_diagram(erf, ("C_W", 1, 2), ("C_b", 0.1, 0.2), points=2, gamma=GAMMA, K=3, depth=1)
    after = GAMMA**2 * 3 + 0.1 + 2 / math.pi * math.asin(6 / 7)
    assert one.kernel[0, 0] == pytest.approx(after, rel=1e-12)


def test_kernels_that_have_converged_are_left_alone(erf, monkeypatch):
    """The number of kernels that a layer is applied to falls, and no layer follows the last."""
    sizes = []

    class Counting:
        __all__ = ("kernel_map", "chi_perp")

        def __init__(self, module):
            self.chi_perp = module.chi_perp
            self._map = module.kernel_map

        def kernel_map(self, kernels, **values):
            sizes.append(len(kernels))
            return self._map(kernels, **values)

    right = phase_flow.generate
    monkeypatch.setattr(
        phase_flow,
        "generate",
        lambda *words: type("Loads", (), {"load": lambda self: Counting(right(*words).load())})(),
    )
    shares = []
    phase_diagram(
        erf, ("C_W", 0.1, 3), ("C_b", 0.1, 0.5), points=4, gamma=GAMMA, progress=lambda _, share: shares.append(share)
    )
    assert sizes[0] == 16 and sizes == sorted(sizes, reverse=True)
    assert 0 < sizes[-1] < 16 and len(sizes) < 300
    assert shares[-1] == 1.0 and shares == sorted(shares)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_file_is_a_picture(of_erf, tmp_path, ending):
    path = of_erf.save(tmp_path / f"phases.{ending}")
    begin = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(begin) and path.stat().st_size > 5000
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_picture_shows_lines_points_axes_and_phases(of_erf):
    axes = drawn(of_erf)
    line, star = axes.lines
    assert line.get_xdata().tolist() == of_erf.lines[0][0].tolist() and line.get_linestyle() == "-"
    assert (star.get_xdata()[0], star.get_ydata()[0]) == of_erf.points[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$C_W$", "$C_b$")
    assert axes.get_xlim() == (of_erf.xs[0], of_erf.xs[-1]) and "0.5" in axes.get_title()
    shade, chi = np.ravel(axes.collections[0].get_array()), of_erf.chi_perp.ravel()
    assert np.allclose(shade, [value - 1 if value < 1 else 1 - 1 / value for value in chi])
    assert axes.collections[0].get_clim() == (shade.min(), shade.max())  # no colour stands for two values
    assert axes.collections[0].norm(0.0) == 0.5  # chi_perp = 1 is white
    bar = next(other for other in axes.figure.axes if other is not axes)
    assert bar.get_ylabel() == r"ordered $\leftarrow\;\chi_\perp\;\rightarrow$ chaotic"
    ticks = [float(label.get_text()) for label in bar.get_yticklabels()]
    assert {f"{end(of_erf.chi_perp):.3g}" for end in (np.min, np.max)} | {"1"} <= {f"{tick:.3g}" for tick in ticks}


@pytest.mark.parametrize(
    ("words", "params", "said"),
    [
        ((("C_W", 0, 1), ("gamma", 0, 1)), {}, "no value was passed for C_b"),
        ((("C_W", 0, 1), ("C_W", 0, 1)), {"gamma": 0.5}, "both axes are C_W"),
        ((), {"gamma": 0.5, "C_W": 2}, "C_W has a number and an axis"),
        (("C_W",), {"gamma": 0.5}, "it is not of the form \\(name, lowest, highest\\)"),
        ((("C_W", 0),), {"gamma": 0.5}, "it is not of the form \\(name, lowest, highest\\)"),
        (({"C_W": (0, 2)},), {"gamma": 0.5}, "it is not of the form \\(name, lowest, highest\\)"),
        ((("C_V", 0, 1),), {"gamma": 0.5}, "unknown parameter"),
        ((("C_W", 1, 1),), {"gamma": 0.5}, "no length"),
        ((("C_W", -1, 1),), {"gamma": 0.5}, "not negative"),
        ((), {"gamma": 0.5, "points": 1}, "points"),
        ((), {"gamma": 0.5, "points": 5000}, "too much memory"),
        ((), {"gamma": 0.5, "depth": 0}, "depth"),
        ((), {"gamma": 0.5, "quantity": "chi"}, "use chi_perp, xi_q or xi_c"),
    ],
)
def test_wrong_use_is_refused(erf, words, params, said):
    with pytest.raises(DeclarationError, match=said):
        phase_diagram(erf, *words, **params)


def test_unknown_maps_and_free_parameters_are_refused(erf):
    unknown = replace(erf.chi_perp, status=sr.Status.UNKNOWN, reason="for the test")

    class Unfinished(sr.Theory):
        flow_maps = (erf.kernel_map, erf.chi_parallel, unknown)

    with pytest.raises(NoClosedForm, match="chi_perp is unknown: for the test"):
        phase_diagram(Unfinished(erf.layer), points=2)
    with pytest.raises(DeclarationError, match=r"pass numbers by name: beta=0\.5"):
        phase_diagram("swish")
    with pytest.raises(UnsupportedLayer, match="moves the correlations of all"):
        phase_diagram(sr.batch_norm("relu"), points=4, quantity="xi_c")


def test_a_layer_that_normalises_over_a_batch():
    """Of relu the variance over the batch becomes C_W (1/2 - 1/(2 pi)), and chi_perp is C_W/2 over that: pi/(pi-1)."""
    found = phase_diagram(derived(sr.batch_norm("relu")), points=4, K=3)
    assert found.kernel[2].tolist() == pytest.approx(found.xs * (1 - 1 / math.pi) / 2)
    assert found.chi_perp.ravel().tolist() == pytest.approx([math.pi / (math.pi - 1)] * 16)
    assert "inputs of variance 3 over the batch" in found.title
    assert names(drawn(found)) == {"chaotic\n$\\chi_\\perp = 1.467$"} and drawn(found).get_legend() is None


def test_lines_over_other_parameters_are_where_chi_perp_is_one_between_the_names_of_phases(erf):
    found = phase_diagram(erf, ("C_W", 0.1, 2), ("gamma", 0.0, 0.95), points=80, C_b=0.05)
    ((weights, skips, reachable),) = found.lines
    assert reachable and len(weights) > 80
    for C_W, gamma in list(zip(weights, skips, strict=True))[::9]:
        assert end_of_erf(C_W, 0.05, gamma)[1] == pytest.approx(1, abs=2e-4)  # linear between pixels
    axes = drawn(found)
    assert names(axes) == {"ordered", "chaotic"}
    for text in axes.texts:
        C_W, gamma = text.get_position()
        assert (end_of_erf(C_W, 0.05, gamma)[1] > 1) == (text.get_text() == "chaotic")


def test_kernels_that_still_move_are_marked(erf):
    """Of erf at C_b = 0 those at the critical point fall like 1/l; all others have converged."""
    at = math.pi / 4 * (1 - GAMMA**2)
    found = phase_diagram(erf, ("C_W", at / 2, 3 * at / 2), ("C_b", 0.0, 0.2), points=3, gamma=GAMMA)
    assert found.settled.tolist() == [[True, False, True], [True] * 3, [True] * 3]
    assert entries(drawn(found)) == [r"$\chi_\perp = 1$", "critical point", "kernel still changes in layer 2000"]
    settled = phase_diagram(erf, ("C_W", at / 2, 0.6 * at), ("C_b", 0.1, 0.2), points=2, gamma=GAMMA)
    assert settled.settled.all() and drawn(settled).get_legend() is None


@pytest.mark.exhaustive
def test_the_title_has_the_numbers_that_were_put_in():
    layer = sr.residual(sr.activation("leaky_relu")).subs(slope="0.2", C_b="0.1")
    found = phase_diagram(derived(layer), ("C_W", 0, 2), ("gamma", 0, 1), points=2)
    assert (
        r"\mathrm{slope}=\frac{1}{5}" in found.title
        and r"C_b=\frac{1}{10}" in found.title
        and found.title.count("$") == 2
    )
    long = written("gamma*z + Dense(phi(Dense(z))*sigmoid(Dense(z)))", sr.activation("where(z>1,z-1,exp(z-1)-1)"))
    found = phase_diagram(derived(long.subs(C_b="0.1")), ("C_W", 0, 1), ("gamma", 0, 1), points=2)
    assert found.title.endswith("\n$C_b = 0.1$")
    assert max(map(len, found.title.split("\n"))) <= 70
    found = phase_diagram(derived(sr.residual("erf")), points=2, gamma=GAMMA)
    assert r"\gamma z" in found.title and r"\gamma = 0.5" in found.title


def test_kernels_that_grow_without_bound_are_hatched():
    """Of relu they do above C_W = 2, where chi_perp = C_W/2 and C_b > 0."""
    found = phase_diagram(derived("relu"), ("C_W", 1.0, 3.0), ("C_b", 0.1, 0.2), points=4)
    assert np.isinf(found.kernel).tolist() == [[False, False, True, True]] * 4
    axes = drawn(found)
    assert "kernel grows without bound" in entries(axes)
    (region,) = (c for c in axes.collections if any(getattr(c, "hatches", ())))
    corners = np.concatenate([path.vertices for path in region.get_paths()])
    assert (corners[:, 0].min(), corners[:, 0].max()) == (pytest.approx(2, abs=0.01), 3.0)
    bounded = phase_diagram(derived("relu"), ("C_W", 0.5, 1.5), ("C_b", 0.1, 0.2), points=2)
    assert not any(hasattr(c, "hatches") for c in drawn(bounded).collections)


@pytest.mark.exhaustive
def test_a_free_skip_connection_is_the_advised_one():
    theory = derived(sr.residual("gelu"))
    found = phase_diagram(theory, points=3)
    advice = theory.advice()
    assert f"gamma = {advice.parameters['gamma']}" in found.title
    assert found.advised == (advice.C_W, advice.C_b) == pytest.approx(found.points[0], rel=1e-9)
    assert found.xs[0] < advice.C_W < found.xs[-1] and found.ys[0] < advice.C_b < found.ys[-1]
    assert "advised for 50 layers of width 512" in str(found)
    by_hand = phase_diagram(theory, points=3, gamma=0.5, advice=advice)
    assert by_hand.advised is None  # it is for another skip connection
    assert phase_diagram(derived(sr.residual("gelu", gamma="1/2")), points=3).advised is None  # nobody asked


@pytest.mark.exhaustive
def test_axes_contain_what_is_advised_where_no_point_is_critical():
    advice = Advice(50, 512, True, 12.0, 3.0, {}, 2.0)
    found = phase_diagram(derived("sigmoid"), points=3, advice=advice)
    assert found.points == () and found.advised == (advice.C_W, advice.C_b)
    assert advice.C_W < found.xs[-1] and advice.C_b < found.ys[-1]


def test_the_advised_point_has_a_mark_and_words():
    theory = derived("gelu")
    axes = drawn(phase_diagram(theory, points=3, advice=theory.advice(depth=20, width=1024)))
    assert "advised for 20 layers of width 1024" in entries(axes)
    assert any(line.get_marker() == "o" for line in axes.get_lines())


@pytest.mark.parametrize("subject", ["relu", sr.activation("relu"), sr.mlp("relu")])
def test_what_can_be_derived_has_a_diagram(subject):
    axes = (("C_W", 1, 2), ("C_b", 0, 1))
    expected = phase_diagram(derived("relu"), *axes, points=2)
    assert phase_diagram(subject, *axes, points=2).chi_perp.tolist() == expected.chi_perp.tolist()


@pytest.mark.parametrize("subject", ["tanh", "gelu", sr.pre_ln("gelu"), sr.residual("erf", gamma="9/10")])
def test_both_phases_are_seen_and_named_by_default(subject):
    """Of tanh chaos took a corner of 6 % before."""
    found = phase_diagram(derived(subject), points=40)
    growing = "diverging" if subject == "gelu" else "chaotic"
    assert names(drawn(found)) >= {"ordered", growing}
    shares = [found.regions[name].mean() for name in ("ordered", growing)]
    assert min(shares) > 0.2 and f"phases: ordered {shares[0]:.0%}" in str(found)
    for x, y in found.points:
        assert found.xs[0] <= x <= found.xs[-1] and found.ys[0] <= y <= found.ys[-1]


def test_the_legend_has_what_is_seen_only(of_erf):
    """A kernel that still changes below the line, a diverging one, a line that ends in a corner are not seen."""
    settled, kernel = np.ones((300, 300), dtype=bool), np.ones((300, 300))
    settled[0, 100], kernel[200, 200] = False, np.inf
    corner = (np.array([2.99, 3.0]), np.array([0.499, 0.5]), False)
    found = replace(
        of_erf,
        **{"xs": np.linspace(0.3, 3, 300), "ys": np.linspace(0, 0.5, 300), "chi_perp": np.full((300, 300), 0.9)},
        **{"settled": settled, "kernel": kernel, "lines": (*of_erf.lines, corner)},
    )
    assert entries(drawn(found)) == [r"$\chi_\perp = 1$", "critical point"]
    settled[:20, 100:120], kernel[200:, 200:] = False, np.inf
    seen = {
        "kernel grows without bound",
        "kernel still changes in layer 2000",
        r"$\chi_\perp = 1$, the kernel flows away",
    }
    longer = (np.array([2.0, 3.0]), np.array([0.4, 0.5]), False)
    seen.add(r"$\chi_\perp = 1$, the kernel flows away")
    assert seen <= set(entries(drawn(replace(found, lines=(*of_erf.lines, longer)))))


def test_an_advised_point_off_the_line_is_explained(erf):
    place = {"C_W": 2.0, "C_b": 0.3, "parameters": {"gamma": GAMMA}, "kernel": 2.5}
    axes = ("C_W", 0.5, 3), ("C_b", 0, 0.5)
    at = math.pi / 4 * (1 - GAMMA**2)
    for origin, said in (
        (Origin.BRANCH, "not critical: branches so small"),
        (Origin.SEARCH, "not critical: the setting that changes kernels"),
        (Origin.LINE, "critical for another kernel of the input, 2.5"),
    ):
        advice = Advice(50, 512, True, origin=origin, **place)
        found = phase_diagram(erf, *axes, points=9, advice=advice, gamma=GAMMA)
        assert found.advice.startswith(f"advised for 50 layers of width 512\n({said}")
        assert found.advice in entries(drawn(found))
    critical = Advice(50, 512, True, origin=Origin.POINT, **{**place, "C_W": at, "C_b": 0.0})
    assert phase_diagram(erf, *axes, points=9, advice=critical, gamma=GAMMA).advice == (
        "advised for 50 layers of width 512"
    )


def test_a_constant_colour_has_its_number():
    assert names(drawn(phase_diagram("step", points=3))) == {"chaotic\n$\\chi_\\perp = \\infty$"}


def test_a_long_legend_leaves_the_picture_wide(of_erf):
    """Entries beside each other would take the width from the axes."""
    from symres.report.figures.styled_figure import StyledFigure

    figure = StyledFigure(figsize=(5.6, 4.2))
    axes = figure.subplots()
    replace(of_erf, advised=of_erf.points[0], advice="advised for 50 layers\n" + 70 * "x").plot(axes)
    figure.canvas.draw()
    assert axes.get_position().width > 0.6


def test_depth_scales_are_those_of_the_theory(erf):
    """Of the theory with 32 digits, whose oracle is an iteration of integrals (test_phase)."""
    axes = ("C_W", 0.2, 0.44), ("C_b", 0.01, 0.03)
    pictures = {q: phase_diagram(erf, *axes, quantity=q, points=3, gamma=0.9) for q in ("xi_c", "xi_q")}
    for row, column, phase in ((2, 0, "ordered"), (0, 2, "chaotic"), (2, 2, "chaotic")):
        scales = erf.depth_scales(C_W=axes[0][1 + column // 2], C_b=axes[1][1 + row // 2], gamma=0.9)
        for quantity, found in pictures.items():
            assert found.regions[phase][row, column]
            assert found.depths[row, column] == pytest.approx(getattr(scales, quantity), rel=1e-6)


def test_depth_scales_are_drawn_and_left_out_where_no_kernel_stays():
    found = phase_diagram("relu", ("C_W", 1, 4), ("C_b", 0, 1), points=7, quantity="xi_c")
    assert found.depths[1:, :2] == pytest.approx(1 / np.log(2 / found.xs[:2]) * np.ones((6, 1)))
    assert np.isnan(found.depths[:, 3:]).all() and np.isnan(found.depths[0, 0])  # it diverges; it ends at 0
    assert drawn(found).figure.axes[1].get_ylabel() == r"$\xi_{c}$, layers"
    assert "with xi_c" in str(found)
