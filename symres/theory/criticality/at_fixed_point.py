"""What deep networks end in, as functions of the parameters: K*, susceptibilities there, the correlation length.

Where K' is affine in K, as of layers with a normaliser and of scale-invariant activations, K* is a formula. Elsewhere
it is the root of K' = K that attracts, with its derivatives by the implicit function theorem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import sympy as sp

from ...core.display import Fact, Shown
from ...core.errors import NoClosedForm, SymresError
from ...core.proof import Proof, Rule, Step
from ...core.scalars import Number, number
from ...core.symbols import C_b, K, gamma, kappa, place
from ...functions.balls import evaluate
from ...functions.roots.flow_end import FlowEnd
from ...gaussian.algebra.canonical import canonical
from ...gaussian.closed_form.verification import Enclosure, Values, verify
from ...notation import latex
from ...notation.shortest import symbols
from ...results.quantity import Quantity, Status
from ..quantities.build import build
from .critical_conditions import Maps, affine, expression_of

_STAR = sp.Symbol("K_star", positive=True)
_DIGITS, _TOLERANCE = 25, 1e-20  # of a verification
_ASKED = "the fixed point of the kernel"


@dataclass(frozen=True, repr=False)
class FixedPointTheory(Shown):
    """Where deep networks of one layer end, as functions of the parameters of the layer.

    Args:
        K: the kernel that is kept; of a batch the variance over its inputs.
        chi_parallel: the parallel susceptibility there.
        chi_perp: the perpendicular susceptibility there.
        correlation_length: ``1/|log chi_perp|``, in layers (Doshi et al. (17)).
        critical_surface: ``chi_perp - 1``: negative where networks are ordered, positive where they are chaotic, and 0
            on the surface between.
        equation: what defines K, as text and in LaTeX.
        conditions: inequalities between the parameters, where the kernel ends in a finite one.
        C_b: the bias variance as a function of the kernel that is kept and of the other parameters; None where the
            layer has none, or is not linear in it.

    Examples:
        >>> star = sr.derive(sr.residual("relu", gamma=sr.gamma)).at_fixed_point()
        >>> star.K.expr, star.chi_perp.expr
        (C_b/(-C_W/2 - gamma**2 + 1), C_W/2 + gamma**2)
        >>> star.conditions
        (C_W/2 + gamma**2 < 1,)
    """

    K: Quantity
    chi_parallel: Quantity
    chi_perp: Quantity
    correlation_length: Quantity
    critical_surface: Quantity
    equation: Fact
    conditions: tuple[sp.Basic, ...] = ()
    C_b: Quantity | None = None

    @property
    def is_implicit(self) -> bool:
        """Whether K is the root of an equation."""
        return bool(self.K.body.has(FlowEnd))

    def slopes(self, /, **params: Number) -> dict[str, float]:
        """The derivatives of K in all parameters, by name.

        Args:
            params: a number for every parameter, by name.

        Examples:
            >>> sr.derive("relu").at_fixed_point().slopes(C_W=1, C_b=3)  # of C_b/(1 - C_W/2)
            {'C_W': 6.0, 'C_b': 2.0}
        """
        self.K(**params)  # complains of missing numbers, and of those without a finite kernel
        at = {s: number(params[s.name], s.name) for s in self.K.symbols}
        every = sorted((*self.K.symbols, *self.K.unused), key=place)
        return {s.name: float(evaluate(self.K.body.diff(s).subs(at), {})[0]) for s in every}

    def _title(self) -> str:
        return "where deep networks end"

    def _facts(self) -> Iterator[Fact]:
        yield self.equation
        for quantity in (self.chi_parallel, self.chi_perp):
            yield quantity._facts()[0]
        yield from (Fact("where", str(condition), latex(condition)) for condition in self.conditions)


def at_fixed_point(maps: Maps, start: Number | None = None) -> FixedPointTheory:
    """The quantities of a layer at its fixed point.

    Args:
        maps: of the layer.
        start: the kernel of the input; needed only where the end depends on it.

    Raises:
        NoClosedForm: a map is unknown, every kernel is kept, or none is.
    """
    lost = next((q for q in maps if q.status is Status.UNKNOWN), None)
    if lost is not None:
        raise NoClosedForm(_ASKED, f"{lost.name} is unknown ({lost.reason})", "iterate kernels() at given parameters")
    if affine_parts(expression_of(maps[0])) is not None:
        return _Explicit(maps).quantities()
    return _Implicit(maps, () if start is None else (number(start, "K"),)).quantities()


@dataclass(frozen=True)
class _AtKernel(ABC):
    """The quantities of a layer at a kernel that it keeps.

    Args:
        maps: of the layer.
    """

    maps: Maps

    @abstractmethod
    def _of(self, name: str, notation: str, chi: Quantity, meaning: str) -> Quantity:
        """A susceptibility at the kernel that is kept."""

    def _theory(self, kernel: Quantity, equation: Fact, conditions: tuple[sp.Basic, ...]) -> FixedPointTheory:
        names = ("chi_parallel_star", "chi_perp_star")
        signs = (r"\chi_\parallel^*", r"\chi_\perp^*")
        meanings = ("parallel susceptibility at K*", "perpendicular susceptibility at K*")
        parallel, perp = map(self._of, names, signs, self.maps[1:], meanings)
        far = "depth over which squared gradients change by a factor e"
        length = _function_of(perp, _length, "correlation_length", r"\xi", far)
        surface = _function_of(perp, _excess, "critical_surface", rf"{signs[1]} - 1", "it vanishes at criticality")
        quantities = (kernel, parallel, perp, length, surface)
        kernel, parallel, perp, length, surface = (replace(q, conditions=conditions) for q in quantities)
        return FixedPointTheory(kernel, parallel, perp, length, surface, equation, conditions, self._bias)

    @property
    def _parameters(self) -> tuple[sp.Symbol, ...]:
        quantities = (s for q in self.maps for s in (*q.symbols, *q.unused))
        return tuple(sorted(set(quantities) - {K}, key=place))

    @property
    def _bias(self) -> Quantity | None:
        """C_b as a function of the kernel that is kept."""
        parts = affine(self.maps[0].defined - K, C_b)
        if parts is None or parts[1] == 0 or any(e.has(C_b) for e in parts):
            return None
        meaning = "bias variance with which K is kept; negative where no network keeps it"
        others = [s for s in self._parameters if s != C_b]
        return build("C_b", (K,), -parts[0] / parts[1], parameters=others, notation="C_b", meaning=meaning, unit="K")


@dataclass(frozen=True)
class _Explicit(_AtKernel):
    """Of layers with ``K' = offset + slope*K``."""

    def quantities(self) -> FixedPointTheory:
        """At ``K* = offset/(1 - slope)``, where the slope is below 1.

        Raises:
            NoClosedForm: the slope is 1 or more.
        """
        parts = affine_parts(expression_of(self.maps[0]))
        assert parts is not None
        offset, slope = map(canonical, parts)
        if slope.is_number and not slope < 1:
            found = "every kernel is kept" if offset == 0 and slope == 1 else "the kernel grows without bound"
            raise NoClosedForm(_ASKED, found, "ask for exponents, jacobian_expr or kernels()")
        kernel = self._shortest(self._built("K_star", "K^*", self._kernel, "kernel that is kept"), offset / (1 - slope))
        conditions = () if slope.is_number else (sp.Lt(slope, 1),)
        equation = Fact("", f"K_star = {kernel.expr}", f"K^* = {kernel.latex()}")
        return self._theory(_verified(kernel, self.maps[0], conditions), equation, conditions)

    @property
    def _kernel(self) -> sp.Expr:
        """K* in averages, where the map is affine in K with those; else in closed forms."""
        parts = affine_parts(self.maps[0].defined) or affine_parts(expression_of(self.maps[0]))
        assert parts is not None
        return parts[0] / (1 - parts[1])

    def _built(self, name: str, notation: str, definition: sp.Expr, meaning: str) -> Quantity:
        return build(name, (), definition, parameters=self._parameters, notation=notation, meaning=meaning)

    def _of(self, name: str, notation: str, chi: Quantity, meaning: str) -> Quantity:
        built = self._built(name, notation, chi.defined.xreplace({K: self._kernel}), meaning)
        return self._shortest(built, _beside_skip(built.body))

    def _shortest(self, quantity: Quantity, form: sp.Expr) -> Quantity:
        """The quantity in another form, where that is equal and shorter."""
        if symbols(form) >= symbols(quantity.body) or canonical(form - quantity.body) != 0:
            return quantity
        step = Step(Rule.CANONICAL, "shorter form", lambda _: form, form)
        proof = Proof(quantity.proof.start, (*quantity.proof.steps, step))
        return replace(quantity, body=form, proof=proof)


