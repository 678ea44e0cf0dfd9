"""What users see, kept as files: page, JSON, LaTeX and generated modules of many activations and layers.

NumPy and PyTorch modules are kept beside the page of their layer, modules in C, Numba and JAX in ``kept/modules``, the
HTML that notebooks show of the objects that users hold in ``kept/notebooks``, a line each element. In
``kept/formulas.json`` are forty formulas of the catalogue as a theorist would write them, each to be read, and none
longer than it once was: ``before`` counts the symbols of the text at commit 3c7a0c1, before one step chose the shortest
form.

``python -m pytest tests/golden -m "" --renew-golden`` writes the files anew; ``git diff`` then shows what changed.
"""

import base64
import json
import re
from pathlib import Path

import pytest

import symres as sr
from symres.activations.catalogue import activations
from symres.codegen import targets
from symres.notation import named, symbols
from symres.notation.shortest import readable
from symres.report.text.formula_text import Maths
from symres.results.observable import OracleValue
from symres.results.verdict import QUADRATURE, CheckReport, contradicted, judge
from tests.command_line import page
from tests.shared import derived

KEPT = Path(__file__).parent / "kept"

CASES = {
    "relu_mlp": ("relu", "--layer", "mlp"),
    "gelu_residual": ("gelu", "--layer", "residual"),
    "tanh_pre_ln": ("tanh", "--layer", "pre_ln"),
    "erf_ln_act": ("erf", "--layer", "ln_act"),
    "selu_mlp": ("selu", "--layer", "mlp"),
    "silu_residual_half": ("silu", "--layer", "residual", "--set", "gamma=1/2"),
    "sin_mlp": ("sin", "--layer", "mlp"),
    "mish_residual": ("z*tanh(log(1+exp(z)))", "--layer", "residual", "--set", "gamma=1/2"),
    "hard_tanh_mlp": ("hard_tanh", "--layer", "mlp"),
    "relu_two_layer_block": ("relu", "--layer", "two_layer_block"),
    "erf_batch_norm": ("erf", "--layer", "batch_norm"),
    "gelu_gated": ("gelu", "--layer", "gamma*z + Dense(phi(Dense(z))*Dense(z))", "--set", "gamma=1/2"),
    "erf_post_ln": ("erf", "--layer", "LayerNorm(gamma*z + Dense(phi(z)))"),
    "swish_residual": ("swish", "--layer", "residual"),
    "parameter": ("leaky_relu", "--layer", "residual"),
}
KINDS = {
    "page.txt": "",
    "results.json": "results.json",
    "derivation.tex": "derivation.tex",
    "numpy.txt": "*_numpy.py",
    "torch.txt": "*_torch.py",
}

# what is exported to the languages whose modules no command writes beside a page: functions and a whole network
MODULES = {
    "relu_covariance_map": lambda: derived(sr.mlp("relu")).covariance_map,
    "erf_network": lambda: sr.network([sr.mlp("erf")] * 3),
    "sin_mlp": lambda: derived(sr.mlp("sin")),
    "gelu_residual": lambda: derived(sr.residual("gelu")),
    "tanh_covariance_map": lambda: derived(sr.mlp("tanh")).covariance_map,
}
# modules of NumPy and PyTorch stand beside the page of each case; a text with a header is in C
EXTENSIONS = {
    name: "c" if ".h" in targets.find(name).companion_endings else "py"
    for name in targets.names()
    if name not in ("numpy", "torch")
}

# measured rounding errors depend on the processor: their size may differ by a factor, where they are worst at will
MEASURED = re.compile(r"(at[\s*]+most[\s*]+)(\d(?:\.\d+)?e-1\d)")
DEVIATION = re.compile(r'"worst": (\d\.\d)\d*(e-\d+)')  # of a verification: later digits depend on what ran before
WORST = re.compile(r";[\s*]+worst[\s*]+at\s[^.]*(?:\.\d[^.]*)*\.\n")
DIGEST = re.compile(r"symres_[0-9a-f]{12}_")  # of a text with its measured errors
# every version that the bounds allow leads to the same text
VERSION = re.compile(r'^(\s*"?(?:python|sympy|mpmath|python-flint)"?:? "?)\d[\w.+]*', re.MULTILINE)
# what an oracle measured in floats: another processor rounds otherwise, far below the error that stands beside it
_NUMBER = r"(-?\d\S*),\s+"
ORACLE = re.compile(rf'"value": {_NUMBER}"error": {_NUMBER}"z": {_NUMBER}"detectable": (-?\d[^\s,]*)')

