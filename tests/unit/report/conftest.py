"""A report that is written by hand, for documents, records and figures."""

from dataclasses import replace

import pytest
import sympy as sp

from symres.core.proof import Proof, Step
from symres.core.symbols import C_W, C_b, K, gamma, z
from symres.results.critical_point import CriticalPoint
from symres.results.quantity import NamedStep, Quantity, Status, Verification
from symres.results.report import Report
from symres.results.verdict import Outcome, Verdict
from tests.oracles.closed_forms import KERNELS, theory

ROW = Verdict("kernel_map", "quadrature", "K=1, C_W=2", 0.85, 0.85, 1e-16, 0.3, 1e-13, Outcome.PASSED)


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
        equations=((sp.Symbol("z'"), gamma * z + sp.Symbol("y")),),
        program=("y1 ~ N(0, C_b + C_W*<u u'>), u = gelu(z)", "z' = gamma*z + y1"),
        settings=(("xi", "1"),), quantities=listed,
        critical_points=(CriticalPoint(critical, weight, bias, "half-stable", True),), universality_class="half-stable",
        remarks=("h_2 is unknown & open",), checks=(ROW,), command="symres derive gelu --out x",
    )  # fmt: skip
