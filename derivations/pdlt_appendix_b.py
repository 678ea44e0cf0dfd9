"""Roberts, Yaida, Hanin, "The Principles of Deep Learning Theory", Appendix B, section B.2: residual MLPs.

The infinite-width recursions (B.11) to (B.18) and the critical weight variances (B.20), (B.21), derived from the
forward equation (B.3) with xi = 1.

Run ``python -m derivations.pdlt_appendix_b`` to see every claim with its verdict.
"""

from __future__ import annotations

from functools import cache

import mpmath as mp
import sympy as sp

import symres as sr

from .claim import Claim

GAMMA, C_W, C_b = sp.Rational(3, 5), sp.Rational(7, 4), sp.Rational(1, 8)
KERNELS = (sp.Rational(1, 100), sp.Rational(3, 4), sp.Rational(20))
PAIRS = (
    (sp.Rational(1, 2), sp.Rational(3, 2), sp.Rational(-1, 3)),
    (sp.Rational(2), sp.Rational(5, 4), sp.Rational(1)),
)
EXACT = ("gelu", "erf", "sin")
SETTINGS = {"gamma": GAMMA, "C_W": C_W, "C_b": C_b}
DIGITS = 40


@cache
def theory(name: str) -> sr.Theory:
    """The theory of the residual MLP (B.3) with one activation."""
    return sr.derive(sr.residual(name))


def average(name: str, integrand: sp.Expr, K: sp.Expr) -> mp.mpf:
    """<integrand>_K, an expression in phi0 = phi(z), phi1 = phi'(z) and z."""
    phi = sr.activation(name)(sr.z)
    written = integrand.subs({PHI: phi, SLOPE: phi.diff(sr.z)})
    return sr.expect(written).evalf(DIGITS, K=K)


PHI, SLOPE = sp.symbols("phi0 phi1", real=True)


def _kernel(name: str, K: sp.Expr) -> mp.mpf:
    return theory(name).kernel_map.evalf(DIGITS, K=K, **SETTINGS)


def _covariance(name: str, K1: sp.Expr, K2: sp.Expr, C: sp.Expr) -> mp.mpf:
    return theory(name).covariance_map.evalf(DIGITS, K1=K1, K2=K2, C=C, **SETTINGS)


def _at(quantity: str, name: str, K: sp.Expr, digits: int = DIGITS) -> mp.mpf:
    chosen = theory(name).quantities[quantity]
    return chosen.evalf(digits, **{s.name: {"K": K, **SETTINGS}[s.name] for s in chosen.symbols})


# ---- what is printed ---------------------------------------------------------------------------------------------


def printed_b11(name: str, K1: sp.Expr, K2: sp.Expr, C: sp.Expr) -> mp.mpf:
    """(B.11): K' = C_b + C_W <sigma sigma>_K + gamma^2 K for two inputs."""
    inner = sr.expect2(name, name).evalf(DIGITS, K1=K1, K2=K2, C=C)
    return mp.mpf(sp.N(C_b, 50)) + sp.N(C_W, 50) * inner + sp.N(GAMMA**2 * C, 50)


def printed_b12(name: str, K: sp.Expr) -> mp.mpf:
    """(B.12) with (B.17): K' = C_b + C_W g(K) + gamma^2 K, g = <sigma^2>_K."""
    return sp.N(C_b, 50) + sp.N(C_W, 50) * average(name, PHI**2, K) + sp.N(GAMMA**2 * K, 50)


def printed_b15(name: str, K: sp.Expr) -> mp.mpf:
    """(B.15): chi_parallel = gamma^2 + C_W/(2 K^2) <sigma sigma (z^2 - K)>_K."""
    return sp.N(GAMMA**2, 50) + sp.N(C_W / (2 * K**2), 50) * average(name, PHI**2 * (sr.z**2 - K), K)


def printed_b16(name: str, K: sp.Expr) -> mp.mpf:
    """(B.16): chi_perp = gamma^2 + C_W <sigma' sigma'>_K."""
    return sp.N(GAMMA**2, 50) + sp.N(C_W, 50) * average(name, SLOPE**2, K)


def printed_b18(name: str, K: sp.Expr) -> mp.mpf:
    """(B.18): h = (1/2) d chi_perp/dK, by central differences of the printed chi_perp."""
    step = sp.Rational(1, 10**9) * K
    return (printed_b16(name, K + step) - printed_b16(name, K - step)) / sp.N(4 * step, 50)


# ---- what the two-input map gives for (B.13) and (B.14) -----------------------------------------------------------

EPSILON = sp.Rational(1, 10**9)
FIRST, SECOND = sp.Rational(2, 3), sp.Rational(5, 7)  # delta K_[1] and delta delta K_[2] in units of epsilon


