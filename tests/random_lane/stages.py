"""One declaration through parsing, deriving and its page, check and export; what went wrong, if anything.

A stage ends well if it returns, or raises a ``SymresError`` whose reason is true. Reasons that claim something about
the values of a formula are tested on its values, by mpmath.
"""

import math
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

import symres as sr
from symres.results.quantity import Status

from .declarations import NAMES, random_equation
from .formulas import Tree, random_formula

TARGETS = ("numpy", "torch", "jax", "numba", "c")


@dataclass
class Outcome:
    """What happened to one declaration.

    Args:
        kind: formula, equation or name.
        seed: of the declaration.
        text: the declaration.
        stages: how each stage ended: ``done``, or the class and the words of its error.
        faults: what must not happen.
    """

    kind: str
    seed: int
    text: str
    stages: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run a stage; an error that is not symres' own is a fault, and ends the declaration as any error does."""
        try:
            yield
        except sr.SymresError as error:
            self.stages[name] = f"{type(error).__name__}: {error}"
            raise
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            self.stages[name] = f"{type(error).__name__}: {error}"
            self.faults.append(f"{name}: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"[:600])
            raise sr.SymresError(name, "it crashed", "mend it") from error
        self.stages[name] = "done"


def run_formula(seed: int, thorough: bool) -> Outcome:
    """A random formula through all stages.

    Args:
        seed: of the formula.
        thorough: check and export too.
    """
    formula = random_formula(Random(seed))
    outcome = Outcome("formula", seed, declared("formula", seed))
    try:
        with outcome.stage("parse"):
            phi = sr.activation(outcome.text)
            _compare_values(outcome, phi, formula)
        _derived(outcome, lambda: sr.derive(phi), thorough)
    except sr.SymresError as error:
        _test_reason(outcome, error, formula)
    return outcome


def run_equation(seed: int, thorough: bool) -> Outcome:
    """A random forward equation through all stages."""
    text, phi, numbers = random_equation(Random(seed))
    outcome = Outcome("equation", seed, declared("equation", seed))
    try:
        with outcome.stage("parse"):
            layer = sr.layer(text, phi=phi, **numbers)
        _derived(outcome, lambda: sr.derive(layer), thorough)
    except sr.SymresError:
        pass
    return outcome


def run_name(seed: int, thorough: bool) -> Outcome:
    """A name as the parameter of an activation: declared in text and in Python, printed, and in generated code."""
    name = NAMES[seed % len(NAMES)]
    outcome = Outcome("name", seed, declared("name", seed))
    try:
        with outcome.stage("text"):
            sr.activation(f"{name}*tanh(z)", **{name: "1/2"})
    except sr.SymresError:
        pass
    try:
        with outcome.stage("declare"):
            a = sp.Symbol(name, positive=True)
            phi = sr.Activation("f", a * sp.erf(sr.z), parameters=(a,))
        with outcome.stage("derive"):
            theory = sr.derive(phi)
            theory.kernel_map.latex()
            theory.page()
        with outcome.stage("latex"):
            sr.export(theory, target="latex")
        for target in TARGETS:
            with outcome.stage(target), TemporaryDirectory() as folder:
                module = sr.export({"kernel_map": theory.kernel_map}, target=target)
                module.write(f"{folder}/module{'.c' if target == 'c' else '.py'}")
                exact = float(theory.kernel_map.evalf(K=2, C_W="3/2", C_b="1/5", **{name: "1/2"}))
                value = _value(module.load().kernel_map, (2.0, 1.5, 0.2, 0.5))
                if not math.isclose(exact, value, rel_tol=1e-6):
                    outcome.faults.append(f"{target}: {value} for {exact}")
    except sr.SymresError:
        pass
    return outcome


def declared(kind: str, seed: int) -> str:
    """The text of a declaration, without running it."""
    if kind == "formula":
        return str(random_formula(Random(seed)))
    if kind == "equation":
        text, phi, numbers = random_equation(Random(seed))
        return f"{text}  phi={phi} {numbers}"
    return repr(NAMES[seed % len(NAMES)])[:80]


RUN: dict[str, Callable[[int, bool], Outcome]] = {"formula": run_formula, "equation": run_equation, "name": run_name}


