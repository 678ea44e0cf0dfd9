"""An unevaluated Gaussian average as the check room sees it: an integrand and a covariance, nothing else."""

from __future__ import annotations

import sympy as sp

from symres.core.atoms import AverageNode


class Unevaluated(AverageNode, sp.Expr):
    """``<integrand>`` over x1 (and x2) with the upper triangle of their covariance."""

    is_commutative = True
    is_extended_real = True

    @property
    def integrand(self):
        return self.args[0]

    @property
    def covariance(self):
        return self.args[1:]
