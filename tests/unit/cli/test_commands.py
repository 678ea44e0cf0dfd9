"""The command line: pages, documents, files and exit codes."""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import mpmath as mp
import pytest
import sympy as sp

from symres import cli
from symres.activations import catalogue
from symres.activations.activation import file_stem
from symres.activations.formula_parser import PARSED_FUNCTIONS, parse
from symres.check import CheckReport, Outcome, Verdict
from symres.cli import request
from symres.cli.commands import derive_command
from symres.cli.request import find_activation
from symres.core.symbols import gamma, z
from symres.layers import architectures
from symres.layers.layer import Layer
from symres.layers.nodes import Dense
from symres.report.export import export, export_targets
from symres.report.text import console
from symres.report.text.catalogue_tables import facts_of
from symres.report.text.formula_text import Maths
from symres.report.text.page import Page
from symres.results.quantity import Status
from symres.theory.theory import Theory, derive
from tests.command_line import ROOT, Terminal, assert_plain, page, process, run

ANSI = "\x1b["


def derived(name):
    return derive(architectures.mlp(name))


def verdict(outcome):
    return Verdict("kernel_map", "quadrature", "K = 1", 1.0, 1.0, 1e-12, 0.0, 1e-10, outcome)


# ---- lists ---------------------------------------------------------------------------------------------------------


def test_list_shows_every_activation_and_layer(capsys):
    out = page(capsys, "list")
    assert_plain(out)
    first_words = {line.split()[0] for line in out.splitlines() if line and not line.startswith(" ")}
    assert first_words >= set(catalogue.activations) | set(architectures.architectures)


def test_every_formula_of_the_list_can_be_typed_as_it_stands(capsys):
    """Read back with the names of its parameters, it has the values of the activation."""
    block, blocks = [], {}
    for text in page(capsys, "list", "activations").splitlines()[2:]:
        if not text.startswith(" "):
            name, _, text = text.partition(" ")
            block = blocks.setdefault(name, [])
        block.append(text.strip())
    assert list(blocks) == list(catalogue.activations)
    for name, phi in catalogue.activations.items():
        facts = facts_of(phi, Maths()).split(" ")
        shown = " ".join(blocks[name]).split(" ")
        assert shown[-len(facts) :] == facts
        formula = parse(" ".join(shown[: -len(facts)]), parameters={str(p): p for p in phi.parameters})
        for k in range(-8, 9):
            values = {p: sp.Rational(j, 7) for j, p in enumerate(phi.parameters, 2)} | {z: sp.Rational(7 * k, 8)}
            assert abs(sp.N(formula.subs(values) - phi.expr.subs(values), 20)) < 1e-18, name


LONG = "where(z<-1/2, -1/5, gelu(z)*elu(z))"


@pytest.mark.exhaustive
def test_a_formula_is_called_what_was_typed(capsys):
    head = page(capsys, "derive", LONG, "--set", "alpha=1").splitlines()[0]
    assert head == f"{LONG} in the layer mlp, α = 1"
    typed = page(capsys, "derive", "where(z>0,z,  a*z)", "--set", "a=1/2", "--set", "C_b=0")
    assert typed.startswith("where(z>0,z, a*z) in the layer mlp, a = 1/2, C_b = 0\n")
    long = "z/3 + " * 20 + "z"
    words = page(capsys, "derive", long).split("═")[0].split()
    assert " ".join(words) == f"{long[:69]}... in the layer mlp"
    module = page(capsys, "export", LONG, "--set", "alpha=1", "--quantity", "chi_perp")
    assert module.startswith(f'"""{LONG} in the layer mlp.\n')


def test_no_line_of_the_head_ends_inside_a_setting():
    asked = request.make("relu", "mlp", ["C_W=1"])
    report = derive_command._report(asked)[1]
    for count in range(1, 60):
        titled = replace(report, activation="z + " * count, settings=(("a", "1/2"), ("C_W", "1")))
        lines = ["".join(span.text for span in row) for row in Page(titled, asked.phi, 80, True)._head()]
        assert sum(line.count("a = 1/2") + line.count("C_W = 1") for line in lines) == 2


@pytest.mark.parametrize(("formula", "stem"), [("relu", "relu"), ("z^2+1", "z_pow_2_plus_1_"), (LONG, "formula_")])
def test_names_of_files_are_short_and_stable(capsys, formula, stem):
    settings = {"alpha": sp.Integer(1)} if formula == LONG else {}
    texts = formula, formula.replace(" ", "").replace("^", "**")
    (found,) = {file_stem(find_activation(text, **settings).formula) for text in texts}
    assert found.startswith(stem) and len(found) <= 32 and found.isidentifier()
    if formula == LONG:
        others = {file_stem(find_activation(formula, alpha=sp.Integer(k)).formula) for k in (1, 2, 3)}
        assert len(others) == 3


