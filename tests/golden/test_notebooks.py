"""The HTML that notebooks show of the objects that users hold, kept as files, a line each element."""

import base64
import re
from pathlib import Path

import pytest

import symres as sr
from symres.results.observable import OracleValue
from symres.results.verdict import QUADRATURE, CheckReport, contradicted, judge
from tests.golden.test_golden import assert_same
from tests.shared import derived

KEPT = Path(__file__).parent / "kept" / "notebooks"
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
    path = KEPT / f"{name}.html"
    if request.config.getoption("--renew-golden"):
        KEPT.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert_same(path.read_text(), text)


def test_every_kept_file_is_shown():
    assert {path.stem for path in KEPT.iterdir()} == SHOWN.keys()


def test_a_phase_diagram_has_its_picture_in_the_page():
    (data,) = PICTURE.findall(SHOWN["phase_diagram"]()._repr_html_())
    assert base64.b64decode(data).startswith(b"\x89PNG")