@dataclass(frozen=True)
class _Implicit(_AtKernel):
    """Of other layers.

    Args:
        start: the kernel of the input; none if all inputs end in one place.
    """

    start: tuple[sp.Expr, ...] = ()

    def quantities(self) -> FixedPointTheory:
        """At the root of ``K' = K`` to which the kernel flows."""
        flow = expression_of(self.maps[0])
        equation = Fact("", f"K_star = {flow.xreplace({K: _STAR})}", f"K^* = {latex(flow.xreplace({K: _STAR}))}")
        return self._theory(self._at("K_star", "K^*", K, K, "kernel in which a network ends"), equation, ())

    def _of(self, name: str, notation: str, chi: Quantity, meaning: str) -> Quantity:
        return self._at(name, notation, chi.defined, expression_of(chi), meaning)

    def _at(self, name: str, notation: str, definition: sp.Expr, body: sp.Expr, meaning: str) -> Quantity:
        """Functions of K and of the parameters at K*."""
        flow, has_kernel = self.maps[0], body.has(K)
        flows = (e.xreplace({K: kappa}) for e in (flow.defined, expression_of(flow)))
        defined, end = (FlowEnd(e, *self.start) for e in flows)
        definition, body = definition.xreplace({K: defined}), body.xreplace({K: end})
        arguments = tuple(sorted(body.free_symbols, key=place))
        return Quantity(
            name=name,
            symbols=arguments,
            unused=tuple(s for s in self._parameters if s not in arguments),
            definition=definition,
            body=body,
            status=Status.NUMERIC if has_kernel else Status.EXACT,
            proof=Proof(definition),
            notation=notation,
            meaning=meaning,
            reason="K_star solves K' = K, which is not affine in K" if has_kernel else "",
        )


