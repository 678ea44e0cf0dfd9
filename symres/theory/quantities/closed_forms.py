"""Averages in an expression replaced by their closed forms."""

from __future__ import annotations

import sympy as sp

from ...core.errors import OutOfBudget
from ...core.proof import Proof, Rule, Step, insertion
from ...core.work_budget import Stage, limited
from ...gaussian.algebra.canonical import textbook
from ...gaussian.calculus.expectation import Expectation
from ...gaussian.closed_form.average import Average, average
from ...notation.shortest import symbols
from ...results.quantity import Verification


class ClosedFormSubstitution:
    """Replaces averages by closed forms, innermost first, and remembers how."""

    def __init__(self) -> None:
        self.averages: dict[sp.Expr, Average] = {}
        self.open: list[Average] = []
        self.verifications: list[Verification] = []

    def prove(self, definition: sp.Expr) -> Proof:
        """The chain from a definition to its canonical closed form."""
        state, steps = definition, list[Step]()
        for node in sorted(definition.atoms(Expectation), key=str):
            closed_form = self._average(node)
            if closed_form.exact:
                statement = f"{node} = {closed_form.expr}"
                steps.append(insertion("Gaussian average", statement, state, node, closed_form.proof, is_told=True))
                state = steps[-1].after
        final = textbook(state)
        if final != state and (steps or symbols(final) < symbols(state)):  # what only looks different says nothing
            steps.append(Step(Rule.CANONICAL, "textbook order", textbook, final))
        return Proof(definition, tuple(steps))

    def _average(self, node: Expectation) -> Average:
        """The closed form of an average, if it is reached within the budget."""
        if node not in self.averages:
            try:
                with limited(Stage.AVERAGE, str(node)):
                    closed_form = average(node.integrand, node.law)
            except OutOfBudget as error:
                closed_form = Average(node, False, Proof(node), reason=error.found)
            self.averages[node] = closed_form
            if not closed_form.exact:
                self.open.append(closed_form)
            else:
                self.verifications += closed_form.verifications
        return self.averages[node]


def closed(expression: sp.Expr) -> sp.Expr:
    """An expression with the closed forms, verified, of all its averages that have one."""
    return expression if not expression.has(Expectation) else ClosedFormSubstitution().prove(expression).result
