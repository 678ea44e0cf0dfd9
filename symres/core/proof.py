"""Proofs that replay: a derivation is a list of pure functions, each with the state it produced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .display import Fact, Shown, preformatted, views
from .errors import SymresError


@dataclass(frozen=True)
class Step:
    """One equality of a derivation.

    Args:
        rule: short name of the rule ("Stein's lemma", "canonical form").
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


@dataclass(frozen=True)
class Proof(Shown):
    """A chain of steps from a starting expression to a result.

    An empty chain proves that the start equals itself: a definition.

    Args:
        start: where the chain begins.
        steps: the equalities, in order.
        second: an independent proof of the same result, where there is one.
    """

    start: Any
    steps: tuple[Step, ...] = ()
    second: Proof | None = None

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
        return f"proof in {len(self.steps)} step{'s' * (len(self.steps) != 1)}"

    def _facts(self) -> list[Fact]:
        """What it proves: the start equals the result."""
        left, right = views().formula(self.start), views().formula(self.result)
        return [Fact("start", _shown(self.start), f"{left} = {right}" if left and right else "")]

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return preformatted(self.explain())

    def explain(self) -> str:
        """The derivation as plain text, one step a paragraph."""
        lines = [f"start: {self.start}"]
        for number, step in enumerate(self.steps, 1):
            lines.append(f"{number}. {step.rule}: {step.statement}")
            lines.extend(f"     {line}" for line in step.details)
            if conclusion(lines) != _shown(step.after):  # the details may have ended there, or nothing changed
                lines.append(f"   = {_shown(step.after)}")
        if self.second is not None:
            lines += [
                "second proof, independent of the first:",
                *(f"  {line}" for line in self.second.explain().splitlines()),
            ]
        return "\n".join(lines)


def conclusion(lines: Sequence[str]) -> str:
    """The last state that the lines of a derivation arrive at, empty if there is none."""
    return next((text.lstrip()[2:] for text in reversed(lines) if text.lstrip().startswith("= ")), "")


def _shown(state: Any) -> str:
    return "; ".join(map(str, state)) if isinstance(state, tuple) else str(state)
