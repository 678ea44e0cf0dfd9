"""Documents, figures and records of a report; files that are whole or not there."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.core import files
from symres.core.errors import DeclarationError
from symres.core.proof import Proof, Step
from symres.core.symbols import C_W, K1, C_b, K, gamma, z
from symres.notation.decimals import decimal
from symres.numerics.special import S2
from symres.report.export import export
from symres.report.figures import maps_figure
from symres.report.latex.displays import broken, display, escape, latex, typed, width
from symres.report.latex.document import document
from symres.report.latex.prose import prose
from symres.report.record import dumps, record
from symres.results.critical_point import CriticalPoint
from symres.results.quantity import NamedStep, Quantity, Status, Verification
from symres.results.report import Report
from symres.results.verdict import Outcome, Verdict
from symres.studies.criticality_summary import stability
from symres.studies.kernel_expansions import expansions
from symres.studies.kernel_range import reach
from tests.oracles.closed_forms import KERNELS, theory
from tests.shared import derived

ROW = Verdict("kernel_map", "quadrature", "K=1, C_W=2", 0.85, 0.85, 1e-16, 0.3, 1e-13, Outcome.PASSED)


@dataclass(frozen=True)
class FixedPoint:
    """A row as the theory makes them."""

    K: object
    chi_parallel: float
    chi_perp: float
    phase: str


@pytest.fixture(scope="module")
def report():
    average = Quantity("phi_squared", (K,), KERNELS["gelu"], KERNELS["gelu"], Status.EXACT, notation="g")
    quantities = theory("gelu")
    step = Step("new rule", "a textbook_order {100%}", lambda e: e, KERNELS["gelu"], ("x < y & z",))
    proof = Proof(sp.Symbol("a"), (step,))
    verified = (Verification("quadrature", 4, 3e-30),)
    first, *rest = quantities.values()
    nested = NamedStep(sp.Symbol("S1", positive=True), C_b + C_W * K, C_b + C_W * K)
    unknown = Quantity("h", (K,), sp.Symbol("K"), sp.Symbol("K"), Status.UNKNOWN, reason="no rule for 100% of it")
    listed = (average, replace(first, proof=proof, verifications=verified, steps=(nested,)), *rest, unknown)
    critical = (3 + sp.sqrt(17)) / 2
    weight = (1 - gamma**2) / KERNELS["gelu"].diff(K).subs(K, critical)
    bias = (1 - gamma**2) * critical - weight * KERNELS["gelu"].subs(K, critical)
    return Report(
        activation="gelu", formulas=(("gelu", z * (1 + sp.erf(z / sp.sqrt(2))) / 2),),
        heads=(r"\operatorname{gelu}",), layer="residual",
        forward=gamma * z + sp.Symbol("y"), program=("y1 ~ N(0, C_b + C_W*<u u'>), u = gelu(z)", "z' = gamma*z + y1"),
        settings=(("xi", "1"),), quantities=listed,
        critical_points=(CriticalPoint(critical, weight, bias, "half-stable", True),), universality_class="half-stable",
        remarks=("h_2 is unknown & open",), checks=(ROW,), command="symres derive gelu --out x",
    )  # fmt: skip


# ---- formulas ----------------------------------------------------------------------------------------------------
def test_a_short_formula_stays_on_one_line():
    assert broken(K * C_W + 1, 40.0) == [r"1 + C_W K"]


def test_a_long_formula_is_broken_and_loses_nothing():
    formula = C_W * (KERNELS["gelu"].diff(K, 3) + KERNELS["elu"] + KERNELS["hard_tanh"]) + C_b
    lines = broken(formula, 50.0)
    assert len(lines) > 2
    assert max(map(width, lines)) < 62.0
    text = " ".join(lines)
    assert text.count(r"\Bigl[") == text.count(r"\Bigr]")
    for bracket in ("{}", "()"):
        assert text.count(bracket[0]) == text.count(bracket[1])
    for mark in ("{erf", "^{5/2}", "C_b"):
        assert text.count(mark) == latex(formula).count(mark) > 0


def test_a_function_of_several_variables_is_broken_between_them():
    wide = [sp.sqrt(sum(sp.Symbol("a") ** k / (k + K) for k in range(2, m))) for m in (6, 7, 8)]
    lines = broken(C_W * S2(*wide), 50.0)
    text = " ".join(lines)
    assert len(lines) >= 3
    assert text.count(r"\mathrm{S}_2") == 1 and text.count(r"\Bigl(") == text.count(r"\Bigr)") == 1
    for argument in wide:
        assert latex(argument) in text


def test_a_power_with_a_long_exponent_is_broken_inside_of_it():
    """As 5^l l^(a long sum): what stands above the line cannot be broken."""
    depth = sp.Symbol("l", positive=True)
    lines = broken(5**gamma * depth ** -(KERNELS["gelu"] + KERNELS["elu"]), 50.0)
    assert len(lines) > 1 and max(map(width, lines)) < 62.0
    text = " ".join(lines)
    assert r"\exp\Bigl[" in text and r"\log" in text and r"\Bigl[ 1 \Bigr]" not in text


def test_a_typed_formula_may_break_at_its_operators():
    assert typed("a_1+z^2") == r"\texttt{a\_1+\allowbreak{}z\textasciicircum{}\allowbreak{}2}"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_a_typed_title_stays_on_the_page(report, tmp_path):
    wide = sum(sp.tanh(z / k) for k in range(1, 9))
    phi = replace(report, activation="max(z,-1/2)*" * 6, heads=(r"\phi",), formulas=(("long", wide),))
    text = document(phi)
    assert r"\title{\texttt{max(\allowbreak{}z," in text
    files.write_text(tmp_path / "report.tex", text)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
        cwd=tmp_path, capture_output=True, text=True, check=True, errors="replace",
    )  # fmt: skip
    assert "Overfull" not in done.stdout


def test_what_is_numeric_is_said_to_be_outside_the_families():
    text = document(derived(sr.mlp("1/(z^2+1)")).report())
    assert text.count("outside the families that symres closes: ") == 1
    assert "is known" not in text.split("Numbers are enclosed")[0].split("Kernels and susceptibilities")[1]


@pytest.mark.parametrize(
    ("text", "letters"), [("abc", 3), (r"\frac{a}{bcd}", 4), ("x^{2}", 2), (r"\left(a\right)", 2.7)]
)
def test_width_counts_what_is_seen(text, letters):
    assert width(text) == pytest.approx(letters, abs=0.6)


def test_constants_with_many_digits_are_shortened():
    assert latex(sp.Rational("1.6732632423543772848170429916717") * K) == r"1.6732632\ldots K"


def test_special_characters_are_escaped():
    assert escape("a_b & 100% {x} \\ ~^") == r"a\_b \& 100\% \{x\} \textbackslash{} \textasciitilde{}\textasciicircum{}"


def test_decimals_are_correct():
    assert decimal((3 + sp.sqrt(17)) / 2, 30) == "3.56155281280883027491070492799"
    assert decimal(sp.Integer(2)) == "2"
    assert decimal(sp.Rational(1, 3), 20) == "0.33333333333333333333"


# ---- documents ---------------------------------------------------------------------------------------------------
def test_document_holds_everything(report):
    text = document(report)
    for part in (
        r"\documentclass", r"\usepackage{amsmath,graphicx}", r"\end{document}", "gelu", r"\chi", r"\textsc{exact}",
        "3.56155281280883",
        "half-stable", r"H\_2 is unknown \& open", "PASSED", "new rule", r"a textbook\_order \{100\%\}",
        r"no rule for 100\% of it", "Principles of Deep Learning Theory", r"x \textless{} y \& $z$",
        "symres derive gelu --out x", "Verified at 4 points (quadrature)", "S_{1}", r"\gamma = 0",
    ):  # fmt: skip
        assert part in text
    assert text.count(r"\usepackage") == 1
    assert text.count(r"\begin{") == text.count(r"\end{")
    assert "None" not in text


def test_document_of_single_quantities_and_without_points(report):
    text = export(theory("relu"), "latex", command="symres export relu").text
    assert r"\begin{align*}" in text
    assert "symres export relu" in text
    assert "No critical point" in document(replace(report, critical_points=()))
    assert "includegraphics" not in document(report)
    assert r"\caption{a plot}" in document(report, "a plot")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_document_compiles_without_overfull_lines(report, tmp_path):
    files.write_text(tmp_path / "report.tex", document(report))
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
        cwd=tmp_path, capture_output=True, text=True, check=True, errors="replace",
    )  # fmt: skip
    assert "Overfull" not in done.stdout


# ---- records -----------------------------------------------------------------------------------------------------
def test_record_reads_back(report):
    data = json.loads(dumps(report))
    assert data == record(report)
    point = data["critical_points"][0]
    assert data["critical_points_decimals_at"] == "gamma = 0"
    assert point["C_W"]["decimal"].startswith("1.98305825743754712")
    assert point["C_b"]["decimal"].startswith("0.17292239")
    assert sp.sympify(point["K"]["text"]) == (3 + sp.sqrt(17)) / 2
    assert [point[name]["value"] for name in ("K", "C_W", "C_b")] == [
        float(point[name]["decimal"]) for name in ("K", "C_W", "C_b")
    ]
    kernel = data["quantities"]["kernel_map"]
    names = {str(s): s for s in (K, C_W, C_b, gamma)}
    assert sp.sympify(kernel["definition"]["text"], locals=names) == theory("gelu")["kernel_map"].definition
    assert kernel["symbols"] == ["K", "C_W", "C_b", "gamma"]
    assert kernel["verifications"] == [{"oracle": "quadrature", "points": 4, "worst": 3e-30}]
    assert data["quantities"]["h"]["expression"] is None
    undefined = replace(report, quantities=(derived("step").h,))
    assert record(undefined)["quantities"]["h"]["definition"] is None
    assert data["quantities"]["h"]["error_bound"] is None
    assert data["checks"][0]["outcome"] == "PASSED"
    assert "sympy" in data["versions"]
    assert data["fixed_points"] is None
    rows = (FixedPoint(0.25, 0.5, 1.5, "chaotic"), FixedPoint(K, 1.0, 1.0, "critical"))
    assert record(replace(report, fixed_points=rows))["fixed_points"] == [
        {"K": 0.25, "chi_parallel": 0.5, "chi_perp": 1.5, "phase": "chaotic"},
        {"K": "any", "chi_parallel": 1.0, "chi_perp": 1.0, "phase": "critical"},
    ]


def test_record_has_no_infinities(report):
    rows = (replace(ROW, claimed=float("inf"), z=float("nan")),)
    text = dumps(replace(report, checks=rows))
    assert json.loads(text)["checks"][0]["claimed"] == "inf"
    assert "NaN" not in text


def test_a_jump_in_a_document():
    """A remark may begin with a symbol, and what does not exist is not called unknown."""
    text = document(derived(sr.mlp("step")).report())
    assert r"$\chi_\perp$ is infinite: the activation jumps" in text and "Chi" not in text
    assert r"\textsc{undefined}: $\chi_\perp$ is infinite, it has no slope" in text


def test_formulas_in_every_clause_of_a_reason_are_typeset():
    reason = "z**(2/3) is no polynomial; sqrt(2)*exp(z)/4 - sqrt(2)/4 is no sine"
    assert prose(reason) == (
        r"$z^{2/3}$ is no polynomial; $\frac{e^{z}}{2 \sqrt{2}} - \frac{1}{2 \sqrt{2}}$ is no sine"
    )


def test_results_are_fractions_where_the_formula_has_no_decimal():
    for formula, number in (("where(z > 1, z, z/100)", r"\frac{9999}{10000}"), ("1.0507*relu(z)", "0.551985245")):
        assert number in document(derived(sr.mlp(formula)).report())
    assert latex(sp.Rational(9999, 10000) * K) == r"\frac{9999 K}{10000}"
    assert latex(sp.Rational(44715, 10**6) * z**3) == "0.044715 z^{3}"


def test_noise_has_a_column_only_where_there_is_noise():
    sharp = document(derived(sr.mlp("where(z > 1, z - 1, 0)")).report())
    assert r"$y$ & $m$ & $V$" in sharp and r"\varepsilon" not in sharp
    smooth = document(derived(sr.mlp("gelu")).report())
    assert r"$y$ & $\langle \varepsilon^2 \rangle$ & $m$ & $V$" in smooth


def test_page_document_and_record_give_the_same_advice():
    report = derived(sr.mlp("gelu")).report()
    told = record(report)["initialisation"]
    assert abs(float(told["weight"]) - 1.98305826) < 1e-8 and abs(float(told["bias"]) - 0.172922391) < 1e-9
    text = document(report)
    assert told["code"][0] in text and "variance 3.56155281" in text and "at infinite width" in text
    assert record(derived(sr.mlp("sign")).report())["initialisation"] is None


def test_numbers_are_numbers_in_the_record():
    free = record(derived(sr.mlp("leaky_relu")).report())
    assert free["critical_points"][0]["C_W"]["value"] is None and free["critical_points"][0]["C_b"]["value"] == 0
    found = record(derived(sr.residual("tanh")).report())
    assert found["critical_points"][0]["C_W"]["value"] == 1.0 and found["initialisation"]["C_W"] == 1.0
    assert found["initialisation"]["C_b"] == 0.0
    exponents = found["exponents"]
    assert (exponents["kernel"]["value"], exponents["jacobian"]["value"]) == (1.0, 1.0)
    assert exponents["amplitude"]["value"] is None  # 1/(2(1 - gamma^2))


def test_the_record_has_the_first_correction_at_kernel_zero():
    (sine,) = record(derived("sin").report())["critical_points"]
    assert sine["correction"]["text"] == "-K**2"
    assert record(derived("hard_tanh").report())["critical_points"][0]["correction"]["text"] == "0"
    gelu, zero = record(derived("gelu").report())["critical_points"]
    assert gelu["correction"] is None and zero["correction"]["text"] == "6*K**2/pi"


# ---- figures -----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def curves(report):
    return maps_figure.curves(report)


def test_curves_pass_the_critical_point(curves):
    at = curves.kernels[np.argmin(np.abs(np.log(curves.kernels / curves.critical)))]
    assert at == pytest.approx((3 + 17**0.5) / 2, rel=0.02)
    assert np.interp(curves.critical, curves.kernels, curves.values["chi_parallel"]) == pytest.approx(1.0, abs=1e-4)
    exact = [float(KERNELS["gelu"].subs(K, k)) for k in curves.kernels[::80]]
    np.testing.assert_allclose(curves.values["phi_squared"][::80], exact, rtol=1e-14)
    assert np.interp(curves.critical, curves.kernels, curves.values[maps_figure.RATIO]) == pytest.approx(1.0, abs=1e-6)
    where = np.interp(curves.critical, curves.kernels, curves.preserved)
    assert where == pytest.approx(np.interp(curves.critical, curves.kernels, curves.values["phi_squared"]), rel=1e-3)
    assert curves.setting == r"\xi = 1,\ C_W = 1.98306,\ C_b = 0.172922,\ \gamma = 0"
    assert "$K^* = 3.56155$" in curves.caption


def test_a_line_of_critical_points_is_drawn_at_one_of_them():
    drawn = maps_figure.curves(derived(sr.residual("where(z > 1, z - 1, where(z < -1, z + 1, 0))")).report())
    assert drawn.critical == 1
    for name in ("chi_parallel", "chi_perp", maps_figure.RATIO):
        assert np.interp(0.0, np.log(drawn.kernels), drawn.values[name]) == pytest.approx(1.0, abs=1e-3)


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


def test_curves_without_an_average_have_one_panel(curves, tmp_path):
    values = {name: series for name, series in curves.values.items() if name != "phi_squared"}
    one = maps_figure.draw(tmp_path / "a.svg", replace(curves, values=values, preserved=None)).read_text()
    assert len(one) < len(maps_figure.draw(tmp_path / "b.svg", curves).read_text())


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
def test_fast_growth_leaves_the_range_of_preserved_kernels_readable(formula):
    drawn = maps_figure.curves(derived(sr.mlp(formula)).report())
    assert drawn.values["phi_squared"].max() > 1e12
    low, high = maps_figure._window(drawn)
    assert low < drawn.preserved.min() < drawn.preserved.max() < high
    assert high / low < 1e13
    near = drawn.values["phi_squared"][drawn.kernels < 1]
    assert ((near > low) & (near < high)).mean() > 0.4


def test_a_slow_average_is_shown_whole(curves):
    low, high = maps_figure._window(curves)
    assert low < curves.values["phi_squared"].min() < curves.values["phi_squared"].max() < high


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


@pytest.mark.parametrize("critical", [None, 0.0])
def test_figure_without_a_critical_point_inside(curves, tmp_path, critical):
    text = maps_figure.draw(tmp_path / "a.svg", replace(curves, critical=critical)).read_bytes()
    assert text != maps_figure.draw(tmp_path / "b.svg", curves).read_bytes()


def test_figure_refuses(curves, report, tmp_path):
    with pytest.raises(DeclarationError, match=r"\.pdf, \.png or \.svg"):
        maps_figure.draw(tmp_path / "a.bmp", curves)
    alpha = sp.Symbol("alpha", positive=True)
    body = alpha * K**2
    free = (Quantity("kernel_map", (K, alpha), body, body, Status.EXACT),)
    with pytest.raises(DeclarationError, match="alpha has no number"):
        maps_figure.curves(replace(report, quantities=free))


# ---- files -------------------------------------------------------------------------------------------------------
def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = files.write_text(tmp_path / "a.txt", "old")

    def fails(temporary: Path) -> None:
        temporary.write_text("half of the new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write_whole(path, fails)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_no_folder_is_made(tmp_path):
    with pytest.raises(DeclarationError, match="there is no folder"):
        files.write_text(tmp_path / "new" / "folder" / "a.txt", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(DeclarationError, match="it is a folder"):
        files.write_text(tmp_path, "text")


def test_permissions_are_ordinary(tmp_path):
    path = files.write_text(tmp_path / "a.txt", "text\n")
    plain = tmp_path / "plain"
    plain.write_text("")
    assert path.read_bytes() == b"text\n"
    assert path.stat().st_mode == plain.stat().st_mode


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DeclarationError, match="is not a folder; choose a folder"):
        files.write_text(tmp_path / "file" / "a.txt", "text")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_templates_are_strict():
    import jinja2

    with pytest.raises(jinja2.UndefinedError):
        files.render("numpy.py.j2", {})


def test_a_figure_may_be_drawn_without_a_display(curves, tmp_path):
    code = "import symres.report.figures.maps_figure, sys; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "DISPLAY": ""})


def test_display_has_a_head_and_a_tail():
    assert display("K'", K + 1, tail=",") == "\\begin{align*}\nK' &= 1 + K,\n\\end{align*}"
    chain = display("K'", K + 1, C_W)
    assert chain == "\\begin{align*}\nK' &= 1 + K \\\\\n&= C_W.\n\\end{align*}"


@pytest.mark.sample(1)
@pytest.mark.parametrize(("formula", "largest"), [("tanh(z)", "1e-2"), ("tanh(100*z)/100", "1e-6"), ("sin(z)", "2e-2")])
def test_the_kernels_that_a_layer_keeps(formula, largest):
    """K' = K - 2 a^2 K^2 for tanh(a z)/a and K - K^2 for sin: 2 % are lost at 0.01/a^2 and at 0.02."""
    report = derived(formula).report()
    assert reach(report, report.critical_points[0]).kept == largest