# ---- stages --------------------------------------------------------------------------------------------------------
def _derived(outcome: Outcome, derive: Callable[[], sr.Theory], thorough: bool) -> None:
    with outcome.stage("derive"):
        theory = derive()
        for name, quantity in theory.quantities.items():
            if quantity.status in (Status.UNKNOWN, Status.NUMERIC) and not str(quantity.reason).strip():
                outcome.faults.append(f"derive: {name} is {quantity.status} without a reason")
    with outcome.stage("page"):
        if len(theory.page().splitlines()) < 10:
            outcome.faults.append("page: it says nothing")
    if not thorough:
        return
    with outcome.stage("check"):
        for verdict in sr.check(theory, against="quadrature").verdicts:
            if str(verdict.outcome) == "REFUTED":
                outcome.faults.append(f"check: {verdict.quantity} is REFUTED: {verdict.claimed}, {verdict.value}")
            elif str(verdict.outcome) == "INCONCLUSIVE" and not verdict.reason.strip():
                outcome.faults.append(f"check: {verdict.quantity} is INCONCLUSIVE without a reason")
    for target in TARGETS:
        try:
            with outcome.stage(target):
                _compare_code(outcome, theory, target)
        except sr.SymresError:
            continue


def _compare_code(outcome: Outcome, theory: sr.Theory, target: str) -> None:
    """The generated kernel map beside evalf, where it has one."""
    quantity = theory.kernel_map
    module = sr.export({"kernel_map": quantity}, target=target)
    numbers = {"K": 1.5, "C_W": 2.0, "C_b": 0.1}
    arguments = {s.name: numbers.get(s.name, 0.5) for s in quantity.symbols}
    exact = float(quantity.evalf(**{name: str(value) for name, value in arguments.items()}))
    value = _value(module.load().kernel_map, arguments.values())
    precision = 1e-5 if target == "jax" else 1e-9  # JAX computes in float32 unless a program switches to float64
    if target == "jax" and abs(exact) > float(np.finfo(np.float32).max):
        exact = math.copysign(math.inf, exact)
    if not (math.isclose(exact, value, rel_tol=precision) or (math.isnan(value) and module.warnings)):
        outcome.faults.append(f"{target}: kernel_map {value} for {exact}")


def _value(function: Callable[..., Any], arguments: Any) -> float:
    """A generated function at numbers; functions of PyTorch take tensors."""
    try:
        return float(function(*arguments))
    except TypeError:
        import torch

        return float(function(*(torch.tensor(value, dtype=torch.float64) for value in arguments)))


# ---- what symres says beside the values of the formula ---------------------------------------------------------------
_POINTS = (0, 1, -1, 0.5, -0.37, 1.7, -2.3, 3.14, 7.9, -11.2, 23.0, -31.0, 60, -60)
_FAR = 1e25  # there c*z^2 is large for the smallest c of the formulas, 1e-40


def _values(formula: Tree, points: Sequence[float] = _POINTS) -> list[mp.mpf | None]:
    """The values at some points; None where one is not real and finite, or too long for the memory."""
    found: list[mp.mpf | None] = []
    for point in points:
        try:
            with mp.workdps(30):
                value = formula(mp.mpf(point))
            found.append(value if isinstance(value, mp.mpf) and mp.isfinite(value) else None)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, MemoryError):
            found.append(None)
    return found


def _compare_values(outcome: Outcome, phi: sr.Activation, formula: Tree) -> None:
    """The parsed formula has the values of the text."""
    function = sp.lambdify(sr.z, phi.expr, "mpmath")
    for point, value in zip(_POINTS, _values(formula), strict=True):
        if value is None or abs(point) > 8:
            continue
        with mp.workdps(30):
            parsed = function(mp.mpf(point))
        if not mp.almosteq(parsed, value, 1e-15):
            outcome.faults.append(f"parse: {parsed} for {value} at z = {point}")
            return


def _test_reason(outcome: Outcome, error: sr.SymresError, formula: Tree) -> None:
    """A refusal that speaks of values is right about them."""
    values = _values(formula)
    says = str(error)
    if "not real" in says and None not in values and "constant" not in says:
        outcome.faults.append(f"reason: {says} (real at {len(values)} points)")
    if any(word in says for word in ("grow like", "outgrows")) and None not in values:
        growth = max(abs(value) for value in values[-2:])
        if growth < mp.exp(100) and not _outgrows_far_out(formula):  # at z = 60 exp(z^2/36) already is larger
            outcome.faults.append(f"reason: {says} (|f(60)| = {mp.nstr(growth, 5)})")


def _outgrows_far_out(formula: Tree) -> bool:
    """Whether ``log |f|`` grows by more than a factor of 3 from one far point to one twice as far, as c*z^2 does."""
    for side in (1, -1):
        near, far = _values(formula, (side * _FAR, 2 * side * _FAR))
        if near is not None and far is not None and abs(near) > 1 and mp.log(abs(far)) > 3 * mp.log(abs(near)):
            return True
    return False
