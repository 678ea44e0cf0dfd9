"""The room of checks: oracles that share nothing with the derivation but the declaration.

verdict      PASSED, REFUTED, INCONCLUSIVE, with the smallest error that could have been seen
quadrature   the maps of a layer from its forward equation at infinite width
simulate     finite networks, and what is observed in them
extrapolate  from several finite widths to infinite width
jacobian     APJN of networks with real weights, in NumPy or PyTorch
average      a single Gaussian average at 30 digits
steepness    where a formula jumps or rises like a root, which no number in double precision shows
nets         where a forward equation can be walked
"""

from ..results.verdict import CheckReport, Outcome, Verdict
from .check import check
from .simulation.partial_jacobians import PartialJacobians, simulate_jacobian
from .simulation.width_extrapolation import Budget

__all__ = ["Budget", "CheckReport", "Outcome", "PartialJacobians", "Verdict", "check", "simulate_jacobian"]
