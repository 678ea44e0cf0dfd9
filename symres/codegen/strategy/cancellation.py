"""How much of a closed form its terms may cancel, over kernels and parameters of all sizes; which spelling loses least.

The bound of the rounding error (``stable/rounding_error.py``) is compared with the size of the value where that share
is largest. It is infinite at isolated kernels and parameters and falls off around them, so the search begins with many
points and goes on around the worst ones, closer and closer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np
import sympy as sp

from ...core.symbols import C, K
from ..planning.plan import Component
from ..planning.target import Floats, Target
from ..stable.correlation_form import in_determinant_form
from ..stable.rewrites import stabilise
from ..stable.rounding_error import cancels, doubt

ROUNDING = 2.0**-53
HARMLESS = 100.0  # roundings of the larger one of abs(F) and abs(v*dF/dv), v = C or K: a bound of what is lost
FIRST, KEPT, CHILDREN, ROUNDS = 4000, 24, 16, 30  # points of the search
EXPONENTS = (-8.0, 4.0)  # of kernels
CLOSEST = 16.0  # digits of 1 - abs(rho)
SIZES = (0.0, 1e-8, 1e-3, 1 / 12, 0.5, 0.75, 1 - 1e-3, 1 - 1e-8, 1.0, 1 + 1e-8, 1 + 1e-3, 2.0, 12.0)  # of parameters
FORMS = 9  # so many ways to count two angles are tried


# For each point, along the last axis: exponents of its kernels, -log10(1 - abs(rho)), the sign of rho, parameters.
_Points = list[Floats]


@lru_cache(maxsize=256)
def is_harmless(component: Component, reference: Target) -> bool:
    """Whether a closed form keeps its digits with all parameters, as far as signs or a search for lost ones tell."""
    code = component.code
    if not isinstance(code, sp.Expr) or not cancels(code):
        return True
    return largest_share(component, reference) <= HARMLESS


@lru_cache(maxsize=256)
def steadiest(component: Component, reference: Target) -> Component:
    """A component with parameters whose angles are counted from where least cancels."""
    form = component.form
    if form is None or not component.parameters or 3 ** len(form.angles) > FORMS:
        return component
    ways = sorted(
        product((1, 0, -1), repeat=len(form.angles)), key=lambda way: way != tuple(a.shift for a in form.angles)
    )
    best, least = component, float("inf")
    for way in ways:
        other = form.counted_from(way)
        candidate = replace(component, form=other, code=in_determinant_form(other.stable()))
        share = largest_share(candidate, reference)
        if share < 0.5 * least:  # not for the sake of a rounding
            best, least = candidate, share
        if least <= HARMLESS:
            break
    return best


def largest_share(component: Component, reference: Target) -> float:
    """The largest bound of a rounding error that a search finds, in roundings of the value.

    Args:
        component: a closed form.
        reference: on whose code it is evaluated.

    Returns:
        The bound relative to max(abs(F), abs(v*dF/dv)) with v = C, or K of one kernel; infinite where there is none.
    """
    share = _share(component, reference)
    if share is None:
        return float("inf")
    random = np.random.default_rng(1)
    points = _first(component, random)
    shares = share(points)
    for number in range(ROUNDS):
        best = np.argsort(-shares)[:KEPT]
        kept = [a[..., best] for a in points]
        near = _around([np.repeat(a, CHILDREN, axis=-1) for a in kept], random, 0.5 * 0.6**number)
        shares = np.concatenate([shares[best], share(near)])
        points = [np.concatenate(pair, axis=-1) for pair in zip(kept, near, strict=True)]
        if np.isinf(shares).any():
            break
    return float(shares.max())


def _share(component: Component, reference: Target) -> Callable[[_Points], Floats] | None:
    """What is searched for its largest value; None if rounding errors have no bound."""
    v = C if component.is_pair else K
    if not isinstance(component.code, sp.Expr):
        return None
    value = _bounded(component, component.code, reference)
    if value is None:
        return None
    if component.form is not None:
        steepness = component.form.diff(v).stable()
    else:
        steepness = stabilise(component.formula.diff(v))
        steepness = in_determinant_form(steepness) if component.is_pair else steepness
    slope = _bounded(component, steepness, reference)
    place = component.symbols.index(v)

    def share(points: _Points) -> Floats:
        numbers = _arguments(points)
        with np.errstate(all="ignore"):
            size, lost = value(numbers)
            scale = size - ROUNDING * lost  # what is there beside the error of this very evaluation
            if slope is not None:
                steep, unsure = slope(numbers)
                scale = np.fmax(scale, np.abs(numbers[place]) * (steep - ROUNDING * unsure))
            shares = np.where(lost == 0.0, 0.0, lost / np.where(scale > 0.0, scale, 0.0))
        return np.where(np.isnan(shares), np.inf, shares)

    return share


def _bounded(
    component: Component, code: sp.Expr, reference: Target
) -> Callable[[list[Floats]], tuple[Floats, Floats]] | None:
    """The size of what a formula is, and the bound of its rounding error; None if there is none."""
    bound = doubt(code)
    if bound is None or reference.unspelled(code) or reference.unspelled(bound):
        return None
    bare = Component(component.name, component.symbols, component.formula, None)
    functions = [reference.run(replace(bare, code=expr)) for expr in (code, bound)]

    def evaluated(numbers: list[Floats]) -> tuple[Floats, Floats]:
        size, lost = (np.broadcast_to(f(*numbers), numbers[0].shape) for f in functions)
        return np.abs(size), lost

    return evaluated


def _first(component: Component, random: np.random.Generator) -> _Points:
    """Points all over the kernels and parameters."""
    exponents = random.uniform(*EXPONENTS, (len(component.kernels), FIRST))
    if component.is_pair:
        exponents[1] = np.where(random.random(FIRST) < 0.5, exponents[0], exponents[1])
    near = random.random(FIRST) < 0.5
    digits = np.where(near, random.uniform(0.0, CLOSEST, FIRST), -np.log10(random.uniform(1e-3, 1.0, FIRST)))
    digits = np.where(random.random(FIRST) < 0.1, CLOSEST, digits)
    parameters = [random.choice(_values(p), FIRST) for p in component.parameters]
    return [exponents, digits, random.choice([-1.0, 1.0], FIRST), np.reshape(parameters, (-1, FIRST))]


def _around(points: _Points, random: np.random.Generator, scale: float) -> _Points:
    """As many other points at a distance of about ``scale``, in some of the coordinates each."""
    before, digits, signs, parameters = points

    def moved(a: Floats) -> Floats:
        return np.where(random.random(a.shape) < 0.5, scale * random.standard_normal(a.shape), 0.0)

    exponents = np.clip(before + moved(before), *EXPONENTS)
    if len(exponents) == 2:
        exponents[1] = np.where(before[0] == before[1], exponents[0], exponents[1])
    digits = np.clip(digits + moved(digits), 0.0, CLOSEST)
    return [exponents, digits, signs, parameters * (1.0 + moved(parameters))]


def _arguments(points: _Points) -> list[Floats]:
    """Points as arguments of a component."""
    exponents, digits, signs, parameters = points
    kernels = list(10.0**exponents)
    if len(kernels) == 2:
        rho = np.where(digits >= CLOSEST, 1.0, 1.0 - 10.0**-digits)
        kernels.append(signs * rho * np.sqrt(kernels[0]) * np.sqrt(kernels[1]))
    return [*kernels, *parameters]


def _values(parameter: sp.Symbol) -> list[float]:
    """Values that a parameter may have."""
    values = [v for v in SIZES if v or not parameter.is_nonzero]
    negative = [] if parameter.is_nonnegative else [-v for v in SIZES if v]
    return negative if parameter.is_nonpositive else [*values, *negative]
