"""How the next kernels respond to those before."""

from __future__ import annotations

import sympy as sp

from ...core import symbols
from ...core.errors import NoClosedForm
from ...core.words import Obstruction, Reason
from ...results.observable import Divergence, Section
from ..walk.assignments import total_derivative
from ..walk.tangent import chi_delta
from ..walk.walk import SHARED
from .layer_observable import LayerObservable, OfOneInput, OfTwoInputs
from .layer_walks import LayerWalks


def _half_slope(walks: LayerWalks) -> sp.Expr:
    if walks.perpendicular.has(sp.oo):
        raise NoClosedForm(
            "the slope of chi_perp",
            Reason("chi_perp", "is infinite and has no slope", Obstruction.INFINITE),
            "ask for chi_perp",
        )
    return walks.slope(walks.perpendicular) / 2


CHI_PARALLEL = OfOneInput(
    name="chi_parallel",
    sign=("χ∥", "chi_par"),
    notation=r"\chi_\parallel",
    meaning="parallel susceptibility dK'/dK",
    source="PDLT (B.15)",
    section=Section.MAPS,
    oracle=lambda layer, K: layer.chi_parallel(K),
    define=lambda walks: walks.slope(walks.next_kernel),
    example='>>> sr.derive("abs(z)^3").chi_parallel.expr  # of K\' = C_b + 15 C_W K^3\n45*C_W*K**2',
)
CHI_PERP = OfOneInput(
    name="chi_perp",
    sign=("χ⊥", "chi_perp"),
    notation=r"\chi_\perp",
    meaning="perpendicular susceptibility: squared norm of the Jacobian per neuron",
    source="PDLT (B.16)",
    section=Section.MAPS,
    oracle=lambda layer, K: layer.chi_perp(K),
    divergence=Divergence.ALWAYS,
    define=lambda walks: walks.perpendicular,
    example=(
        '>>> sr.derive("hard_tanh").chi_perp.expr  # C_W times the probability of |z| < 1\nC_W*erf(sqrt(2)/(2*sqrt(K)))'
    ),
)
H = OfOneInput(
    name="h",
    sign=("h", "h"),
    notation="h",
    meaning="half the slope of chi_perp",
    source="PDLT (B.18)",
    unit="1/K",
    section=Section.MAPS,
    oracle=lambda layer, K: layer.h(K),
    define=_half_slope,
    example=(
        '>>> theory = sr.derive("z - z^3/3")\n'
        ">>> theory.chi_perp.expr\n"
        "C_W*(3*K**2 - 2*K + 1)\n"
        ">>> theory.h.expr\n"
        "C_W*(3*K - 1)"
    ),
)
CHI_DELTA = OfOneInput(
    name="chi_delta",
    sign=("χ_Δ", "chi_delta"),
    notation=r"\chi_\Delta",
    meaning="coefficient of the correction for finite input dimension",  # half of it generalises h in PDLT (B.14)
    source="Doshi et al. (35)",
    unit="1/K",
    oracle=lambda layer, K: layer.chi_delta(K),
    costly=True,
    define=lambda walks: chi_delta(walks.one),
    example='>>> sr.derive("z^2").chi_delta.expr  # without normalisation it is 2*h\n4*C_W',
)
COVARIANCE_SLOPE = OfTwoInputs(
    name="covariance_slope",
    sign=("∂C'/∂C", "dC'/dC"),
    notation=r"\partial C'/\partial C",
    meaning="slope of the covariance map in the covariance",
    define=lambda walks: total_derivative(walks.next_covariance, walks.two.assignments, symbols.C),
    example=(
        '>>> sr.derive("abs").covariance_slope.expr  # C_W <sign(z1) sign(z2)>\n2*C_W*asin(C/(sqrt(K1)*sqrt(K2)))/pi'
    ),
)
# The covariance of a neuron with itself many layers before is its kernel there times the product of these, unless a
# batch normalisation acts on the stream itself.
MEMORY = OfOneInput(
    name="memory",
    sign=("m", "m"),
    notation="m",
    meaning="weight of a neuron in the next stream",
    define=lambda walks: walks.weight_of(walks.one.first),
    example='>>> sr.derive("gamma*z + Dense(bell(z))").memory.expr\ngamma',
)
# A batch average is the neuron of one more input: its covariances with the stream before are those of two inputs.
SHARED_MEMORY = OfOneInput(
    name="shared_memory",
    sign=("m̄", "m_shared"),
    notation=r"\bar{m}",
    meaning="weight of a neuron's batch average in the next stream",
    define=lambda walks: walks.weight_of(SHARED),
    example=(
        '>>> sr.derive("gamma*BatchNorm(z) + Dense(relu(z))").shared_memory.expr  # of (z - mean)/sqrt(K - C)\n'
        "-gamma/sqrt(-C + K)"
    ),
)
OBSERVABLES: tuple[LayerObservable, ...] = (CHI_PARALLEL, CHI_PERP, H)
FURTHER: tuple[LayerObservable, ...] = (CHI_DELTA,)
INNER: tuple[LayerObservable, ...] = (COVARIANCE_SLOPE, MEMORY, SHARED_MEMORY)
