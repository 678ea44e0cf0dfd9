"""Many layers with small branches: residual networks in the limit of infinite depth.

A layer that is the identity without its branch, ``K' = K + xi^p B(K) + ...``, has a limit where the depth L grows and
``xi^p L = tau`` is kept: the kernel obeys ``dK/dtau = B(K)``, the Jacobian ``d log J/dtau = R(K)``, the tangent kernel
``dTheta/dtau = R Theta + T``. With larger branches kernels explode or saturate within few layers, with smaller ones the
network is the identity at initialisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from ...core import symbols
from ...core.display import Fact, Shown
from ...core.errors import DeclarationError, NoClosedForm
from ...core.scalars import Number, number, scalar
from ...core.symbols import K1, K2, C, K, L, M, Theta, tau
from ...functions.floats.float_averages import number_at
from ...gaussian.algebra.canonical import canonical
from ...gaussian.calculus.expectation import Expectation
from ...notation import latex
from ...notation.facts import equation
from ...results.quantity import Quantity, Status
from ..criticality.critical_conditions import affine, expression_of
from ..names_by_purpose import parameters_by_name
from ..observables.layer_theory import LayerTheory
from ..quantities.build import build
from ..quantities.closed_forms import closed

_POWERS = (1, 2, 3, 4)  # of the branch's weight, that the first correction may have
_REMEDY = 'use an identity and a weighted branch, z + xi*branch, and pass the name of the weight: depth_limit("xi")'
_BITS, _RTOL = 80, 1e-13  # of the integration along the depth
_LARGE = 10  # an order of magnitude: what is larger than this is not of order 1
_LEAST, _EXPLODED = 1e-12, 1e100  # a kernel that stands for 0, and a growth that nothing stops


@dataclass(frozen=True)
class Regime(Shown):
    """How a residual network of width M and depth L trains when its branches have a given scale.

    All of them are orders of magnitude for large M and L, of the first step of gradient descent, with a learning rate
    that moves the output by order 1.

    Args:
        name: "exploding", "lazy", "lazy ODE", "local feature learning" or "unstable"; a crossover has both names.
        displacement: squared distance of the initial output from the input, relative to the input.
        learning_rate: of all parameters.
        features: change of a hidden unit by its own parameters, relative to the unit.
    """

    name: str
    displacement: sp.Expr
    learning_rate: sp.Expr
    features: sp.Expr

    def _title(self) -> str:
        return f"regime of training: {self.name}"

    def _facts(self) -> list[Fact]:
        """Each order of magnitude."""
        sizes = ("displacement", self.displacement), ("learning rate", self.learning_rate), ("features", self.features)
        return [equation(name, rf"\text{{{name}}}", size) for name, size in sizes]


@parameters_by_name
@dataclass(frozen=True, repr=False)
class DepthLimit(Shown):
    """The limit of infinite depth of equal layers with small branches; its rates are derived when asked for.

    Args:
        theory: of one layer.
        scale: the weight of the branch, xi.
        power: p, so that ``tau = xi^p * depth`` stays finite: xi falls like depth^(-1/p).
        kernel_term: what xi^p multiplies in the kernel map, in averages.

    Examples:
        >>> limit = sr.derive("z + xi*Dense(abs(Dense(z)))").depth_limit()
        >>> limit.power, limit.parameter_names, limit.scale_at(sr.L)
        (2, ['C_W', 'C_b'], sqrt(tau)/sqrt(L))
    """

    theory: LayerTheory
    scale: sp.Symbol
    power: int
    kernel_term: sp.Expr

    def _title(self) -> str:
        return f"limit of infinite depth, small branches, of the layer {self.theory.layer.name}"

    def _facts(self) -> list[Fact]:
        """What stays finite, and how the kernel grows in it, in averages: everything else is derived when asked for."""
        scaled = self.scale**self.power * L
        return [
            Fact("", f"tau = {scaled} stays finite for depth L", rf"\tau = {latex(scaled)}"),
            equation("dK/dtau", r"\frac{dK}{d\tau}", self.kernel_term),
        ]

    @cached_property
    def kernel_rate(self) -> Quantity:
        """The growth B of the kernel, ``dK/dtau = B(K)``.

        Examples:
            >>> sr.derive("z + xi*Dense(sin(z))").depth_limit().kernel_rate.expr
            C_W*(1/2 - exp(-2*K)/2) + C_b
        """
        return self._rate("kernel_rate", (K,), self.kernel_term, r"\frac{dK}{d\tau}", "growth of the kernel")

    @cached_property
    def gradient_rate(self) -> Quantity:
        """The growth R of Jacobians J, ``d(log J)/dtau = R(K)``.

        Examples:
            >>> sr.derive("z + xi*Dense(sin(z))").depth_limit().gradient_rate.expr
            C_W*(1/2 + exp(-2*K)/2)
        """
        term = self._term(self.theory.chi_perp, sp.Integer(1))
        meaning = "growth of the Jacobian's logarithm"
        return self._rate("gradient_rate", (K,), term, r"\frac{d\log J}{d\tau}", meaning)

    @cached_property
    def tangent_rate(self) -> Quantity:
        """dTheta/dtau of K1, K2, C and Theta, in the NTK parametrisation.

        Examples:
            >>> sr.derive("z + xi*Dense(z)").depth_limit().tangent_rate.expr
            C_W*(C + Theta) + C_b
        """
        term, arguments = self._term(self.theory.ntk_map, Theta), (K1, K2, C, Theta)
        return self._rate("tangent_rate", arguments, term, r"\frac{d\Theta}{d\tau}", "growth of the tangent kernel")

    def _term(self, quantity: Quantity, identity: sp.Expr) -> sp.Expr:
        """What xi^p multiplies in a map."""
        order, term = _first_term(quantity, self.scale, identity)
        if order < self.power:
            found = f"{quantity.name} grows with xi^{order}, the kernel with xi^{self.power}"
            raise NoClosedForm(f"the limit of many layers of {quantity.name}", found, "iterate a network")
        return term if order == self.power else sp.Integer(0)

    def _rate(self, name: str, arguments: tuple[sp.Symbol, ...], term: sp.Expr, notation: str, words: str) -> Quantity:
        others = tuple(s for s in self.theory.layer.parameters if s != self.scale)
        meaning = f"{words} along the depth"
        return build(name, arguments, term, notation=notation, meaning=meaning, parameters=others)

    @property
    def growth(self) -> Quantity:
        """Relative growth ``c(K) = B(K)/K`` (Chizat (4), for all M units).

        A branch of weight xi adds the fraction ``c xi^p`` to the kernel.

        A number for homogeneous activations; for others Chizat's bound is its supremum over K.

        Examples:
            >>> sr.derive("z + xi*Dense(relu(z))").depth_limit().growth.expr
            C_W/2 + C_b/K
        """
        rate = self.kernel_rate
        return build(
            "growth",
            (K,),
            sp.expand(rate.defined / K),
            notation="c",
            meaning="relative growth of the kernel along the depth",
            source="Chizat (4)",
            parameters=(*rate.symbols[1:], *rate.unused),
        )

    @property
    def kernel_expr(self) -> sp.Expr | None:
        """K(tau) from the kernel K of the input, where the flow is linear; None elsewhere.

        Examples:
            >>> sr.derive("z + xi*Dense(z)").depth_limit().kernel_expr
            (K + C_b/C_W)*exp(C_W*tau) - C_b/C_W
        """
        rate = self.kernel_rate
        linear = affine(rate.proof.result, K) if rate.status is Status.EXACT else None
        if linear is None:
            return None
        start, slope = linear
        if slope == 0:
            return K + start * tau
        return (K + start / slope) * sp.exp(slope * tau) - start / slope

    @property
    def parameter_names(self) -> list[str]:
        """The names of the layer's parameters but the weight of the branch, in alphabetical order."""
        return [name for name in self.theory.parameter_names if name != self.scale.name]

    def kernel(self, /, time: Number, start: Number, **params: Number) -> float:
        """K(tau) for the kernel ``start`` of the input, by integration of dK/dtau = B to about 12 digits.

        Args:
            time: tau = xi^p * depth.
            start: kernel of the input.
            params: numbers for all parameters but the weight of the branch, by name.

        Examples:
            >>> round(sr.derive("z + xi*Dense(relu(z))").depth_limit().kernel(time=1, start=1, C_W=2, C_b=0), 9)  # e
            2.718281828
        """
        from scipy.integrate import solve_ivp  # here, because it takes longer to import than the rest of symres

        end, begin = (float(number(value, name)) for value, name in ((time, "tau"), (start, "K")))
        if end < 0 or begin < 0:
            raise DeclarationError("the kernel along the depth", "tau and K cannot be negative", "pass numbers >= 0")
        begin = max(begin, _LEAST)
        rate = self.kernel_rate
        rate.evalf(5, K=begin, **params)  # complains of missing and unknown parameters
        body = expression_of(rate).subs({s: number(params[s.name], s.name) for s in rate.symbols[1:]})
        rate_at = number_at(body, (K,), _BITS)

        def slope(_: float, kernel: Sequence[float]) -> list[float]:
            return [rate_at(float(kernel[0]))]

        def explosion(_: float, kernel: Sequence[float]) -> float:
            return kernel[0] - _EXPLODED * begin

        explosion.terminal = True  # type: ignore[attr-defined]
        path = solve_ivp(slope, (0.0, end), [begin], method="DOP853", rtol=_RTOL, atol=_RTOL * begin, events=explosion)
        if not path.success or path.t[-1] < end:
            raise NoClosedForm(
                f"the kernel at tau = {end:g}", f"it diverges before tau = {path.t[-1]:.6g}", "pass a smaller tau"
            )
        return float(path.y[0, -1])

    def scale_at(self, depth: Number, time: Number = tau) -> sp.Expr:
        """The weight of the branch at a depth: ``(tau/depth)^(1/p)``, the largest for which kernels stay finite.

        Examples:
            >>> sr.derive("z + xi*Dense(relu(z))").depth_limit().scale_at(depth=100, time=1)
            1/10
        """
        layers = scalar(depth, "depth")
        if layers.is_positive is False:
            raise DeclarationError(f"a depth of {layers}", "it is not positive", "pass a number or a symbol")
        return (scalar(time, "tau") / layers) ** sp.Rational(1, self.power)

    def regime(self, scale: Number, *, L: Number = L, M: Number = M) -> Regime:
        """How networks train whose branches are ``scale`` times a sum over M hidden units (Chizat, section 3).

        The weights of the sum have a variance of order 1, so C_W = M in the branch's last Dense:

            displacement of the output        scale^2 M L
            speed of the output               rate * scale^2 M L    all units of all layers
            speed of a unit by its own        rate * scale          it sees the output's gradient through scale

        Args:
            scale: an expression in ``sr.M`` and ``sr.L``, a power of each times a number.
            L: a number, with one for M: the regime of one network, in which sizes between 1/10 and 10 are of order 1.
            M: a number.

        Raises:
            DeclarationError: a scale, L or M that is not positive, a number for one of L and M alone, or a scale of
                another form.
            NoClosedForm: branches do not add a multiple of xi^2 to the kernel; or a size grows with one of M and L and
                falls with the other.

        Examples:
            >>> sr.derive("z + xi*Dense(relu(z))").depth_limit().regime(1/(sr.L*sr.M)).name
            'local feature learning'
        """
        if self.power != 2:
            raise NoClosedForm("the regimes of training", f"branches add xi^{self.power}, not xi^2", "iterate")
        alpha = scalar(scale, "scale")
        if not alpha.free_symbols and not (alpha.is_positive and alpha.is_finite):
            raise DeclarationError(f"the scale {alpha}", "it is not positive", "pass 1/sympy.sqrt(sr.M*sr.L)")
        numbers = {symbols.M: scalar(M, "M"), symbols.L: scalar(L, "L")}
        no_product = "it is not a product of powers of M and L"
        powers = (sp.simplify(s * alpha.diff(s) / alpha) for s in numbers)
        if alpha.free_symbols - numbers.keys() or any(power.free_symbols for power in powers):
            raise DeclarationError(f"the scale {alpha}", no_product, "pass 1/(sr.M*sr.L)")
        moved = sp.powsimp(alpha**2 * symbols.M * symbols.L)
        features = sp.powsimp(alpha / moved)
        if all(symbol == value for symbol, value in numbers.items()):
            return Regime(_named(_trend(moved), _trend(features)), moved, 1 / moved, features)
        for symbol, value in numbers.items():
            if not (value.is_number and value.is_positive and value.is_finite):
                raise DeclarationError(f"{symbol} = {value}", "it is not a positive number", "pass numbers for L and M")
        moved, features = moved.subs(numbers), features.subs(numbers)
        return Regime(_named(_order(moved), _order(features)), moved, 1 / moved, features)


