"""Formulas that are easy to print wrongly: signs under fractions, nested roots, powers of powers."""

import sympy as sp

from symres.core.symbols import C_W, K1, K2, K, gamma

HARD = [
    K ** sp.Rational(3, 2) / (-2 * K - 1) ** 3,
    -(K - 1) / (-K - 2),
    (1 - gamma**2) / (C_W * (K / 4 - K**2 * sp.sqrt(2) / 6)),
    sp.sqrt(2) * sp.sqrt(K) * C_W / (4 * sp.sqrt(sp.pi)),
    (C_W * (K1 - K2)) ** 2 / -sp.Rational(2, 3),
    1 / (1 / (1 + K) + sp.exp(-K) / 2),
    sp.sqrt(sp.sqrt(2) + 1) / 8,
    2**K * K**gamma,
    (sp.Rational(3, 4) - sp.sqrt(5) / 6) ** 2,
    sp.Rational(-1, 8000) * K - sp.Rational(123456, 10**7),
    sp.sqrt(1 + sp.sqrt(1 + K)) * (-1 - K),
]
