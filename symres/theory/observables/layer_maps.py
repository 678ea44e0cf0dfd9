"""What a layer does to kernels, to small changes of them, and to tangent kernels."""

from __future__ import annotations

import sympy as sp

from ...core import symbols
from ...core.errors import NoClosedForm
from ...core.symbols import K1, K2, C, Theta
from ...core.words import Obstruction, Reason
from ...layers.layouts import MEAN, ONE, Label
from ...results.observable import Divergence, Section
from ...results.quantity import Quantity
from ..walk.assignments import total_derivative
from ..walk.tangent import Rates, chi_delta, tangent
from .layer_observable import LayerObservable, OfOneInput, OfTwoInputs, Subject
from .layer_walks import LayerWalks


class _Squared(OfOneInput):
    def applies_to(self, subject: Subject) -> bool:
        return len(subject.walks.activations) == 1


PHI_SQUARED = _Squared(
    name="phi_squared",
    sign=("g", "g"),
    notation=r"\left\langle \phi^2 \right\rangle_K",
    meaning="Gaussian average of the squared activation",
    source="PDLT (B.17)",
    unit="phi^2",
    section=Section.MAPS,
    oracle=lambda layer, K: layer.phi_squared(K),
    define=lambda walks: walks.squared,
    example='>>> sr.derive("gaussian_slope").phi_squared.expr  # phi(z) = z*exp(-z^2/2)\nK/(2*K + 1)**(3/2)',
)
KERNEL_MAP = OfOneInput(
    name="kernel_map",
    sign=("K'", "K'"),
    notation="K'",
    meaning="kernel of the next layer, one input",
    source="PDLT (B.12)",
    unit="K",
    section=Section.MAPS,
    oracle=lambda layer, K: layer.kernel_map(K),
    define=lambda walks: walks.next_kernel,
    example=(
        '>>> sr.derive("erf").kernel_map.expr  # the arcsine kernel of Williams\n2*C_W*asin(2*K/(2*K + 1))/pi + C_b'
    ),
)
COVARIANCE_MAP = OfTwoInputs(
    name="covariance_map",
    sign=("C'", "C'"),
    notation="C'",
    meaning="covariance of the next layer, two inputs",
    of_positions="covariance of the next layer, two positions",
    source="PDLT (B.11)",
    unit="K",
    section=Section.MAPS,
    oracle=lambda layer, K1, K2, C: layer.covariance_map(K1, K2, C),
    define=lambda walks: walks.next_covariance,
    example=(
        '>>> sr.derive("sin(z) + cos(z)").covariance_map.expr  # the Gaussian kernel of random Fourier features\n'
        "C_W*exp(C - K1/2 - K2/2) + C_b"
    ),
)


def _half_slope(walks: LayerWalks) -> sp.Expr:
    """Half the slope of chi_perp.

    Raises:
        NoClosedForm: chi_perp is infinite.
    """
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
    moves_inputs=True,
    oracle=lambda layer, K: layer.chi_perp(K),
    divergence=Divergence.ALWAYS,
    define=lambda walks: walks.perpendicular,
    example=(
        '>>> sr.derive("hard_tanh").chi_perp.expr  # C_W times the probability of |z| < 1\nC_W*erf(sqrt(2)/(2*sqrt(K)))'
    ),
)
H = OfOneInput(
    is_plain=True,
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
    is_plain=True,
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
    define=lambda walks: walks.weight_of(walks.one.first._replace(input=MEAN)),
    example=(
        '>>> sr.derive("gamma*BatchNorm(z) + Dense(relu(z))").shared_memory.expr  # of (z - mean)/sqrt(K - C)\n'
        "-gamma/sqrt(-C + K)"
    ),
)


def tangent_kernel_map(rates: Rates) -> OfTwoInputs:
    """The tangent kernel in the NTK parametrisation, with learning rates of weights and biases.

    Weights are ``sqrt(C_W/fan_in) w`` and biases ``sqrt(C_b) b``, of all Dense nodes of the layer.

    Args:
        rates: of every w and every b.
    """
    return OfTwoInputs(
        is_plain=True,
        name="ntk_map",
        sign=("Θ'", "Theta'"),
        notation=r"\Theta'",
        meaning="tangent kernel of the next layer, two inputs",
        unit="K",
        arguments=(K1, K2, C, Theta),
        oracle=lambda layer, K1, K2, C, Theta: layer.ntk_map(K1, K2, C, Theta),
        divergence=Divergence.EQUAL_INPUTS,
        costly=True,
        define=lambda walks: tangent(walks.two, *walks.pair, {walks.pair: Theta}, rates),
        example='>>> sr.derive("linear", layer="residual").ntk_map.expr\nC_W*(C + Theta) + C_b + Theta*gamma**2',
    )


NTK_MAP = tangent_kernel_map((1, 1))


class _OfPositions(OfTwoInputs):
    """Of layers whose inputs have positions."""

    def applies_to(self, subject: Subject) -> bool:
        return subject.walks.positions != ONE


class _OfSequences(_OfPositions):
    """Of two inputs with positions."""

    def of(self, subject: Subject) -> Quantity:
        return self._built(subject, subject.walks.sequences, self.define)