def _perturbed(K: sp.Expr) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """The metric K_ab = K_[0] gamma^[0] + K_[1] gamma^[1] + K_[2] gamma^[2] of two nearby inputs, PDLT (5.15)."""
    odd, even = EPSILON * FIRST * K, EPSILON**2 * SECOND * K
    return K + odd + even, K - odd + even, K - even


def derived_b13(name: str, K: sp.Expr) -> mp.mpf:
    """The odd component after one layer, divided by the odd component before."""
    plus, minus, _ = _perturbed(K)
    return (_kernel(name, plus) - _kernel(name, minus)) / sp.N(2 * EPSILON * FIRST * K, 50)


def derived_b14(name: str, K: sp.Expr) -> mp.mpf:
    """The even component after one layer, in units of epsilon^2."""
    plus, minus, cross = _perturbed(K)
    mean = (_kernel(name, plus) + _kernel(name, minus)) / 2
    return (mean - _covariance(name, plus, minus, cross)) / 2 / sp.N(EPSILON**2, 50)


def printed_b14(name: str, K: sp.Expr) -> mp.mpf:
    """(B.14): chi_perp delta delta K_[2] + h (delta K_[1])^2, in units of epsilon^2."""
    first, second = sp.N(FIRST * K, 50), sp.N(SECOND * K, 50)
    return _at("chi_perp", name, K) * second + _at("h", name, K) * first**2


# ---- critical weight variances ------------------------------------------------------------------------------------


def derived_critical_weight(name: str, gamma: sp.Expr) -> mp.mpf:
    """C_W(gamma) at the theory's first critical point."""
    point = theory(name).critical_points[0]
    if point.C_b != 0:
        raise sr.CheckRefuted(f"critical point of {name}", f"C_b = {point.C_b}", "(B.20) and (B.21) print C_b = 0")
    return mp.mpf(sp.N(point.C_W.subs(sr.gamma, gamma), 50))


def printed_b20(name: str, gamma: sp.Expr) -> mp.mpf:
    """(B.20): C_W = (1 - gamma^2)/A_2, A_2 = (a_+^2 + a_-^2)/2."""
    plus, minus = {"relu": (1, 0), "abs": (1, -1), "linear": (1, 1), "leaky_relu(1/10)": (1, sp.Rational(1, 10))}[name]
    return sp.N((1 - gamma**2) / (sp.Rational(plus**2 + minus**2) / 2), 50)


def printed_b21(name: str, gamma: sp.Expr) -> mp.mpf:
    """(B.21): C_W = (1 - gamma^2)/sigma_1^2, sigma_1 = sigma'(0)."""
    slope = {"tanh": sp.Integer(1), "sin": sp.Integer(1), "erf": 2 / sp.sqrt(sp.pi)}[name]
    return sp.N((1 - gamma**2) / slope**2, 50)


def claims() -> tuple[Claim, ...]:
    """Every result printed in section B.2."""
    one = tuple((name, K) for name in (*EXACT, "tanh", "relu") for K in KERNELS)
    exact = tuple((name, K) for name in EXACT for K in KERNELS)
    two = tuple((name, *pair) for name in (*EXACT, "relu") for pair in PAIRS)
    gammas = (sp.Integer(0), sp.Rational(1, 2), sp.Rational(9, 10))
    return (
        Claim("(B.11)", "kernel recursion of two inputs", printed_b11, _covariance, two),
        Claim("(B.12)", "kernel recursion of one input, with g of (B.17)", printed_b12, _kernel, one),
        Claim(
            "(B.13)",
            "odd perturbations grow by chi_parallel",
            lambda n, K: _at("chi_parallel", n, K),
            derived_b13,
            exact,
            1e-15,
        ),
        Claim("(B.14)", "even perturbations grow by chi_perp, fed by h", printed_b14, derived_b14, exact, 1e-8),
        Claim("(B.15)", "parallel susceptibility", printed_b15, lambda n, K: _at("chi_parallel", n, K), one),
        Claim("(B.16)", "perpendicular susceptibility", printed_b16, lambda n, K: _at("chi_perp", n, K), one),
        Claim("(B.18)", "h is half the slope of chi_perp", printed_b18, lambda n, K: _at("h", n, K), exact, 1e-15),
        Claim(
            "(B.20)",
            "critical C_W, scale-invariant class",
            printed_b20,
            derived_critical_weight,
            tuple((n, g) for n in ("relu", "abs", "linear", "leaky_relu(1/10)") for g in gammas),
        ),
        Claim(
            "(B.21)",
            "critical C_W, class K* = 0",
            printed_b21,
            derived_critical_weight,
            tuple((n, g) for n in ("tanh", "sin", "erf") for g in gammas),
        ),
    )


def main() -> None:
    """Print every claim with its verdict."""
    for claim in claims():
        print(claim.judge())


if __name__ == "__main__":
    main()