def test_ascii_streams_get_ascii():
    result = process("list", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    text = result.stdout.decode("ascii")
    assert "z' = gamma*z + xi*Dense(phi(z))" in text
    assert_plain(text)


# ---- the page ------------------------------------------------------------------------------------------------------


def test_out_writes_its_files_and_nothing_else(capsys, tmp_path):
    folder = tmp_path / "made" / "gelu"
    document = json.loads(page(capsys, "derive", "gelu", "--layer", "residual", "--json", "--out", str(folder)))
    assert sorted(p.name for p in folder.iterdir()) == [
        "aspect_ratio.pdf", "aspect_ratio.png", "aspect_ratio.svg", "derivation.tex", "gelu_numpy.py", "gelu_torch.py",
        "maps.pdf", "maps.png", "maps.svg", "results.json",
    ]  # fmt: skip
    assert [p.name for p in folder.parent.iterdir()] == ["gelu"]
    assert json.loads((folder / "results.json").read_text()) == document
    assert (folder / "maps.png").read_bytes().startswith(b"\x89PNG")
    assert "\\begin{document}" in (folder / "derivation.tex").read_text()
    module = runpy.run_path(str(folder / "gelu_numpy.py"))
    assert abs(float(module["chi_perp"]((3 + 17**0.5) / 2, 1.98305825743755, 0.0)) - 1) < 1e-13


UNKNOWN = "χ⊥ = unknown the slope is unbounded at a breakpoint and its mean square finite"
OPEN = "universality class not decided: C_W = 2 is set", "For the fixed points, give C_b a number, too"
PAGES = [  # of a command line, what it says and what it does not
    (["show", "leaky_relu"], ["slope (real)"], []),
    (["show", "-z*exp(-z^2)"], ["-z·exp(-z²)"], []),
    (["derive", "step"], ["= ∞", "universality class none", "No advice: gradients are infinite"], []),
    # |z|**(3/4) has a vertical tangent, and <phi'^2> is finite: symres has no rule for it
    (["derive", "sign(z)*abs(z)^(3/4)"], [UNKNOWN], ["infinite where", "undefined"]),
    # (1 + slope²)/2 C_W = 1 - gamma²
    (
        ["derive", "leaky_relu", "--layer", "residual", "--set", "slope=1/2", "--set", "gamma=0.5"],
        ["C_W 1.2 6/5", "--set slope=1/2"],
        [],
    ),
    (["derive", "where(z > 0, z, a*z)", "--set", "a=1/2", "--set", "C_b=0"], ["homogeneous of degree 1"], ["C_b +"]),
]
DEEP_PAGES = [
    (["derive", "1/(z^2+1)"], ["with closed forms: 1/(1 + z²)² is not a polynomial"], ["no closed form known"]),
    (["derive", "relu", "--set", "C_W=2"], OPEN, ["could not decide", "Remarks"]),
    # the critical point of a block is known by the variance of its hidden units, which is not K*
    (
        ["derive", "silu", "--layer", "two_layer_block", "--set", "gamma=1/2", "--set", "xi=1"],
        ["√(3/⟨φ'(z)²⟩_S*)/2", "S* 14.3201736180258, the variance inside of the averages"],
        ["⟩_K*"],
    ),
    (["derive", "leaky_relu"], ["Give slope (--set slope=...) a number"], []),
    (["derive", "swish"], ["14.3201736180258/β²", "Give β (--set beta=...) a number"], []),
    (["derive", "elu(z)*Phi(z)"], ["contains α"], []),
]


@pytest.mark.parametrize(
    ("words", "said", "unsaid"), PAGES + [pytest.param(*row, marks=pytest.mark.exhaustive) for row in DEEP_PAGES]
)
def test_pages_say_what_was_found_and_nothing_else(capsys, words, said, unsaid):
    shown = " ".join(page(capsys, *words).split())
    assert [part for part in said if part not in shown] == []
    assert [part for part in unsaid if part in shown] == []


def test_explain_prints_every_proof(capsys):
    out = page(capsys, "derive", "relu", "--explain")
    assert_plain(out)
    assert out.count("Proof of") == 6 and "Gaussian average" in out and "canonical form" in out


@pytest.mark.exhaustive
def test_explain_arrives_at_a_result_once(capsys):
    """A result is claimed, and where its derivation arrives it ends: no level above repeats it."""
    g = page(capsys, "derive", "relu", "--explain").split("Proof of g")[1].split("Proof of K'")[0]
    assert g.count("K/2") == 2
    assert [line.strip() for line in g.splitlines()].count("= K/2") == 1
    text = derive("relu").covariance_map.proof.explain()
    states = [line.strip() for line in text.splitlines() if line.lstrip().startswith("= ")]
    assert all(before != after for before, after in pairwise(states))
    assert states[-1] == f"= {derive('relu').covariance_map.body}"


def test_what_does_not_exist_is_undefined_and_has_no_proof(capsys):
    out = page(capsys, "derive", "step", "--explain")
    assert re.search(r"UNDEFINED\n *h +?= undefined\n", out)
    assert "unknown" not in out.lower()
    assert "at least as steep as a square root is at 0" in " ".join(out.split())
    assert out.count("Proof of") == 4 and "start: None" not in out and "start: oo" not in out
    assert json.loads(page(capsys, "derive", "step", "--json"))["quantities"]["h"]["definition"] is None


@pytest.mark.exhaustive
def test_advice_comes_with_its_conditions(capsys):
    line = page(capsys, "derive", "where(z > 1, z - 1, where(z < -1, z + 1, 0))", "--layer", "residual")
    words = " ".join(line.split())
    assert "C_W > 0 and C_b ≥ 0" in words
    # the line of critical points at K = 1, with the skip connection that is chosen
    assert "With γ = 0.9, draw" in words and "has kernel 1." in words
    with mp.workdps(15):
        assert f"C_W = {mp.nstr((1 - mp.mpf('0.9') ** 2) / mp.erfc(1 / mp.sqrt(2)), 9)}, and biases" in words


def test_a_jump_has_fixed_points_too(capsys):
    words = ("derive", "sign", "--set", "C_W=1/2", "--set", "C_b=1/4")
    assert "0.75 0 ∞ chaotic" in " ".join(page(capsys, *words).split("Fixed points")[1].split())
    (point,) = json.loads(page(capsys, *words, "--json"))["fixed_points"]
    assert point == {"K": 0.75, "chi_parallel": 0.0, "chi_perp": "inf", "phase": "chaotic"}


@pytest.mark.parametrize(
    ("formula", "fact"),
    [
        ("relu", "kink at 0"),
        ("step", "jump at 0"),
        ("snake", "smooth"),
        ("where(z > 0, z^2, 0)", "second derivative jumps at 0"),
        ("celu", "second derivative jumps at 0"),
        ("elu", "kink at 0"),  # for all alpha but 1
        ("elu(alpha=1)", "second derivative jumps at 0"),
        ("where(z > 1, z^3 - 3*z^2 + 3*z - 1, 0)", "third derivative jumps at 1"),
        ("where(z > 0, z, 0) + where(z > 1, 1, 0)", "kink at 0; jump at 1"),
        ("hard_tanh", "odd; kinks at -1, 1"),
        ("abs(z)^(3/2)", "second derivative infinite at 0"),
        ("abs(z-1)^(5/4)", "second derivative infinite at 1"),
        ("sign(z)*sqrt(abs(z))", "infinite slope at 0"),
        ("abs(z)^3+z", "third derivative jumps at 0"),
    ],
)
def test_breakpoints_are_told_by_what_jumps(capsys, formula, fact):
    shown = page(capsys, "show", formula).split("facts")[1]
    facts = [part.strip() for part in " ".join(shown.split()).split(";")]
    assert set(fact.split("; ")) <= set(facts)


@pytest.mark.exhaustive
def test_huge_numbers_are_short_on_the_page_and_no_warning_is_printed():
    result = process("derive", "gelu", "--layer", "residual", "--set", "gamma=1e300")
    assert (result.returncode, result.stderr) == (0, b"")
    out = result.stdout.decode()
    assert "1e300·z" in out
    assert "0" * 40 not in out
    assert "INCONCLUSIVE" in out
    result = process("derive", "gelu", "--layer", "residual", "--set", "gamma=1e301")
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"1e-300 to 1e300" in result.stderr
    result = process("derive", "z^64")
    assert (result.returncode, result.stderr) == (0, b"")
    assert "1.6474926...e107·K⁶⁴" in result.stdout.decode()


@pytest.mark.exhaustive
def test_long_commands_are_broken_where_a_shell_can_read_them(capsys):
    formula = "where(z > 0, z, 0) + z/3 + where(z > 0, z, 0)/7 + z/9"
    out = page(capsys, "derive", formula, "--layer", "residual", "--set", "gamma=1/3", "--set", "C_b=0")
    assert_plain(out)
    shown = out.split("this page: ")[1].replace("\\\n", " ")
    assert shlex.split(shown) == [
        "symres", "derive", formula, "--layer", "residual", "--set", "gamma=1/3", "--set", "C_b=0",
    ]  # fmt: skip


def test_a_refuted_result_is_exit_code_1(capsys, monkeypatch):
    rows = CheckReport((verdict(Outcome.PASSED), verdict(Outcome.REFUTED)))
    monkeypatch.setattr(sys.modules["symres.check"], "check", lambda theory, **_: rows)
    for options in ((), ("--json",)):
        code, out, err = run(capsys, "derive", "relu", *options)
        assert (code, err) == (1, "")
        assert "REFUTED" in out


def test_an_unknown_quantity_is_shown_with_its_reason_and_has_no_code(capsys, monkeypatch):
    unknown = replace(derived("relu").h, status=Status.UNKNOWN, reason="nobody knows")
    derive = Theory.derived
    monkeypatch.setattr(Theory, "derived", lambda self, record: unknown if record.name == "h" else derive(self, record))
    assert "nobody knows" in page(capsys, "derive", "relu")
    code, out, err = run(capsys, "export", "relu", "--quantity", "h")
    assert (code, out) == (3, "")
    assert err.startswith("symres: code for h: nobody knows")


@pytest.mark.exhaustive
def test_a_terminal_gets_colours_and_the_same_words(capsys, monkeypatch):
    plain = page(capsys, "derive", "relu")
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert cli.run(["derive", "relu"]) == 0
    text = terminal.getvalue()
    assert ANSI in text
    assert re.sub(r"\x1b\[[0-9;]*m", "", text).split() == plain.split()


# ---- check ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([Outcome.PASSED], 0),
        ([Outcome.PASSED, Outcome.REFUTED, Outcome.INCONCLUSIVE], 1),
        ([Outcome.PASSED, Outcome.INCONCLUSIVE], 3),
        ([], 3),
    ],
)
def test_the_exit_code_of_check_is_its_verdict(capsys, monkeypatch, outcomes, expected):
    report = CheckReport(tuple(map(verdict, outcomes)))
    asked = {}
    monkeypatch.setattr(sys.modules["symres.check"], "check", lambda theory, **options: asked.update(options) or report)
    words = ("--against", "quadrature", "--seed", "7", "--quantity", "ntk_map", "--quantity", "h")
    code, out, err = run(capsys, "check", "relu", *words)
    assert (code, err) == (expected, "")
    assert out.rstrip("\n") == report.table()
    assert asked == {"against": ("quadrature",), "seed": 7, "quantities": ["ntk_map", "h"]}