def test_a_critical_value_without_a_number_is_written_out():
    """C_b on a line of critical points is a long function of K*: it must not be left out."""
    text = document(derived("max(z-1/2,0) + min(z+1/2,0)").report())
    (line,) = (row for row in text.splitlines() if row.startswith("C_b &="))
    assert "erfc" in line


def test_a_line_that_is_not_explicit_is_shown_along_the_fixed_point():
    report = derived("tanh").report()
    _, shown = document(report).split(r"where $K' = K$ and $\chi_\perp = 1$,")
    assert shown.index("C_W") < shown.index("C_b") < shown.index(r"K^*", shown.index("C_b")) < 400
    curve = record(report)["critical_curve"]
    assert [curve[name]["text"] for name in ("C_W", "C_b")] == ["1/<tanh'(z)**2>_{K}", "-C_W*<tanh(z)**2>_{K} + K"]
    assert record(derived("erf").report())["critical_curve"] is None


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "side"), [("gelu", "above"), ("silu", "below")])
def test_from_which_side_a_half_stable_kernel_attracts(name, side):
    """By the map: one step from that side leads closer to K*, one from the other side away."""
    theory = derived(name)
    report, point = theory.report(), theory.critical_points[0]
    assert stability(report.critical_points[0]).startswith(f"half-stable: it attracts nearby kernels from {side};")
    star = sp.N(point.K, 25)
    at = {"C_W": sp.N(point.C_W, 25), "C_b": sp.N(point.C_b, 25)}
    near = sp.Rational(1, 200) if side == "above" else -sp.Rational(1, 200)
    for start, comes_closer in ((star * (1 + near), True), (star * (1 - near), False)):
        end = theory.kernel_map.evalf(22, K=start, **at)
        assert (abs(end - star) < abs(start - star)) == comes_closer


