"""How much work a stage of a derivation may take before it is given up, and what that is counted in.

Work is counted where it is done, in operations of about two microseconds: a ball operation, a node of a quadrature,
``NODE`` for a node of a formula. Where a stage is given up then depends on the declaration alone. What sympy does
inside of one call cannot be counted; there the processor time of the stage is limited (in the main thread of a system
that has such timers). Numbers that somebody asks for at a point (``evalf``, ``kernels``) belong to no stage.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from types import FrameType

from .errors import DeclarationError, OutOfBudget

NODE = 50  # operations: a node of a formula in sympy's hands, estimated
ARRAY = 12  # entries of an array that NumPy works on in the time of an operation, measured
VARIABLE = "SYMRES_BUDGET"  # the environment variable with a factor for all budgets
_AGAIN = 1.0  # seconds after which time is said to be up once more, where the first exception was lost in a callback


class Stage(Enum):
    """A stage with its operations and its seconds of processor time.

    Measured over the catalogue in an mlp, a residual and a pre_ln layer (tests/bench/bench_budgets.py): at most 0.26 of
    a stage's operations (a quantity of selu) and 0.4 of its processor time (code of elu in pre_ln).
    """

    PAGE = "the whole page", 40_000_000, 300
    DECLARATION = "the analysis of a formula", 2_000_000, 40
    AVERAGE = "the closed form of an average", 5_000_000, 30
    QUANTITY = "a quantity", 10_000_000, 60
    EXPANSION = "the expansion of a quantity", 5_000_000, 30
    CRITICALITY = "the search for critical points", 15_000_000, 120
    LINE = "the critical line", 5_000_000, 30
    FINITE_WIDTH = "the growth of fluctuations", 10_000_000, 60
    ADVICE = "the advice", 10_000_000, 120
    CHECK = "the whole check by quadrature", 100_000_000, 600
    COMPARISON = "a comparison", 5_000_000, 60
    MODULE = "the whole module", 100_000_000, 600
    CODE = "the code of a quantity", 40_000_000, 240
    TRIAL = "the trial of a parameter", 4_000_000, 25  # those that end took .5 s, exp(-exp(c*(z + 1e6))) 200 s or more

    def __init__(self, title: str, operations: int, seconds: int) -> None:
        self.title = title
        self.operations = operations
        self.seconds = seconds


@dataclass(slots=True)
class Meter:
    """The work that is left of a stage."""

    stage: Stage  # what is measured
    operations_left: float  # that it may take
    seconds_left: float  # of processor time that it may take
    ends: bool  # whether its end ends what runs; else it only limits the stages inside of it


class Spent(BaseException):
    """A budget is spent: no handler of errors may take it for an answer; the stage makes ``OutOfBudget`` of it."""


MOST_PANELS = ContextVar("MOST_PANELS", default=2000)  # of the quadrature of one average: more would take too long
_METER: ContextVar[Meter | None] = ContextVar("METER", default=None)
_FACTOR: ContextVar[float | None] = ContextVar("FACTOR", default=None)


def spend(operations: int) -> None:
    """Count work of the current stage, if there is one."""
    meter = _METER.get()
    if meter is not None:
        meter.operations_left -= operations
        if meter.operations_left < 0 and meter.ends:
            raise Spent


@contextmanager
def limited(stage: Stage, subject: str = "", *, ends: bool = True) -> Iterator[None]:
    """Run a stage within its budget, and within what is left of the stage that it is part of.

    Messages name the subject, what is asked for, or else the stage. With ``ends=False`` it only limits the stages
    inside of it, so that what they leave can be put together.

    Raises:
        OutOfBudget: the budget is spent.
    """
    outer, by = _METER.get(), factor()
    operations, seconds = stage.operations * by, stage.seconds * by
    if outer is not None:
        operations = min(operations, max(outer.operations_left, 0))
        seconds = min(seconds, max(outer.seconds_left, 0))
    meter = Meter(stage, operations, seconds, ends)
    token = _METER.set(meter)
    try:
        with _timed(meter):
            yield
    except Spent:
        counted = meter.operations_left < 0
        amount = f"{operations / 1e6:.3g} million operations" if counted else f"{seconds:.3g} s of processor time"
        found = f"it was given up after {amount}"
        if outer is not None and (operations < stage.operations * by if counted else seconds < stage.seconds * by):
            begun = (operations if counted else seconds) > 0
            found = f"{found}, the work that remained for" if begun else "it was not begun, no work remained for"
            found += f" {outer.stage.title}"
        remedy = f"allow ten times as much: within symres.budget(10), or with {VARIABLE}=10 in the environment"
        raise OutOfBudget(subject or stage.title, found, remedy) from None
    finally:
        _METER.reset(token)
        if outer is not None:
            outer.operations_left -= operations - max(meter.operations_left, 0)
            outer.seconds_left -= seconds - max(meter.seconds_left, 0)


@contextmanager
def panel_budget(panels: int) -> Iterator[None]:
    """Give up averages that need more panels than this: where a hundred averages are asked for, not one."""
    token = MOST_PANELS.set(panels)
    try:
        yield
    finally:
        MOST_PANELS.reset(token)


@contextmanager
def budget(factor: float) -> Iterator[None]:
    """Budgets of other sizes as long as the context lasts.

    What a theory has given up it does not try again: derive it anew, ``with sr.budget(10): sr.derive("gelu").page()``.

    Args:
        factor: of the work that every stage may take; ``float("inf")`` for no limit.

    Raises:
        DeclarationError: it is not a positive number.

    Examples:
        >>> with sr.budget(10):
        ...     sr.expect("z^2*cos(z)^2").expr
        K*((1 - 4*K)*exp(-2*K) + 1)/2
    """
    token = _FACTOR.set(_positive(factor))
    try:
        yield
    finally:
        _FACTOR.reset(token)


def factor() -> float:
    """The factor of all budgets that the caller or the environment asks for; 1 without."""
    chosen = _FACTOR.get()
    return _positive(os.environ.get(VARIABLE, 1)) if chosen is None else chosen


def _positive(factor: float | str) -> float:
    try:
        number = float(factor)
    except (TypeError, ValueError):
        number = -1.0
    if not number > 0:
        raise DeclarationError(f"a budget of {factor!r}", "it is not a positive number", "write 10, 0.1 or inf")
    return number


@contextmanager
def _timed(meter: Meter) -> Iterator[None]:
    """Raise ``Spent`` when the processor time of a stage is up, and say what is left of it."""
    seconds = meter.seconds_left
    if not (meter.ends and seconds < float("inf") and _has_timer()):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _time_is_up)
    outer, _ = signal.setitimer(signal.ITIMER_VIRTUAL, max(seconds, 1e-3), _AGAIN)
    try:
        yield
    finally:
        meter.seconds_left, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_VIRTUAL, max(outer - (seconds - meter.seconds_left), 1e-3), _AGAIN)


def _has_timer() -> bool:
    """Whether there are timers of processor time that nobody else uses."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGVTALRM) in (signal.SIG_DFL, _time_is_up)


def _time_is_up(number: int, frame: FrameType | None) -> None:
    raise Spent