@pytest.mark.exhaustive
def test_check_passes_a_right_theory(capsys):
    out = page(capsys, "check", "relu", "--layer", "residual", "--against", "quadrature")
    assert_plain(out)
    assert "PASSED: " in out and "chi_perp" in out and "simulation" not in out


# ---- what others add -----------------------------------------------------------------------------------------------


def test_new_activations_and_layers_need_no_other_edit(capsys, monkeypatch):
    entry = catalogue.CatalogueEntry("wobble", "z + sin(z)/2", "made up here")

    def doubled(phi, gamma=gamma):
        """A layer with two branches, for a test."""
        return Layer(gamma * z + Dense(phi(z)) + Dense(phi(z)), "doubled")

    monkeypatch.setattr(catalogue, "activations", catalogue.activations.extended(entry))
    monkeypatch.setattr(architectures, "architectures", {**architectures.architectures, "doubled": doubled})
    listed = page(capsys, "list")
    assert "wobble" in listed and "A layer with two branches" in listed
    out = page(capsys, "derive", "wobble", "--layer", "doubled", "--set", "gamma=0")
    # <(z + sin(z)/2)²> = K + K exp(-K/2) + (1 - exp(-2K))/8, twice
    assert "2C_W" in out and "exp(-K/2)" in out and "made up here" in out


