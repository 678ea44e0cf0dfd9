"""Choose how a component is computed: closed form, fit or quadrature, by the errors that are measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial

import mpmath as mp
import numpy as np
import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import K1, K2, C, K
from ...functions.balls import enclose, evaluate
from ...functions.records.gaussian_signs import S4, T4
from ...functions.records.special_function import SpecialFunction
from ..averages.average_code import averages
from ..emission.emitter import LosesDigits, NoSpelling, not_integrated
from ..fits.chebyshev import fit
from ..planning.guards import FLOOR, Guards
from ..planning.plan import ACCURATE, FEW_DIGITS, INACCURATE, Component, MeasuredErrors
from ..planning.target import Target
from ..price.fixed_sum import FixedSum
from ..price.pair_average import summed_averages
from ..stable.angles import angle_form
from ..stable.correlation_form import in_determinant_form
from ..stable.primitives import Certain, TwoSigns, TwoTails
from ..stable.rewrites import stabilise
from ..stable.rounding_error import doubt
from . import measured_error as errors
from .cancellation import is_harmless, steadiest
from .parameter_ranges import parameter_ranges
from .sample_points import MEASURED, Values, named, other_values

_SLOW = (TwoSigns, TwoTails, S4, T4)
UNIT = sp.Float(2.0**-53)  # what a rounding is, relative to a number
# of any closed form, beside the largest value for the same kernels; else averages are taken
MAX_CLOSED_FORM_ERROR = 1e-9
HARD = ((1e-8, 1e-8, 3e-9), (1e-8, 1e-4, 9e-7), (0.7, 0.7, 0.7 * (1 - 1e-12)), (60.0, 60.0, 18.0), (1e4, 1e4, 9.99e3),
        (1e4, 1e4, (1e-12 - 1) * 1e4))  # fmt: skip
PARALLEL = ((0.7, 0.7, 0.7), (0.7, 0.7, -0.7), (0.0, 0.7, 0.0), (0.0, 0.0, 0.0))


def build_component(
    name: str,
    symbols: tuple[sp.Symbol, ...],
    formula: sp.Expr,
    target: Target,
    reference: Target,
    accept_cancellation: bool = False,
    fallback_integral: sp.Expr | None = None,
) -> Component:
    """Choose how to compute a function of kernels, and measure how well it does.

    Args:
        name: of the function.
        symbols: its arguments.
        formula: what it computes.
        target: on whose own code the error is measured where it can be run.
        reference: on whose code the choice is made: it is the same for every target.
        accept_cancellation: whether a closed form is taken although its terms cancel in floats.
        fallback_integral: the formula in averages, for parameters at which its terms cancel.

    Raises:
        SymresError: no way of computing it was found to work.
        NoSpelling: a closed form in functions that the target does not have; its average may still be computed.
        LosesDigits: a closed form whose terms cancel in floats, or whose limit at K = 0 depends on parameters; the
            same holds.
    """
    wanted = Component(name, symbols, formula, None, fallback_integral=fallback_integral)
    choose = _of_averages if averages(formula) else partial(_of_closed_form, accept_cancellation=accept_cancellation)
    component = choose(wanted, target, reference)
    if isinstance(component.code, sp.Expr) and (unspelled := target.unspelled(component.code)):
        raise NoSpelling.of(target.title, component.formula, unspelled)
    measured_on = target if target.is_runnable else reference
    component = component if measured_on is reference else _measured_in(component, target)
    return component.with_measured(ranges=parameter_ranges(component, measured_on))


def _of_averages(wanted: Component, target: Target, reference: Target) -> Component:
    """Averages without a closed form: as a fit of one kernel, as fixed sums, or by quadrature while the module runs."""
    if wanted.symbols == (K,):
        return _fitted(wanted.name, wanted.formula, reference)
    if (component := _as_sums(wanted, wanted.formula)) is None:
        if not target.computes(wanted):
            raise not_integrated(wanted.formula, target.title)  # it would be measured for nothing
        component = replace(wanted, fallback_integral=None)
    return _measured(component, reference)


def _of_closed_form(wanted: Component, target: Target, reference: Target, accept_cancellation: bool) -> Component:
    """A closed form as the first of these that is accurate, measured on the reference.

    In stable spelling; as a fit of one kernel; as fixed sums of its averages; in stable spelling with averages that are
    integrated where its terms cancel or, in code that integrates nothing, with a value that is nan or has fewer digits.
    """
    is_single, is_special = wanted.symbols == (K,), wanted.is_pair and wanted.formula.has(SpecialFunction)
    if is_special:  # what is refused here would be measured for nothing
        if unspelled := target.unspelled(in_determinant_form(stabilise(wanted.formula))):
            raise NoSpelling.of(target.title, wanted.formula, unspelled)
        if not accept_cancellation:
            _check_digits(wanted, target.title, reference)

    def measured(component: Component) -> Component:
        if _is_unspelled(component, reference):
            raise NoSpelling.of(target.title, component.formula, target.unspelled(component.code))
        judged = _measured(component, reference, accept_cancellation)
        if is_special and not accept_cancellation and not judged.measured.error <= FEW_DIGITS:
            lost = f"its terms cancel in floats (error {judged.measured.error:.0e} at {judged.measured.worst})"
            raise _refused(wanted, target.title, lost)
        return judged

    closed = _stabilised(wanted, reference)
    if is_single and (_is_unspelled(closed, reference) or target.unspelled(closed.code)):
        return _fitted(wanted.name, wanted.formula, reference)
    bare = replace(closed, fallback_integral=None)
    if wanted.fallback_integral is None or is_harmless(closed, reference) or doubt(closed.code) is None:
        direct = measured(bare)
        return _better_fit(direct, reference) if is_single and direct.measured.error > ACCURATE else direct
    sums = _as_sums(closed, wanted.fallback_integral)
    has_tails = isinstance(closed.code, sp.Expr) and closed.code.has(TwoSigns, TwoTails)
    if sums is not None and not has_tails:  # beside tails they have fewer digits far out
        return measured(sums)
    mended = measured(closed)
    if target.capabilities.mends:
        return mended
    if not is_special:
        return replace(measured(bare), mended=False)
    try:
        return _measured_certain(mended, target.title, reference)
    except LosesDigits:
        if sums is None:
            raise
        return _measured(sums, reference)


@lru_cache(maxsize=256)
def _stabilised(wanted: Component, reference: Target) -> Component:
    """A closed form in stable spelling; its angles are counted from where least cancels."""
    form = angle_form(wanted.formula, (K1, C, K2)) if wanted.is_pair else None
    code = stabilise(wanted.formula) if form is None else form.stable()
    return steadiest(replace(wanted, code=in_determinant_form(code) if wanted.is_pair else code, form=form), reference)


def _better_fit(closed: Component, reference: Target) -> Component:
    """The fit of a closed form of one kernel, if it is better."""
    try:
        fitted = _fitted(closed.name, closed.formula, reference)
    except SymresError:  # waves
        return closed
    # a closed form of exponentials goes on to the largest floats: a fit that ends before must be much better
    return fitted if math.isinf(fitted.guards.largest) or 10 * fitted.measured.error < closed.measured.error else closed


@lru_cache(maxsize=256)
def _measured_certain(component: Component, title: str, reference: Target) -> Component:
    """A closed form that is nan where its terms cancel, for code that integrates nothing there.

    Raises:
        LosesDigits: that is where ordinary kernels and parameters are.
    """
    bounded = Certain(component.code, UNIT * doubt(component.code))
    certain = replace(component, code=bounded, fallback_integral=None).guarded(floor=FLOOR)
    judged = errors.measured_pair(certain, reference)
    if not math.isfinite(judged.measured.error):
        where = f"its terms cancel in floats at {judged.measured.worst}, where code for NumPy and PyTorch integrates"
        raise _refused(component, title, where)
    return _measured(certain, reference, accept_cancellation=True)


@lru_cache(maxsize=256)
def _measured_in(component: Component, target: Target) -> Component:
    """A component with the errors of its code in another target; errors on the reference chose the code."""
    judged = _remeasured(component, target)
    unended = component.with_measured(max_kernel=math.inf)  # averages end elsewhere with other parameters
    others = _elsewhere(component, lambda values: _remeasured(unended, target, values))
    return judged.with_measured(language=target.title, elsewhere=_listed(component, others, judged.last))


def _remeasured(component: Component, target: Target, values: Values | None = None) -> Component:
    """A component with the error of its code in a target; infinite where that alone has no number, or a wrong one.

    Raises:
        SymresError: kernels of order one are inaccurate.
    """
    judged = errors.measured(component, target, values)
    if judged.guards.limit != component.guards.limit:
        return component.with_measured(error=math.inf, worst="K = 0")
    if judged.guards.largest < component.guards.largest and values is None:
        return component.with_measured(
            error=math.inf, worst=f"kernels above {judged.guards.largest:g}: {judged.measured.reason}"
        )
    return judged


@lru_cache(maxsize=256)
def _check_digits(wanted: Component, title: str, reference: Target) -> None:
    """Refuse a closed form in special functions that is inaccurate where terms are most likely to cancel."""
    may_mend = wanted.fallback_integral is not None
    component = replace(wanted, code=in_determinant_form(stabilise(wanted.formula)), fallback_integral=None)
    if _is_unspelled(component, reference):
        return
    component = errors.with_ends(component, reference)
    formula, extra = errors.with_numbers(component, None)
    function = errors.running(component, reference)
    with np.errstate(all="ignore"):
        values = {point: float(function(*map(np.array, point), *extra)) for point in (*PARALLEL, *HARD)}
    if not may_mend and not all(math.isfinite(values[point]) for point in PARALLEL):
        raise _refused(component, title, "it is 0/0 in floats where inputs are parallel")
    most = MAX_CLOSED_FORM_ERROR if may_mend else FEW_DIGITS  # averages mend what is lost in places
    for point in HARD:
        if not (error := errors.deviation(formula, point, values[point])) <= most:
            raise _refused(component, title, f"its terms cancel in floats (error {error:.0e} at {named(point)})")


def _check_loss(component: Component, title: str, where: str = "") -> None:
    if not isinstance(component.code, sp.Expr) or not (component.is_pair or component.parameters):
        return
    lost = component.measured.error_over_max or 0.0 if component.is_pair else component.measured.error
    of = " of the largest value" if component.is_pair else ""
    # what is lost beside averages that could be taken instead is lost in them too
    if lost > (MAX_CLOSED_FORM_ERROR if component.fallback_integral is None else INACCURATE):
        raise _refused(component, title, f"its terms cancel in floats (error {lost:.0e}{of}{where})")


def _refused(component: Component, title: str, reason: str) -> LosesDigits:
    return LosesDigits(f"{title} code for {str(component.formula)[:80]}", reason, "export to LaTeX")


def _as_sums(component: Component, integral: sp.Expr | None) -> Component | None:
    """A component as fixed sums; None if it is not one of pairs, an average is no such sum, or no sum is left."""
    total = summed_averages(integral) if component.is_pair and integral is not None else None
    if integral is None or total is None or not total.has(FixedSum):
        return None
    return replace(component, formula=integral, code=total, form=None, fallback_integral=None)


def _is_unspelled(component: Component, reference: Target) -> bool:
    """Whether the reference has no code, or code that is slow beside a fit."""
    if not isinstance(component.code, sp.Expr):
        return False
    return bool(reference.unspelled(component.code)) or (component.symbols == (K,) and component.code.has(*_SLOW))


@lru_cache(maxsize=256)
def _fitted(name: str, formula: sp.Expr, reference: Target) -> Component:
    """A function of one kernel as a fit."""

    def value(k: mp.mpf) -> mp.mpf:
        try:
            return evaluate(formula, {K: k}, 20)[0]
        except SymresError:  # smaller than any precision: exp(-1/K) and the like
            ball = enclose(formula, {K: k}, 2 * errors.BITS)
            if ball.is_finite() and float(ball.rad()) < 1e-30:
                return mp.mpf(float(ball.mid()))
            raise

    fitted = fit(value, str(formula))
    guards = Guards(floor=fitted.shape.floor or None, largest=fitted.max_kernel, sign=fitted.sign)
    component = Component(name, (K,), formula, fitted, guards=guards, measured=MeasuredErrors(reason=fitted.reason))
    return errors.measured_kernel(component, reference).with_measured(language=reference.title)


@lru_cache(maxsize=256)
def _measured(component: Component, reference: Target, accept_cancellation: bool = False) -> Component:
    """A component with the error of its code in the reference, and those at other values of its parameters.

    Raises:
        LosesDigits: a closed form, unless ``accept_cancellation``, whose terms cancel in floats with one of these
            values; or one whose limit at K = 0 depends on parameters and is not found at small kernels.
    """

    def measure(values: Values | None = None) -> Component:
        return errors.measured(errors.with_ends(component, reference, values), reference, values)

    usual, others = measure(), []
    if not accept_cancellation:
        _check_loss(usual, reference.title)
    for where, other in _elsewhere(component, measure):
        others.append((where, other))
        if isinstance(other, SymresError):
            continue
        moves = usual.guards.limit != other.guards.limit  # the limit at K = 0, with a parameter
        if moves and component.guards.floor is not None and not accept_cancellation:
            raise _refused(component, reference.title, "its limit at K = 0 depends on parameters")
        if moves or (other.guards.floor is not None and usual.guards.floor is None):  # one code serves all values
            return _measured(component.guarded(floor=FLOOR), reference, accept_cancellation)
        if not accept_cancellation:
            _check_loss(other, reference.title, f" {where}")
    return usual.with_measured(language=reference.title, elsewhere=_listed(component, others, usual.last))


_Outcome = tuple[str, Component | SymresError]  # with which values of parameters, and what was found


def _elsewhere(component: Component, measure: Callable[[Values], Component]) -> Iterator[_Outcome]:
    """The measurements of a component at other values of its parameters, one after the other."""
    for values in other_values(component.parameters):
        where = "with " + ", ".join(f"{name} = {value}" for name, value in values.items())
        try:
            yield where, measure(values)
        except SymresError as error:
            yield where, error


def _listed(component: Component, outcomes: Iterable[_Outcome], last: float) -> str:
    """The outcomes of the measurements at other values of the parameters, as one text."""
    texts = []
    for where, other in outcomes:
        if isinstance(other, SymresError):
            texts.append(f"not measured {where}: {other.found}")
        else:
            texts.append(f"{_outcome(other, last)} {where}")
    if texts and averages(component.formula) and not component.is_pair:  # errors are relative to the value itself
        texts.append("fewer digits where values of both signs cancel")
    return "; ".join(texts)


def _outcome(component: Component, last: float) -> str:
    """The error of a component, as text; it names the largest kernel unless that is ``last``, of usual parameters."""
    if not math.isfinite(component.measured.error):
        return f"no value at {component.measured.worst}"
    error = errors.round_up(component.measured.error)
    text = f"at most {error:.0e}" if error < 1 else "no digits"
    if component.measured.error > FEW_DIGITS:
        beside = component.measured.error_over_max
        of_largest = "" if beside is None else f"; {errors.round_up(beside):.0e} of the largest value"
        text += f" (worst at {component.measured.worst}{of_largest})"
    text += f"; no value {component.measured.undefined}" if component.measured.undefined else ""
    return text + (f" for kernels up to {min(component.last, MEASURED):g}" if component.last != last else "")
