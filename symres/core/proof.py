"""Proofs that replay: a derivation is a list of pure functions, each with the state it produced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from typing import Any

import sympy as sp

from .display import Fact, Shown, folded, listed, preformatted
from .errors import SymresError
from .foreign import views
from .words import counted, text_of


class Rule(StrEnum):
    """The rules that readers of proofs tell apart; other steps have a name of their own."""

    BREAKPOINTS = "breakpoints as signs"
    STEIN = "Stein's lemma"
    CANONICAL = "canonical form"


@dataclass(frozen=True)
class Step:
    """One equality of a derivation.

    Args:
        rule: short name of the rule, one of ``Rule`` where readers depend on it.
        statement: what the step says, one line of plain text.
        apply: pure function that takes the state before the step and returns the state after it.
        after: the state that was found when the step was first taken.
        details: lines that a reader may want to see (the identities used on the way).
    """

    rule: str
    statement: str
    apply: Callable[[Any], Any]
    after: Any
    details: tuple[str, ...] = ()

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """What a reader sees below the statement."""
        return self.details


@dataclass(frozen=True, kw_only=True)
class Insertion(Step):
    """A step that puts the result of another proof in the place of an average or of a named intermediate result.

    Args:
        place: the node of the state that is replaced.
        proof: its own derivation, which ends in the replacement.
        is_told: whether a reader sees this derivation.
    """

    place: Any
    proof: Proof
    is_told: bool

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The derivation, written when it is asked for."""
        return tuple(self.proof.explain().splitlines()) if self.is_told else ()


@dataclass(frozen=True, kw_only=True)
class TermwiseStep(Step):
    """A step that proves the terms of a sum one by one.

    Args:
        parts: (coefficient, proof of what it multiplies) of every term.
    """

    parts: tuple[tuple[Any, Proof], ...]

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The derivations of all terms, written when they are asked for."""
        return tuple(line for _, proof in self.parts for line in proof.explain().splitlines())


@dataclass(frozen=True, kw_only=True)
class SlopeAndValue(Step):
    """A step that names what determines a function of a variable.

    Args:
        slope: its derivative in the variable.
        value: the function where the variable is 0.
    """

    slope: Any
    value: Any


@dataclass(frozen=True, repr=False)
class Proof(Shown):
    """A chain of steps from a starting expression to a result.

    An empty chain proves that the start equals itself: a definition.

    Args:
        start: where the chain begins.
        steps: the equalities, in order.
        again: finds an independent proof of the same result, where there is one.
    """

    start: Any
    steps: tuple[Step, ...] = ()
    again: Callable[[], Proof | None] | None = field(default=None, compare=False)

    @cached_property
    def second(self) -> Proof | None:
        """An independent proof of the same result, found when it is asked for."""
        return None if self.again is None else self.again()

    @property
    def result(self) -> Any:
        """The state after the last step."""
        return self.steps[-1].after if self.steps else self.start

    def replay(self) -> Any:
        """Take every step again and return the result.

        Raises:
            SymresError: a step no longer gives what it gave when the proof was made.
        """
        state = self.start
        for step in self.steps:
            state = step.apply(state)
            if state != step.after:
                raise SymresError(
                    f"replay of the step '{step.rule}'",
                    f"it gives {state} instead of {step.after}",
                    "report this as a defect of symres",
                )
        return state

    def _title(self) -> str:
        return f"proof in {counted(len(self.steps), 'step')}"

    def _facts(self) -> list[Fact]:
        """What it proves: the start equals the result."""
        left, right = views().formula(self.start), views().formula(self.result)
        return [Fact("", _shown(self.start), f"{left} = {right}" if left and right else "")]

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return f"{listed(self._facts())}{folded(self._title(), preformatted(self.explain()))}"

    def explain(self) -> str:
        """The derivation as plain text, one step a paragraph."""
        lines = [f"start: {self.start}"]
        for number, step in enumerate(self.steps, 1):
            lines.append(f"{number}. {step.rule}: {step.statement}")
            lines.extend(f"     {line}" for line in step.lines)
            if conclusion(lines) != _shown(step.after):  # the details may have ended there, or nothing changed
                lines.append(f"   = {_shown(step.after)}")
        if self.second is not None:
            lines += [
                "second proof, independent of the first:",
                *(f"  {line}" for line in self.second.explain().splitlines()),
            ]
        return "\n".join(lines)


def insertion(rule: str, statement: str, state: Any, place: Any, proof: Proof, is_told: bool) -> Insertion:
    """The step that replaces ``place`` in an expression by what a proof of its own ends in.

    Args:
        rule: short name of the rule.
        statement: what the step says.
        state: the expression before the step.
        place: the node that is replaced.
        proof: the derivation of the replacement, taken again at every replay.
        is_told: whether a reader sees this derivation.
    """
    after = state.xreplace({place: proof.result})
    put_in = partial(_put_in, place=place, proof=proof)
    return Insertion(rule, statement, put_in, after, place=place, proof=proof, is_told=is_told)


def _put_in(state: Any, place: Any, proof: Proof) -> Any:
    return state.xreplace({place: proof.replay()})


def conclusion(lines: Sequence[str]) -> str:
    """The last state that the lines of a derivation arrive at, empty if there is none."""
    return next((text.lstrip()[2:] for text in reversed(lines) if text.lstrip().startswith("= ")), "")


def _shown(state: Any) -> str:
    parts = state if isinstance(state, tuple) else (state,)
    return "; ".join(text_of(part) if isinstance(part, sp.Basic) else str(part) for part in parts)