def _trend(size: sp.Expr) -> int:
    """Whether a product of powers of M and L grows (1) or falls (-1) with both, or is of order 1.

    Raises:
        NoClosedForm: it grows with one and falls with the other.
    """
    signs = {int(sp.sign(s * size.diff(s) / size)) for s in (symbols.M, symbols.L)} - {0}
    if len(signs) > 1:
        raise NoClosedForm(f"the trend of {size}", "it depends on how width and depth grow together", "set L = M**a")
    return signs.pop() if signs else 0


def _order(size: sp.Expr) -> int:
    """Whether a number is large (1) or small (-1), or of order 1."""
    return int(float(size) > _LARGE) - int(float(size) < 1 / _LARGE)


def _named(moved: int, features: int) -> str:
    """The name of a regime, from the trends of the displacement of the output and of the change of a unit."""
    if moved > 0:
        return "exploding"
    if moved == 0:
        return "lazy" if features < 0 else "lazy, local feature learning"
    return {-1: "lazy ODE", 0: "local feature learning", 1: "unstable"}[features]


def depth_limit(theory: LayerTheory, scale: str) -> DepthLimit:
    """The limit, from the first terms of the maps in the weight of the branch.

    Args:
        theory: of one layer.
        scale: name of the parameter that weighs the branch.

    Raises:
        DeclarationError: the layer has no such parameter.
        NoClosedForm: the layer is no identity without the branch, or its maps are no polynomials in the weight.
    """
    names = {s.name: s for s in theory.layer.parameters}
    if scale not in names:
        listed = ", ".join(names) or "none"
        raise DeclarationError(f"a branch of weight {scale}", f"the parameters are: {listed}", _REMEDY)
    return DepthLimit(theory, names[scale], *_first_term(theory.kernel_map, names[scale], K))


def _first_term(quantity: Quantity, branch: sp.Symbol, identity: sp.Expr) -> tuple[int, sp.Expr]:
    """The first power of the branch's weight in a map beside the identity, and its coefficient, in averages.

    Raises:
        NoClosedForm: the map is unknown, not the identity without the branch, or no polynomial in its weight.
    """
    asked = f"the limit of many layers of {quantity.name}"
    if quantity.status is Status.UNKNOWN:
        raise NoClosedForm(asked, f"it is unknown: {quantity.reason}", "use .kernel")
    if any(e.has(branch) for e in quantity.defined.atoms(Expectation)):
        raise NoClosedForm(asked, f"{branch} is inside of an average", f"put it outside: {branch}*Dense(phi(z))")
    alone = canonical(closed(quantity.defined.subs(branch, 0)))
    if alone != identity:
        raise NoClosedForm(asked, f"without the branch it is {alone}, not {identity}", "set gamma = 1")
    slope = quantity.defined
    for order in _POWERS:
        slope = slope.diff(branch)
        term = slope.subs(branch, 0) / sp.factorial(order)
        if canonical(closed(term)) != 0:
            return order, term
    raise NoClosedForm(asked, f"the first {_POWERS[-1]} derivatives in {branch} vanish", "iterate")
