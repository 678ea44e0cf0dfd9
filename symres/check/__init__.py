"""Compare derived results with oracles that share nothing with the derivation but the declared layer.

Reading order: ``check`` (one call, one report), ``arguments`` (its arguments refused or accepted), then inwards

rows        one comparison a row: the claimed number, the oracle's, a verdict
oracles     quadrature of a layer at infinite width, and of single averages; from two numbers to a verdict
simulation  finite networks, their Jacobians, and the extrapolation to infinite width
nets        the networks through which a forward equation is walked: sampled, or infinitely wide
formulas, rules, sampling   numbers of a formula; integration rules; the points of comparison
"""

from ..results.verdict import CheckReport, Outcome, Verdict
from .check import check
from .simulation.partial_jacobians import PartialJacobians, simulate_jacobian
from .simulation.width_extrapolation import Budget

__all__ = ["Budget", "CheckReport", "Outcome", "PartialJacobians", "Verdict", "check", "simulate_jacobian"]
