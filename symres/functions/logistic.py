"""The sigmoid and its integral recognised where they are spelled out in exponentials."""

from __future__ import annotations

import sympy as sp

from .companions import Sigmoid, Softplus


def logistic(e: sp.Expr) -> sp.Expr:
    """A node with its name: ``1/(1 + exp(u))``, ``log(1 + exp(u))``, and products of the sigmoid with ``exp(u)``."""
    if isinstance(e, sp.log):
        u = one_plus_exp(e.args[0])
        return e if u is None else Softplus(u)
    if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp.is_negative:
        u = one_plus_exp(e.base)
        return e if u is None else Sigmoid(-u) ** -e.exp
    return _merged(e) if isinstance(e, sp.Mul) and e.has(Sigmoid) and e.has(sp.exp) else e


def one_plus_exp(e: sp.Basic) -> sp.Expr | None:
    """The exponent u of ``1 + exp(u)``; None for anything else."""
    if not isinstance(e, sp.Add) or len(e.args) != 2 or sp.S.One not in e.args:
        return None
    exponential = e - 1
    return exponential.exp if isinstance(exponential, sp.exp) and not exponential.has(sp.I) else None


def _merged(e: sp.Mul) -> sp.Expr:
    """exp(m*u)*sigmoid(-u)**n -> sigmoid(u)**m*sigmoid(-u)**(n-m) for integers 0 < m <= n."""
    for exponential in (f for f in e.args if isinstance(f, sp.exp)):
        for factor in e.args:
            base, n = factor.as_base_exp()
            if isinstance(base, Sigmoid) and n.is_Integer:
                u = -base.args[0]
                m = sp.cancel(exponential.exp / u)
                if m.is_Integer and 0 < m <= n:
                    others = [f for f in e.args if f not in (exponential, factor)]
                    return sp.Mul(*others, Sigmoid(u) ** m, Sigmoid(-u) ** (n - m))
    return e