# ---- streams -------------------------------------------------------------------------------------------------------


def test_a_reader_that_goes_away_is_no_error():
    result = process("list", shell=" | head -n 1; exit ${PIPESTATUS[0]}")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.decode().splitlines() == ["Activations"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line():
    result = process("list", shell=" > /dev/full")
    assert result.returncode == 2
    assert result.stderr.decode().splitlines() == ["symres: reading or writing failed: No space left on device"]


def test_help_and_version(capsys):
    assert "derive" in page(capsys, "--help")
    assert page(capsys) == page(capsys, "--help")
    for command in ("derive", "check", "export", "plot", "compare"):
        assert "--layer NAME" in page(capsys, command, "-h")
    assert re.fullmatch(r"symres \d+\.\d+\.\d+\n", page(capsys, "--version"))


@pytest.mark.parametrize("command", ["derive", "show", "export", "check"])
def test_help_tells_what_a_formula_may_contain(capsys, command):
    told = page(capsys, command, "--help")
    assert set(PARSED_FUNCTIONS) <= set(re.findall(r"\w+", told.split("A formula is made of")[1]))
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.exhaustive
def test_the_formula_of_the_help_is_one(capsys):
    (example,) = re.findall(r'^ *(symres derive "where.*)$', page(capsys, "derive", "--help"), re.MULTILINE)
    title = "where(z > 1, z - 1, where(z < -1, a*(z + 1), 0)) in the layer mlp, a = 1/2"
    assert title in page(capsys, *shlex.split(example)[1:])


def test_messages_are_one_printable_line(capsys):
    console.complain("a\nb\x1b[31m\tc" + "d" * 2000)
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "\x1b" not in err and len(err) < 600


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["ntk_map", "chi_delta", "parameter_norm"])
def test_what_is_on_no_page_can_be_exported(capsys, tmp_path, name):
    path = tmp_path / "module.py"
    page(capsys, "export", "gelu", "--layer", "residual", "--quantity", name, "--out", str(path))
    theory = derive(architectures.residual("gelu"))
    quantity = getattr(theory, name)
    values = {"K": 0.7, "K1": 0.7, "K2": 1.3, "C": 0.4, "Theta": 0.9, "C_W": 1.3, "C_b": 0.2, "gamma": 0.6}
    own = {s.name: values[s.name] for s in quantity.symbols}
    assert runpy.run_path(str(path))[name](**own) == pytest.approx(float(quantity.evalf(**own)), rel=1e-13)
    assert name not in theory.quantities


