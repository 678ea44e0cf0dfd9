"""Random piecewise sums of elementary functions: nastier than any activation that somebody would use."""

from __future__ import annotations

from random import Random

import sympy as sp

from .sections import R, Sections, x

_BREAKS = (R(-2), R(-1), R(-1, 2), R(0), R(1, 3), R(1), R(3, 2))
_RATES = (R(1, 2), R(2, 3), R(1), R(3, 2), R(2))


def random_sections(generator: Random) -> Sections:
    """A function with 0, 1 or 2 breaks that is not constant."""
    while True:
        count = generator.choice((0, 0, 1, 1, 2))
        breaks = tuple(sorted(generator.sample(_BREAKS, count)))
        result = Sections(breaks, tuple(_sum(generator) for _ in range(count + 1)))
        if any(part.has(x) for part in result.parts) and all(
            left != right for left, right in zip(result.parts, result.parts[1:], strict=False)
        ):
            return result


def random_variance(generator: Random) -> sp.Rational:
    """Of order one."""
    return R(generator.randint(5, 120), 64)


def random_law(generator: Random) -> tuple[sp.Rational, sp.Rational, sp.Rational]:
    """(K1, C, K2), with a correlation of at most 0.8."""
    K1, K2 = random_variance(generator), random_variance(generator)
    return K1, R(generator.choice((1, -1)) * generator.randint(4, 50), 64) * min(K1, K2), K2


def _sum(generator: Random) -> sp.Expr:
    return sp.Add(*(_coefficient(generator) * _term(generator) for _ in range(generator.choice((1, 1, 2, 2, 3)))))


def _coefficient(generator: Random) -> sp.Rational:
    return R(generator.choice((1, -1)) * generator.randint(1, 9), generator.randint(1, 4))


def _term(generator: Random) -> sp.Expr:
    rate = generator.choice(_RATES)
    signed = rate * generator.choice((1, -1))
    shift = R(generator.choice((1, -1)), generator.randint(1, 4))
    power = x ** generator.choice((0, 0, 1, 2))
    return generator.choice(
        (
            x ** generator.randint(0, 4),
            x ** generator.randint(0, 3),
            power * sp.exp(signed * x / 2),
            power * sp.exp(-rate * x**2),
            sp.exp(-rate * x**2 + shift * x),
            power * sp.erf(signed * x),
            sp.erf(signed * x),
            sp.erf(rate * x + shift),
            generator.choice((sp.sin(rate * x), sp.sin(rate * x + shift), sp.cos(rate * x), x * sp.cos(rate * x))),
        )
    )
