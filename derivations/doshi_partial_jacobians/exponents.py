"""Critical exponents in general: appendix G."""

from __future__ import annotations

import mpmath as mp

from ..claim import Claim
from .plain import number, theory

# activation, n, c_n of dK' = dK - c_n dK^n at K* = 0 where C_W = 1/phi'(0)^2, from the moments of a Gaussian
FLOWS = (
    ("erf", 2, mp.mpf(2)),
    ("sin", 2, mp.mpf(1)),
    ("z + z**2/4 - z**3/6", 2, mp.mpf("0.8125")),
    ("z - z**5/24", 3, mp.mpf("1.25")),
)
# activation, d_1 of chi_J = 1 - d_1 dK, and c_2
SLOPES = (
    ("erf", mp.mpf(2), mp.mpf(2)),
    ("sin", mp.mpf(1), mp.mpf(1)),
    ("z + z**2/4 - z**3/6", mp.mpf("0.75"), mp.mpf("0.8125")),
)
LAYERS = 20000


def _amplitude(name: str, n: int, c: mp.mpf) -> mp.mpf:
    return number(theory("mlp", name).exponents.amplitude)


def _iterated(name: str, n: int, c: mp.mpf) -> mp.mpf:
    """The product of dK and l^(1/(n-1)) after many layers of (73)."""
    with mp.workdps(15):
        distance = mp.mpf("0.3")
        for _ in range(LAYERS):
            distance -= c * distance**n
        return distance * mp.mpf(LAYERS) ** (mp.mpf(1) / (n - 1))


def claims() -> tuple[Claim, ...]:
    """Lemma G.1 and Theorem 2.7."""
    return (
        Claim(
            "(72)",
            "amplitude 1/(c_n (n - 1)) of the kernel, also (76)",  # (74) has A in the place of A^(n-1)
            lambda name, n, c: 1 / (c * (n - 1)),
            _amplitude,
            FLOWS,
            witness=_iterated,
        ),
        Claim(
            "(72) n=2",
            "amplitude 1/(c_n (n - 1)) of the kernel, for n = 2",
            lambda name, n, c: 1 / (c * (n - 1)),
            _amplitude,
            FLOWS[:3],
        ),
        Claim(
            "(72)*",
            "amplitude (c_n (n - 1))^(-1/(n - 1)) of the kernel",
            lambda name, n, c: (c * (n - 1)) ** (-mp.mpf(1) / (n - 1)),
            _amplitude,
            FLOWS,
        ),
        Claim(
            "(72) zeta",
            "exponent 1/(n - 1) of the kernel, also (76)",
            lambda name, n, c: mp.mpf(1) / (n - 1),
            lambda name, n, c: number(theory("mlp", name).exponents.kernel),
            FLOWS,
        ),
        Claim(
            "(78)",
            "exponent d_1/c_2 of the Jacobian",
            lambda name, d, c: d / c,
            lambda name, d, c: number(theory("mlp", name).exponents.jacobian),
            SLOPES,
        ),
    )