def test_special_functions_and_determinants_are_explained():
    quantity = sr.expect2("hard_tanh", "hard_tanh")
    text = sr.export(quantity, target="latex").text
    assert text.count(r"$\mathrm{S}_2(h, k, r) = \langle") == 1
    assert r"\Delta &= K_1 K_2 - C^{2}" in text or r"\Delta = K_1 K_2 - C^{2}" in text
    both = sr.export({"a": quantity, "b": sr.expect2("hard_tanh", "relu")}, target="latex").text
    assert both.count(r"$\mathrm{S}_2(h, k, r) = \langle") == 1


def test_beside_a_wide_left_side_nothing_is_squeezed():
    left = r"\frac{\partial}{\partial C} \langle f(z_1) g(z_2) \rangle = \langle f'(z_1) g'(z_2) \rangle"
    assert display(left, K1).splitlines()[1] == f"{left} &= K_1."
    lines = display(left, sr.expect2("exp(-abs(z-1))", "exp(-abs(z-1))").expr).splitlines()
    assert lines[1] == rf"& {left} \\"
    assert [line.count(r"\mathrm{Q}_2") for line in lines[2:-1]] == [1, 1, 1, 1]


def test_what_is_unknown_is_called_so_once(report):
    text = " ".join(document(report).split())
    assert r"\textsc{unknown}: no rule for 100\% of it" in text


def test_expansions_are_told_alike_in_every_form():
    """Page, document and record: terms in order, and how far they reach."""
    silu = derived(sr.mlp("silu"))
    small, large = expansions(silu.phi_squared)
    assert (small.limit, large.limit) == (0, sp.oo)
    assert small.body == K / 4 + 3 * K**2 / 16 - 5 * K**3 / 32
    (told,) = [q["expansions"] for q in record(silu.report())["quantities"].values() if q["expansions"]]
    assert [entry["limit"] for entry in told] == ["K -> 0", "K -> oo"]
    assert [sp.sympify(entry["text"], {"K": K}) for entry in told] == [small.body, large.body]
    assert told[0]["reach"] == small.reach and "1e-12 up to K" in small.reach
    text = document(silu.report())
    assert text.index(r"\frac{K}{2} - \frac{\pi^{3/2}}") > text.index("For large kernels it is, exactly,")
    assert r"up to $K = 5 \cdot 10^{-2}$" in text