FAINT = re.compile(r"\$-?0\.[01]\$ (?=& PASSED)")  # the same z in LaTeX's table


@pytest.mark.sample(1)
@pytest.mark.parametrize("case", CASES)
def test_what_users_see_is_what_was_kept(case, tmp_path, monkeypatch, capsys, request):
    texts = _texts(case, tmp_path, monkeypatch, capsys)
    kept = KEPT / case
    if request.config.getoption("--renew-golden"):
        kept.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (kept / name).write_text(text)
    assert texts.keys() == {path.name for path in kept.iterdir()}
    for name, text in texts.items():
        assert_same((kept / name).read_text(), text)


@pytest.mark.sample(1, every="language")
@pytest.mark.parametrize("case", MODULES)
@pytest.mark.parametrize("language", EXTENSIONS)
def test_generated_modules_are_what_was_kept(language, case, request):
    text = sr.export(MODULES[case](), target=language).text
    path = KEPT / "modules" / language / f"{case}.{EXTENSIONS[language]}"
    if request.config.getoption("--renew-golden"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert_same(path.read_text(), text)


def test_no_kept_module_is_left_over():
    kept = {path.relative_to(KEPT / "modules") for path in (KEPT / "modules").rglob("*.*")}
    assert kept == {Path(language, f"{case}.{ending}") for language, ending in EXTENSIONS.items() for case in MODULES}


def test_another_coefficient_is_seen_and_another_processor_is_not():
    kept = "Error: at most 5e-15 of the value; worst at K1 = 0.7,\n    C = -0.63.\n\nK' = 2*K\n"
    assert_same(kept, kept.replace("5e-15", "7e-15").replace("-0.63", "0.9"))
    comment = " * Error: at most\n *     5e-15 of the value; worst\n *     at K1 = 0.7.\n"
    assert_same(comment, comment.replace("5e-15", "7e-15").replace("0.7", "0.9"))
    assert_same('  "sympy": "1.14.0",\nsympy 1.14.0\n', '  "sympy": "1.14.1",\nsympy 1.15\n')
    for other in (kept.replace("2*K", "3*K"), kept.replace("5e-15", "9e-14"), kept + "\n"):
        with pytest.raises(AssertionError):
            assert_same(kept, other)
    row = '"value": 0.545, "error": 1e-10, "z": 0.01, "detectable": 6e-09'
    assert_same(row, '"value": 0.545000000001, "error": 2e-10, "z": 0.02, "detectable": 7e-09')
    assert_same("& $0.0$ & PASSED", "& $-0.1$ & PASSED")
    for other in ("& $0.2$ & PASSED", "& $0.0$ & REFUTED"):
        with pytest.raises(AssertionError):
            assert_same("& $0.0$ & PASSED", other)
    for was, now in (("0.545", "0.54500000002"), ("1e-10", "5e-10"), ("0.01", "0.2"), ("6e-09", "6e-08"), ("z", "y")):
        with pytest.raises(AssertionError):
            assert_same(row, row.replace(was, now))


def assert_same(kept, text):
    assert _fixed(text) == _fixed(kept)
    for was, now in zip(MEASURED.finditer(kept), MEASURED.finditer(text), strict=True):
        assert _are_alike(was[2], now[2])
    for was, now in zip(ORACLE.finditer(kept), ORACLE.finditer(text), strict=True):
        moved, z = (abs(float(was[k]) - float(now[k])) for k in (1, 3))
        assert moved <= 0.1 * float(was[2]), (was[0], now[0])
        assert z <= 0.1 and _are_alike(was[2], now[2]) and _are_alike(was[4], now[4]), (was[0], now[0])


def _are_alike(was, now):
    """Whether two sizes, as texts, differ by a factor of four at most."""
    return was == now or float(now) / 4 <= float(was) <= 4 * float(now)


def _fixed(text):
    """The text without what is measured, a line each."""
    text = FAINT.sub("z ", VERSION.sub(r"\1...", text))
    text = DIGEST.sub("symres_digest_", ORACLE.sub("measured", DEVIATION.sub(r'"worst": \1\2', text)))
    return WORST.sub("; worst at ...\n", MEASURED.sub(r"\1...", text)).split("\n")


def _texts(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    printed = page(capsys, "derive", *CASES[case], "--out", "out")
    folder = printed.index(f"  {tmp_path}")  # the block that names the files depends on where they are
    printed = printed[:folder] + printed[printed.index("\n\n", folder) + 2 :]
    files = {name: next(Path("out").glob(pattern)) for name, pattern in KINDS.items() if pattern}
    return {"page.txt": printed, **{name: path.read_text() for name, path in files.items()}}


NOTEBOOKS = Path(__file__).parent / "kept" / "notebooks"
PICTURE = re.compile(r'src="data:image/png;base64,([^"]*)"')


def check(*claims):
    agree = [judge("kernel_map", "quadrature", "K = 1", claim, 0.5, 1e-12, QUADRATURE) for claim in claims]
    return CheckReport((*agree, *([] if len(claims) > 1 else [REFUTED])))


REFUTED = contradicted("chi_perp", "quadrature", "K = 2", "it is negative", -1.0, OracleValue(1.0, 0.1, 1.0))

SHOWN = {
    "theory": lambda: derived("erf"),
    "quantity": lambda: derived(sr.residual("gelu")).covariance_map,
    "unknown_quantity": lambda: derived("step").h,
    "critical_point": lambda: derived(sr.residual("gelu")).critical_points[0],
    "exponents": lambda: derived("erf").exponents,
    "advice": lambda: derived("relu").advice(depth=10, width=64),
    "layer": lambda: sr.pre_ln("gelu"),
    "network": lambda: sr.network([sr.Layer(sr.Dense(sr.z)), *[sr.residual("erf", gamma=0.5)] * 3]),
    "proof": lambda: sr.expect("relu").proof,
    "check": lambda: check(0.5, 0.5),
    "refuted_check": lambda: check(0.5),
    "module": lambda: sr.export(derived("relu").chi_perp),
    "phase_diagram": lambda: sr.phase_diagram("relu", points=6),
}


def in_lines(html):
    return re.sub(r"(?<!^)(<(?:div|details|summary|pre|img))", r"\n\1", html) + "\n"


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", SHOWN)
def test_what_notebooks_show_is_what_was_kept(name, request):
    text = in_lines(PICTURE.sub('src="..."', SHOWN[name]()._repr_html_()))
    path = NOTEBOOKS / f"{name}.html"
    if request.config.getoption("--renew-golden"):
        NOTEBOOKS.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert_same(path.read_text(), text)


def test_every_kept_file_is_shown():
    assert {path.stem for path in NOTEBOOKS.iterdir()} == SHOWN.keys()


def test_a_phase_diagram_has_its_picture_in_the_page():
    (data,) = PICTURE.findall(SHOWN["phase_diagram"]()._repr_html_())
    assert base64.b64decode(data).startswith(b"\x89PNG")


FORMULAS = Path(__file__).parent / "kept" / "formulas.json"
ROWS = json.loads(FORMULAS.read_text())
# names, numbers, roots, averages, exponents and operators, read from what is printed
PRINTED = re.compile(
    r"⟨|Σ|√|(?![²³¹⁰⁴-⁹⁻\d])\w(?:(?![²³¹⁰⁴-⁹⁻])\w)*\*?'*|\d+(?:\.\d+)?(?:\.\.\.)?|[-+/·^|*]|[²³¹⁰⁴-⁹⁻]+"
)


def formula(row):
    theory = derived(sr.architectures[row["layer"]](row["activation"]))
    name, _, part = row["name"].partition(".")
    if name == "point":
        return getattr(theory.critical_points[0], part)
    if name == "exponents":
        return getattr(theory.exponents, part)
    if name == "critical_line_expr":
        return theory.critical_line_expr
    return named(getattr(theory, name).body)[0]


@pytest.mark.sample(8)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join((row["activation"], row["layer"], row["name"])))
def test_formulas_are_written_in_their_shortest_form(row, request):
    text = Maths(True, activations[row["activation"]].formula)(formula(row))
    if request.config.getoption("--renew-golden"):
        row["text"] = text
        FORMULAS.write_text(json.dumps(ROWS, ensure_ascii=False, indent=1) + "\n")
    assert text == row["text"]
    assert len(PRINTED.findall(text)) <= row["before"]


def test_forty_formulas_became_shorter_together():
    assert len(ROWS) == 40
    lengths = [len(PRINTED.findall(row["text"])) for row in ROWS]
    assert sum(lengths) < 0.75 * sum(row["before"] for row in ROWS)


@pytest.mark.exhaustive  # derives a dozen layers again where the rows above ran in another worker
def test_symbols_are_counted_as_they_are_printed():
    rows = [row for row in ROWS if row["activation"] in ("relu", "erf", "sin") and "Σ" not in row["text"]]
    assert len(rows) > 8
    for row in rows:
        assert symbols(readable(formula(row))) == len(PRINTED.findall(row["text"]))