TANGENT_MAP = _OfPositions(
    of_networks=True,
    name="tangent_map",
    sign=("t'", "t'"),
    notation="t'",
    meaning="mean square of the change of a neuron after the layer",
    arguments=(symbols.K, symbols.C, symbols.t, symbols.s),
    define=lambda walks: walks.tangents(walks.layout.pairs[0]),
)
TANGENT_COVARIANCE_MAP = _OfPositions(
    of_networks=True,
    name="tangent_covariance_map",
    sign=("s'", "s'"),
    notation="s'",
    meaning="covariance of the changes of a neuron at two positions after the layer",
    arguments=(symbols.K, symbols.C, symbols.t, symbols.s),
    define=lambda walks: walks.tangents(walks.layout.two),
)


def _entropy(walks: LayerWalks) -> sp.Expr:
    """The mean entropy of the attentions of a layer over that of uniform weights; 1 of one token, and of very many."""
    entropies, size = walks.one.entropies(), walks.positions.size
    if size in (1, sp.oo):
        return sp.S.One
    return sp.Add(*entropies) / (len(entropies) * sp.log(size))


ATTENTION_ENTROPY = _OfPositions(
    name="attention_entropy",
    sign=("H", "H"),
    notation=r"\mathrm{H}/\log T",
    meaning="mean entropy of the weights of attention over that of uniform weights",
    arguments=(symbols.K, symbols.C),
    define=_entropy,
)


def weight_kernel(letter: str, is_one_position: bool) -> LayerObservable:
    """What one weight of the attention of a layer adds to its tangent kernel.

    Args:
        letter: Q, K, V or O.
        is_one_position: whether at one position, or at two.
    """
    return _OfPositions(
        name=f"tangent_kernel_{letter}" + "_across" * (not is_one_position),
        sign=("Θ'", "Theta'"),
        notation=rf"\Theta'_{letter}",
        meaning=f"tangent kernel of the weights W_{letter} at {'one position' if is_one_position else 'two positions'}",
        unit="K",
        arguments=(symbols.K, symbols.C),
        define=lambda walks: walks.fresh(walks.layout.pairs[0] if is_one_position else walks.layout.two, letter),
    )


_SEQUENCES = (symbols.K1, symbols.P1, symbols.C, symbols.E, symbols.K2, symbols.P2)


def _sequence_map(name: str, sign: str, where: str, position: int) -> _OfSequences:
    """The covariance of a position of one input with a position of another."""
    return _OfSequences(
        of_networks=True,
        name=name,
        sign=(sign, sign),
        notation=sign,
        meaning=f"covariance of two inputs at {where} after the layer",
        unit="K",
        arguments=_SEQUENCES,
        define=lambda walks: walks.sequences.stream(Label(1, 1), Label(2, position)),
    )


SEQUENCE_MAP = _sequence_map("sequence_map", "c'", "one position", 1)
SEQUENCE_CROSS_MAP = _sequence_map("sequence_cross_map", "e'", "two positions", 2)


def _sequence_ntk_map(name: str, sign: str, where: str, position: int) -> _OfSequences:
    """The tangent kernel of a position of one input and a position of another."""
    one, other = Label(1, 1), Label(2, position)

    def define(walks: LayerWalks) -> sp.Expr:
        start = {(one, Label(2, 1)): symbols.Theta, (one, Label(2, 2)): symbols.Theta_E}
        return tangent(walks.sequences, one, other, start, (1, 1))

    return _OfSequences(
        name=name,
        sign=(sign, sign.replace("Θ", "Theta")),
        notation=sign.replace("Θ", r"\Theta"),
        meaning=f"tangent kernel of two inputs at {where} after the layer",
        unit="K",
        arguments=(*_SEQUENCES, symbols.Theta, symbols.Theta_E),
        costly=True,
        define=define,
    )


SEQUENCE_NTK_MAP = _sequence_ntk_map("sequence_ntk_map", "Θ'", "one position", 1)
SEQUENCE_CROSS_NTK_MAP = _sequence_ntk_map("sequence_cross_ntk_map", "Θ_E'", "two positions", 2)
PARAMETER_NORM = OfOneInput(
    is_plain=True,
    name="parameter_norm",
    sign=("|∂z'/∂θ|²", "|dz'/dtheta|^2"),
    notation=r"\left\| \partial z' / \partial \theta \right\|^2",
    meaning="squared gradient in the parameters of the layer",
    source="Doshi et al. (37)",
    unit="K",
    oracle=lambda layer, K: layer.ntk_map(K, K, K, 0.0),  # of one input with itself: what this layer adds
    divergence=Divergence.EQUAL_INPUTS,
    define=lambda walks: walks.tangent(sp.Integer(0), (1, 1)),
    example='>>> sr.derive("cosh(z)").parameter_norm.expr  # C_b + C_W <cosh^2>\nC_W*(exp(2*K)/2 + 1/2) + C_b',
)
# in the order of the page; what only other derivations need is not on the list
OBSERVABLES: tuple[LayerObservable, ...] = (
    *(PHI_SQUARED, KERNEL_MAP, COVARIANCE_MAP, CHI_PARALLEL, CHI_PERP, H),
    *(NTK_MAP, PARAMETER_NORM, CHI_DELTA),
    *(TANGENT_MAP, TANGENT_COVARIANCE_MAP, SEQUENCE_MAP, SEQUENCE_CROSS_MAP),
    *(SEQUENCE_NTK_MAP, SEQUENCE_CROSS_NTK_MAP),
)