def affine_parts(flow: sp.Expr) -> tuple[sp.Expr, sp.Expr] | None:
    """``(offset, slope)`` of a map ``offset + slope*K``; None for others."""
    parts = affine(flow, K)
    return None if parts is None or any(e.has(K) for e in parts) else parts


def _beside_skip(chi: sp.Expr) -> sp.Expr:
    """``gamma^2 + (1 - gamma^2) a`` for what is affine in gamma^2 and 1 at gamma = 1."""
    square = sp.Dummy(positive=True)
    parts = affine(chi.subs(gamma**2, square), square)
    if parts is None or any(e.has(gamma, square) for e in parts) or canonical(sp.Add(*parts) - 1) != 0:
        return chi
    return gamma**2 + (1 - gamma**2) * parts[0]


def _length(chi: sp.Expr) -> sp.Expr:
    return 1 / sp.sqrt(sp.log(chi) ** 2)  # sympy takes |x| apart where it cannot tell that x is real


def _excess(chi: sp.Expr) -> sp.Expr:
    return chi - 1


def _function_of(
    chi: Quantity, function: Callable[[sp.Expr], sp.Expr], name: str, notation: str, meaning: str
) -> Quantity:
    """A function of a susceptibility."""
    definition, body = function(chi.definition), function(chi.body)
    steps = (Step("susceptibility", f"{chi.definition} = {chi.body}", lambda _: body, body),) if chi.proof.steps else ()
    proof = Proof(definition, steps)
    return replace(chi, name=name, definition=definition, body=body, notation=notation, meaning=meaning, proof=proof)


def _verified(kernel: Quantity, flow: Quantity, conditions: tuple[sp.Basic, ...]) -> Quantity:
    """The kernel, compared with what the layer makes of it."""
    if kernel.status is not Status.EXACT:
        return kernel

    def next_kernel(values: Values) -> Enclosure:
        if any(condition.subs(values) != sp.true for condition in conditions):
            raise SymresError(_ASKED, "the kernel grows without bound", "take smaller variances")
        here = number(evaluate(kernel.body, values, _DIGITS)[0], "K")
        return evaluate(flow.defined.subs(values).subs(K, here), {}, _DIGITS - 2)

    within = tuple((s, 0, 1) for s in kernel.symbols if s == gamma)
    verification = verify(
        kernel.name,
        kernel.body,
        next_kernel,
        kernel.symbols,
        oracle="the next kernel, by quadrature",
        points=2,
        tolerance=_TOLERANCE,
        digits=_DIGITS,
        within=within,
    )
    return replace(kernel, verifications=(*kernel.verifications, verification))
