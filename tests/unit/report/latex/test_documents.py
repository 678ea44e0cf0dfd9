"""Documents of a report, and how formulas are set in them."""

from dataclasses import replace

import pytest
import sympy as sp

import symres as sr
from symres.core import files
from symres.core.symbols import C_W, K1, C_b, K, gamma, z
from symres.functions.records.gaussian_signs import S2
from symres.report.latex.advice_section import advice_section
from symres.report.latex.displays import broken, display, escape, latex, typed, width
from symres.report.latex.document import document
from symres.report.latex.prose import prose
from symres.report.record import record
from symres.results.advice.advice import Advice
from tests.command_line import needs_latex, typeset
from tests.oracles.closed_forms import KERNELS, theory
from tests.shared import derived

# ---- formulas ----------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_a_long_formula_is_broken_and_loses_nothing():
    formula = C_W * (KERNELS["gelu"].diff(K, 3) + KERNELS["elu"] + KERNELS["hard_tanh"]) + C_b
    lines = broken(formula, 50.0)
    assert len(lines) > 2
    assert max(map(width, lines)) < 62.0
    text = " ".join(lines)
    assert text.count(r"\Bigl[") == text.count(r"\Bigr]")
    for bracket in ("{}", "()"):
        assert text.count(bracket[0]) == text.count(bracket[1])
    for mark in ("{erf", "^{7/2}", "C_b"):
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


@pytest.mark.exhaustive
@needs_latex
def test_a_typed_title_stays_on_the_page(report, tmp_path):
    wide = sum(sp.tanh(z / k) for k in range(1, 9))
    phi = replace(report, activation="max(z,-1/2)*" * 6, heads=(r"\phi",), formulas=(("long", wide),))
    text = document(phi)
    assert r"\title{\texttt{max(\allowbreak{}z," in text
    files.write_text(tmp_path / "report.tex", text)
    typeset(tmp_path / "report.tex")


def test_special_characters_are_escaped():
    assert escape("a_b & 100% {x} \\ ~^") == r"a\_b \& 100\% \{x\} \textbackslash{} \textasciitilde{}\textasciicircum{}"


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
    text = sr.export(theory("relu"), "latex", command="symres export relu").text
    assert r"\begin{align*}" in text
    assert "symres export relu" in text
    assert "No critical point" in document(replace(report, critical_points=()))
    assert "includegraphics" not in document(report)
    assert r"\caption{a plot}" in document(report, "a plot")


@needs_latex
def test_document_compiles_without_overfull_lines(report, tmp_path):
    files.write_text(tmp_path / "report.tex", document(report))
    typeset(tmp_path / "report.tex")