def test_what_an_export_leaves_out_is_said(capsys, monkeypatch):
    def lacking(*subject, **options):
        return replace(export(*subject, **options), missing=("chi_parallel: it was given up after 60 s",))

    monkeypatch.setattr("symres.report.export.export", lacking)
    code, _, err = run(capsys, "export", "relu", "--quantity", "kernel_map")
    assert (code, err) == (0, "symres: left out: chi_parallel: it was given up after 60 s\n")


@pytest.mark.exhaustive
def test_long_numbers_do_not_touch_their_neighbours(capsys):
    text = page(capsys, "derive", "z*sigmoid(300*z)")
    assert re.search(r"K\*    0\.000159113040\d+  a root, computable", text)
    head, *rows = text.split("Values ")[1].split("Criticality")[0].strip().splitlines()[2:]
    columns = [m.start() for m in re.finditer(r"\S+", head)][1:]
    assert len(rows) == 6 and all(row[c - 2 : c] == "  " and row[c] != " " for row in rows for c in columns)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("formula", "words"),
    [("z*sin(z)", ()), ("silu", ()), ("z*tanh(log(1+exp(z)))", ("--layer", "residual", "--set", "gamma=1/2"))],
)
def test_laws_in_the_depth_at_points_that_are_roots_are_numbers(capsys, formula, words):
    """K - K* ~ a/l and J ~ l^q with the numbers of the theory, not with the name of another root."""
    (text,) = (t for t in page(capsys, "derive", formula, *words).splitlines() if t.startswith("  in layer l:"))
    found = re.fullmatch(r"  in layer l: K - K\* ~ (-?[0-9.]+)\.\.\./l, J ~ l\^\(?(-?[0-9.]+)\.\.\.\)?", text)
    theory = derive(architectures.residual(formula, gamma="1/2") if words else formula)
    expected = theory.exponents
    assert float(found[1]) == pytest.approx(float(expected.amplitude), rel=1e-7)
    assert float(found[2]) == pytest.approx(-float(expected.jacobian), rel=1e-7)


