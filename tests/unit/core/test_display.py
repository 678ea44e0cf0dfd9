"""Objects show themselves: text, LaTeX and HTML, the same every time."""

import re
import subprocess
import sys
from collections import Counter, OrderedDict
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest
import sympy as sp

import symres as sr
import symres.torch as st
from symres.core import foreign
from symres.core.display import Fact, Shown, listed
from symres.kernels import ZonalKernel
from symres.report.figures.phase_diagram import phase_diagram
from symres.torch.gains.gain_number import Gain
from tests.command_line import needs_latex
from tests.shared import derived

VOID = {"br", "img", "hr"}


class Balanced(HTMLParser):
    """Fails on a tag that is closed without being open, and says which are open at the end."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def parsed(html):
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert not parser.open
    return parser.text


MAKE = {
    "exact": lambda: derived(sr.mlp("erf")).kernel_map,
    "infinite": lambda: derived(sr.mlp("step")).chi_perp,
    "numeric": lambda: sr.expect("z*tanh(z)"),
    "series": lambda: derived(sr.mlp("tanh")).kernel_map.series(2),
    "unknown": lambda: derived(sr.mlp("step")).h,
    "theory": lambda: derived(sr.mlp("erf")),
    "activation": lambda: sr.activation("where(z > 0, z, exp(z) - 1)"),
    "layer": lambda: sr.pre_ln("gelu"),
    "network": lambda: sr.network([sr.Layer(sr.Dense(sr.z)), *[sr.residual("erf", gamma=0.5)] * 3, "erf"]),
    "critical_point": lambda: derived(sr.residual("gelu")).critical_points[0],
    "numeric_critical_point": lambda: derived(sr.mlp("silu")).critical_points[0],
    "line_of_critical_points": lambda: derived(sr.mlp("relu")).critical_points[0],
    "fixed_point": lambda: derived(sr.mlp("erf")).fixed_points(C_W=2, C_b=0.1)[0],
    "any_fixed_point": lambda: derived(sr.mlp("relu")).fixed_points(C_W=2, C_b=0)[-1],
    "exponents": lambda: derived(sr.mlp("erf")).exponents,
    "stretched": lambda: derived(sr.residual("erf", gamma=1)).exponents,
    "no_exponents": lambda: derived(sr.mlp("exp(-z^2/2)")).exponents,
    "check": lambda: sr.check(derived(sr.mlp("erf")), against="quadrature", points=1, quantities=["kernel_map"]),
    "proof": lambda: sr.expect("relu").proof,
    "module": lambda: sr.export(derived(sr.mlp("relu")).kernel_map),
    "phase": lambda: derived(sr.mlp("relu")).phase(K=1, C_W=3, C_b=0),
    "dual_kernel": lambda: sr.network(["relu"]).dual_kernels(K1=1, K2=1, C="1/2", C_W=2, C_b=0)[-1],
    "regime": lambda: sr.derive("z + xi*Dense(relu(z))").depth_limit().regime(1 / (sr.L * sr.M)),
    "growth_curve": lambda: derived(sr.residual("relu")).growth_curve,
    "aspect_ratio_curve": lambda: derived(sr.residual("relu")).aspect_ratio_curve(1),
    "fluctuations": lambda: sr.network(["linear"] * 3).fluctuations(K=[[1, 0], [0, 1]], C_W=1, C_b=0),
    "zonal_kernel": lambda: ZonalKernel(sr.export(sr.network(["relu"])), C_W=2, C_b=0),
    "gain": lambda: Gain(2**0.5, "critical", "relu", 2.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.5, "stable", 0.0, "why"),
    "phase_diagram": lambda: phase_diagram(derived(sr.mlp("relu")), points=5),
}
WITHOUT_FORMULA = ("unknown", "module", "no_exponents", "fluctuations", "zonal_kernel")


@cache
def made(name):
    return MAKE[name]()


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MAKE)
def test_every_object_shows_itself_in_three_ways(name):
    thing = made(name)
    text, html, formula = str(thing), thing._repr_html_(), thing._repr_latex_()
    assert text.strip()
    assert "object at 0x" not in text
    assert not text.startswith(f"{type(thing).__name__}(")
    assert parsed(html).strip()
    assert (str(thing), thing._repr_html_(), thing._repr_latex_()) == (text, html, formula)
    assert (formula is None) == (name in WITHOUT_FORMULA)
    assert formula is None or re.fullmatch(r"\$\\displaystyle [^$]+\$", formula)


@needs_latex
def test_formulas_compile(tmp_path):
    """In a document of its own, with no more than amsmath."""
    formulas = [made(name)._repr_latex_() for name in MAKE if name not in WITHOUT_FORMULA]
    body = "\n\n".join(formulas)
    (tmp_path / "all.tex").write_text(
        f"\\documentclass{{article}}\\usepackage{{amsmath}}\\begin{{document}}\n{body}\n\\end{{document}}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert result.returncode == 0, result.stdout[-2000:]


def test_texts_say_what_was_found():
    assert "kernel_map(K, C_W, C_b) = 2*C_W*asin(2*K/(2*K + 1))/pi + C_b" in str(made("exact"))
    assert str(made("numeric")).startswith("Gaussian average of z*tanh(z) [NUMERIC]")
    assert "h(K) is unknown\n" in str(made("unknown"))
    assert "reason: " in str(made("unknown"))
    assert "layers 2 to 4: z' = z/2 + Dense(erf(z))" in str(made("network"))
    assert str(made("critical_point")).splitlines()[1] == "  K* = 3/2 + sqrt(17)/2"
    assert str(made("exponents")).splitlines()[1:] == [
        "  K - K* ~ 1/(2*l)",
        "  relative correction: log(l)/(6*l)",
        "  J ~ 1/l",
    ]
    half = derived(sr.residual("gelu"))
    laws = str(half.exponents).splitlines()
    assert laws[1::2] == ["  K - K* ~ 6962.5073.../(l*(1 - gamma**2))", "  J ~ l**(8*(4 + sqrt(17)))"]
    assert "C_W = 1.9830582...*(1 - gamma**2)" in str(half.critical_points[0])
    relu = derived(sr.mlp("relu"))
    assert str(relu.exponents).splitlines()[1:] == ["  J ~ 1"] and "any kernel" in str(relu.critical_points[0])
    assert str(made("check")) == made("check").table()
    assert str(made("proof")) == made("proof").explain()
    assert "C_W from 0 to" in str(made("phase_diagram"))
    assert str(made("phase")).splitlines() == [
        "limit of infinite depth, diverging", "  K = inf", "  chi_parallel = nan", "  chi_perp = 1.5"
    ]  # fmt: skip
    assert str(made("dual_kernel")).splitlines()[3].startswith("  C = 0.6089977810442")  # Cho and Saul at 60 degrees
    assert "  gamma = 0: nu = 5, optimal depth/width 0.0347826" in str(made("growth_curve"))  # 4/(23*5)
    assert "  after 3 layers: largest entry of V = 6" in str(made("fluctuations"))  # 2 K^2 for each layer
    assert "\n  learning rate = L*M\n" in str(made("regime")) and str(made("gain")) == "1.41421356"
    assert made("gain")._repr_html_().count("gain 1.41421356 of relu, critical") == 1


def test_a_repr_is_a_line():
    for name in MAKE:
        assert len(repr(made(name))) <= 250 and "\n" not in repr(made(name))
    assert repr(made("critical_point")).startswith(
        "<critical point, half-stable, it attracts kernels from above; K* = 3/2 + sqrt(17)/2; C_W = 1.9830582..."
    )
    assert repr(made("check")) == "<check: PASSED; PASSED: 1; REFUTED: 0; INCONCLUSIVE: 0>"
    assert repr(made("phase_diagram")).startswith("<phase diagram over C_W and C_b; C_W from 0 to 4, 5 values; ")
    advice = repr(derived("relu").advice(depth=10, width=64))
    assert advice.startswith("<advice for 10 layers of width 64; C_W: 2; C_b: 0; inputs_kernel: 1; Draw weights")


def test_only_records_of_few_numbers_show_all_their_fields():
    """The raw fields of a report fill screens, a model among them."""
    for name in (*sr.__all__, *st.__all__):
        getattr(sr, name, None) or getattr(st, name)  # names are imported when they are asked for
    classes = [cls for cls in _subclasses(Shown) if cls.__module__.startswith("symres")]
    assert len(classes) > 15
    raw = {cls.__name__ for cls in classes if getattr(vars(cls).get("__dataclass_params__"), "repr", False)}
    assert raw == {
        "Activation",
        "DepthScales",
        "Exponents",
        "FixedPoint",
        "Layer",
        "Phase",
        "Regime",
        "StackRates",
        "Theory",
    }


def _subclasses(cls):
    return [inner for child in cls.__subclasses__() for inner in (child, *_subclasses(child))]


class Angled(Shown):
    def _title(self):
        return "<b> & co"

    def _facts(self):
        return [Fact("a<b", "x & y"), Fact("", "long", "a<b" * 1000)]


def test_a_label_that_stands_above_is_not_written_again():
    html = listed([Fact("block", "its equation"), Fact("block", "its numbers"), Fact("readout", "more")])
    assert html.count(">block<") == 1 and html.count("<div></div>") == 1 and html.count(">readout<") == 1


def test_html_is_escaped_and_long_formulas_are_left_out():
    assert parsed(Angled()._repr_html_()) == "<b> & coa<bx & ylong"
    assert Angled()._repr_latex_() is None
    assert str(Angled()) == "<b> & co\n  a<b: x & y\n  long"


def test_a_long_closed_form_is_told_by_its_definition():
    long = sp.Add(*(sp.sqrt(sr.K + k) for k in range(200)))
    quantity = replace(made("exact"), body=long)
    assert "= C_W*<erf(z)**2>_{K} + C_b" in str(quantity)
    assert quantity._repr_latex_() == (
        r"$\displaystyle K' = C_b + C_W \left\langle \operatorname{erf}(z)^{2} \right\rangle_{K}$"
    )
    hopeless = replace(quantity, definition=long)
    assert "is a formula too long to be shown" in str(hopeless)
    assert hopeless._repr_latex_() is None


class Tally(Counter):
    """A class of a user, derived from one of a library."""


def test_an_object_belongs_to_a_library_by_its_class_and_a_function_to_any_that_is_imported(monkeypatch):
    monkeypatch.setattr(foreign, "_places", {})
    foreign.accept("a_library_that_nobody_has", "a_library_that_nobody_has:read")
    foreign.accept("collections", "math:sqrt")
    foreign.accept("collections", "builtins:len")  # the last one counts
    assert all(foreign.reader(what) is len for what in (OrderedDict(), Tally(), lambda x: x))
    assert foreign.reader(3) is None and foreign.reader("collections") is None
    with pytest.raises(ImportError):
        foreign.reader_of("a_library_that_nobody_has")


def test_pytorch_is_not_imported_before_it_is_needed():
    code = """
import sys
import symres as sr
sr.activation("gelu")
try:
    sr.activation(len)
except sr.DeclarationError as error:
    print(error)
print("torch" in sys.modules, "symres.torch" in sys.modules)
import torch
print(sr.activation(torch.nn.GELU()).name)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "this is not an activation" in out[0]
    assert out[1:] == ["False False", "gelu"]