JUMP = (
    r"$\chi_\perp$ is infinite: the activation jumps",
    r"\textsc{undefined}: $\chi_\perp$ is infinite and has no slope",
)
DOCUMENTS = [  # of an activation, what it says and what it does not
    ("step", JUMP, ["Chi"]),  # a remark may begin with a symbol
    ("where(z > 1, z, z/100)", [r"\frac{1}{20000} \left(9999"], []),  # fractions where the formula has no decimal
    ("1.0507*relu(z)", ["0.551985245"], []),
    # noise has a column only where there is noise
    pytest.param("where(z > 1, z - 1, 0)", [r"$y$ & $m$ & $V$"], [r"\varepsilon"], marks=pytest.mark.exhaustive),
    pytest.param("gelu", [r"$y$ & $\langle \varepsilon^2 \rangle$ & $m$ & $V$"], [], marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("formula", "said", "unsaid"), DOCUMENTS)
def test_documents_say_what_was_found_and_nothing_else(formula, said, unsaid):
    text = document(derived(sr.mlp(formula)).report())
    assert [part for part in said if part not in text] == []
    assert [part for part in unsaid if part in text] == []


@pytest.mark.exhaustive
def test_a_critical_value_without_a_number_is_written_out():
    """C_b on a line of critical points is a long function of K*: it must not be left out."""
    text = document(derived("max(z-1/2,0) + min(z+1/2,0)").report())
    (line,) = (row for row in text.splitlines() if row.startswith("C_b &="))
    assert "erfc" in line


@pytest.mark.exhaustive
def test_a_line_that_is_not_explicit_is_shown_along_the_fixed_point():
    report = derived("tanh").report()
    _, shown = document(report).split(r"where $K' = K$ and $\chi_\perp = 1$,")
    assert shown.index("C_W") < shown.index("C_b") < shown.index(r"K^*", shown.index("C_b")) < 400
    curve = record(report)["critical_curve"]
    assert [curve[name]["text"] for name in ("C_W", "C_b")] == ["1/<tanh'(z)**2>_{K}", "-C_W*<tanh(z)**2>_{K} + K"]
    assert record(derived("erf").report())["critical_curve"] is None


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


def test_long_branches_functions_and_averages_are_broken():
    long = sum(sp.sin(k * K) ** k for k in range(3, 20))
    for formula in (
        sp.Piecewise((K, K > 1), (long, True)),
        sp.tanh(long) ** 2,
        sp.exp(long) * sp.tanh(long),
        sr.expect(sum(z**k for k in range(1, 30))).definition,
    ):
        text = display("f", formula)
        assert "tiny" not in text
        assert text.count(r"\Bigl") == text.count(r"\Bigr")
        for line in text.splitlines():
            assert width(line.replace(r"\\", "")) < 75 or r"\begin{cases}" in line


@pytest.mark.exhaustive
def test_numbers_are_a_table_and_sentences_are_paragraphs():
    theory = derived(sr.residual("gelu"))
    advice = theory.advice()
    rows = dict(row.split(" & ") for row in advice_section(advice)["rows"])
    assert rows["fan-in times variance of weights, $C_W$"] == f"${advice.C_W:.9g}$"
    assert rows[r"$\gamma$"] == "$0.93$" and rows["mean square of the inputs"] == f"${advice.inputs_kernel:.9g}$"
    mean = advice.trial.mean
    assert rows["largest mean kernel of a layer over the smallest"] == f"${mean.kernel_range:.3g}$"
    assert rows["largest mean squared gradient of a layer over the smallest"] == f"${mean.gradient_range:.3g}$"
    text = document(replace(theory.report(), advice=advice))
    assert r"\subsection*{How to initialise 50 layers of width 512}" in text
    assert all(f"\n{prose(reason)}\n\n" in text for reason in advice.reasons) and len(advice.reasons) > 5


def test_without_advice_there_is_no_table():
    for advice in (derived("swish").advice(), Advice(50, 512, False, 1.25, 0.125, {}, 0.5, 0.3)):
        shown = advice_section(advice)
        assert shown["rows"] == [] == shown["code"] and shown["sentences"]


def test_inputs_of_any_scale_have_no_mean_square():
    advice = Advice(50, 512, True, 2.0, 0.0, {}, 2.0, 1.0, any_scale=True)
    assert not any("mean square" in row or "K^0" in row for row in advice_section(advice)["rows"])


MAKE = {
    "vertex": lambda: derived(sr.residual("relu")).vertex_recursion,
    "vertex of an mlp": lambda: derived(sr.mlp("relu")).vertex_recursion,
    "vertex without a closed form": lambda: derived(sr.residual("tanh")).vertex_recursion,
    "response": lambda: fischer().response_recursion(),
    "branch_scale": lambda: fischer().branch_scale_procedure(),
    "optimal_gamma": lambda: derived(sr.residual("tanh")).aspect_ratio_curve(1).inverse,
}
SHOWN = {
    "vertex": r"A^l_k\, M(K^k, K^l, C^l_k)",
    "vertex of an mlp": r"G^{l+1} &= 0",
    "vertex without a closed form": r"R(K^l)",
    "response": r"\eta^{l+1}",
    "branch_scale": r"\xi^\star",
    "optimal_gamma": r"r^\star(\gamma, n_L) &= r",
}


def fischer():
    return derived(sr.residual("erf", gamma=1, xi=sr.xi))


@pytest.mark.parametrize("name", MAKE)
def test_it_shows_the_equations_and_every_function(name):
    procedure = MAKE[name]()
    text = sr.export(procedure, target="latex").text
    assert SHOWN[name] in text
    for quantity in procedure.functions:
        assert f"{quantity.notation} &" in text
    assert procedure.call in text


def test_headings_are_typeset():
    """They have no full stop, and formulas in them stand as they were typed."""
    text = sr.export(MAKE["branch_scale"](), target="latex").text
    assert r"\section*{Weight of the branch at which outputs respond most to the kernel of their input}" in text
    text = sr.export(MAKE["response"](), target="latex", title="erf in the layer z + xi*Dense(phi(z)).").text
    heading = next(line for line in text.splitlines() if line.startswith(r"\section*"))
    assert heading.startswith(
        r"\section*{Response of deep networks to the kernel of their input: erf in the layer \texttt{z"
    )
    assert not heading.endswith(".}")


def test_averages_are_derived():
    text = sr.export(MAKE["vertex"](), target="latex").text
    assert r"\subsection*{(A1)}" in text and "Stein's lemma" in text


@needs_latex
@pytest.mark.parametrize("name", MAKE)
def test_it_compiles(name, tmp_path):
    (tmp_path / "all.tex").write_text(sr.export(MAKE[name](), target="latex").text)
    typeset(tmp_path / "all.tex")