def test_names_in_c_begin_with_what_is_asked_for_or_with_the_activation(capsys, tmp_path):
    asked = ("export", "relu", "--quantity", "kernel_map", "--target", "c")
    assert "void relu_kernel_map(size_t" in page(capsys, *asked)
    text = page(capsys, *asked, "--prefix", "mine")
    assert "void mine_kernel_map(size_t" in text
    assert "symres export relu --layer mlp --quantity kernel_map --target c --prefix mine\n" in text


def test_a_name_whose_meaning_changed_is_told_in_a_line(capsys):
    code, _, err = run(capsys, "show", "gaussian(z)*gaussian(2*z)")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("symres: warning: gaussian is bell")


def test_a_parameter_stays_a_positive_symbol(capsys):
    text = page(capsys, "export", "max(z, 0) + a*min(z, 0)", "--positive", "a", "--quantity", "kernel_map")
    functions = {}
    exec(text, functions)
    assert functions["kernel_map"](K=2.0, C_W=1.0, C_b=0.5, a=3.0) == pytest.approx(0.5 + 2 * (1 + 9) / 2, rel=1e-14)
    assert "symres export 'max(z, 0) + a*min(z, 0)' --layer mlp --positive a --quantity kernel_map" in text


def test_a_repeated_option_exports_every_quantity_it_names(capsys, tmp_path):
    path = tmp_path / "module.py"
    asked = ("--quantity", "chi_perp", "--quantity", "phi_squared")
    page(capsys, "export", "relu", *asked, "--out", str(path))
    functions = runpy.run_path(str(path))
    assert functions["chi_perp"](K=1.5, C_W=3.0) == 1.5 and functions["phi_squared"](K=1.5) == 0.75
    assert "kernel_map" not in functions
    command = "symres export relu --layer mlp --quantity chi_perp --quantity phi_squared --target numpy"
    assert command in path.read_text()
    text = page(capsys, "export", "relu", *asked, "--target", "latex")
    assert r"\chi_\perp &=" in text and "phi^2" in text and "K' &=" not in text


HEAVY = ("sympy", "mpmath", "flint", "numpy", "scipy", "matplotlib", "jinja2")
LOADED = """
import sys
from symres.cli import run
assert run(sys.argv[2:]) == 0
print(*(name for name in sys.argv[1].split(",") if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "unloaded"),
    [
        (["--help"], HEAVY),
        (["--version"], HEAVY),
        (["export", "--help"], HEAVY),
        (["list"], ("numpy", "scipy", "matplotlib", "jinja2", "torch", "rich")),  # formulas are sympy's
    ],
    ids=" ".join,
)
def test_help_and_lists_load_no_library_that_they_do_not_need(words, unloaded):
    command = [sys.executable, "-c", LOADED, ",".join(unloaded), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (0, "\n")


def test_a_shell_completes_the_names_of_commands():
    completing = {"_SYMRES_COMPLETE": "complete_bash", "COMP_WORDS": "symres exp", "COMP_CWORD": "1"}
    assert process(**completing).stdout.decode().split() == ["export"]


def test_an_activation_alone_is_told_what_else_can_be_asked(capsys):
    further = page(capsys, "derive", "leaky_relu", "--set", "slope=1/2").partition("  further:\n")[2]
    commands = [shlex.split(row.split("   ")[0]) for row in further.splitlines()]
    assert [words[1] for words in commands] == ["derive", "plot", "check", "compare", "export"]
    assert all(words[-2:] == ["--set", "slope=1/2"] for words in commands)
    for words in commands[:1] + commands[3:4]:
        page(capsys, *words[1:])
    assert "further" not in page(capsys, "derive", "leaky_relu", "--set", "slope=1/2", "--layer", "mlp")
    # all targets are named
    last = derive_command._further(request.make("relu", "mlp", []), 200)[-1]
    told = "".join(span.text for span in last).rpartition("code; also ")[2]
    assert sorted([*told.split(", "), "torch"]) == sorted(export_targets())


def test_a_table_on_the_page_and_in_a_file(capsys, tmp_path):
    assert cli.run(["compare", "relu", "abs", "--set", "gamma=1/2", "--layer", "residual"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("activations in the layer residual, gamma = 1/2\n\n")
    place = tmp_path / "table.json"
    assert cli.run(["compare", "relu", "leaky_relu", "--set", "slope=1/10", "--json", "--out", str(place)]) == 0
    document = json.loads(place.read_text())
    assert [row["activation"] for row in document["activations"]] == ["relu", "leaky_relu(slope=1/10)"]
    assert document["activations"][0]["nu"] == pytest.approx(5, rel=1e-14)
