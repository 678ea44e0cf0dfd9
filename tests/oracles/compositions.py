"""Compositions of two functions of the grammar, evaluated and judged by mpmath alone.

``Composition`` is a formula as text and as a function that says where it is not real or not finite; ``judge`` says
whether the reason of a refusal holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp


class NotReal(Exception):
    """A function of the formula leaves its domain."""


class NotFinite(Exception):
    """A function of the formula meets a pole, or comes near one."""


FUNCTIONS: dict[str, Callable[[mp.mpf], mp.mpf]] = {
    "exp(u)": mp.exp,
    "log(u)": mp.log,
    "sqrt(u)": mp.sqrt,
    "sin(u)": mp.sin,
    "cos(u)": mp.cos,
    "tan(u)": mp.tan,
    "sinh(u)": mp.sinh,
    "cosh(u)": mp.cosh,
    "tanh(u)": mp.tanh,
    "asin(u)": mp.asin,
    "acos(u)": mp.acos,
    "atan(u)": mp.atan,
    "asinh(u)": mp.asinh,
    "atanh(u)": mp.atanh,
    "acosh(u)": mp.acosh,
    "erf(u)": mp.erf,
    "erfc(u)": mp.erfc,
    "sign(u)": mp.sign,
    "abs(u)": abs,
    "step(u)": lambda u: (1 + mp.sign(u)) / 2,
    "sigmoid(u)": lambda u: 1 / (1 + mp.exp(-u)),
    "softplus(u)": lambda u: mp.log(1 + mp.exp(u)),
    "Phi(u)": mp.ncdf,
    "u^2": lambda u: u**2,
    "u^3": lambda u: u**3,
    "abs(u)^(1/3)": lambda u: mp.cbrt(abs(u)),
    "1/u": lambda u: 1 / u,
    "2^u": lambda u: mp.power(2, u),
    "pi^-u": lambda u: mp.power(mp.pi, -u),
    "abs(u)^pi": lambda u: abs(u) ** mp.pi,
    "1 + u": lambda u: 1 + u,
    "u/3": lambda u: u / 3,
    "2 - u^2": lambda u: 2 - u**2,
    "max(u, 1/2)": lambda u: max(u, mp.mpf(1) / 2),
    "where(u > 1, u, 1)": lambda u: u if u > 1 else mp.mpf(1),
}
# what must be positive, or not negative, or not 0, for a function to be real and finite
_REAL = {
    "log(u)": lambda u: u,
    "sqrt(u)": lambda u: u,
    "asin(u)": lambda u: 1 - u**2,
    "acos(u)": lambda u: 1 - u**2,
    "atanh(u)": lambda u: 1 - u**2,
    "acosh(u)": lambda u: u - 1,
}
_FINITE = {"log(u)": lambda u: u, "tan(u)": mp.cos, "atanh(u)": lambda u: 1 - u**2, "1/u": lambda u: u}
_NEAR = 1e-3  # of a pole, whose place messages print with six digits


def _strict(name: str, u: mp.mpf) -> mp.mpf:
    if name in _REAL and _REAL[name](u) < 0:
        raise NotReal
    if name in _FINITE and abs(_FINITE[name](u)) < _NEAR:
        raise NotFinite
    return FUNCTIONS[name](u)


_ARGUMENT = re.compile(r"\bu\b")


@dataclass(frozen=True)
class Composition:
    """``outer(inner(z))``, by their texts."""

    outer: str
    inner: str

    @property
    def text(self) -> str:
        """The formula."""
        return _ARGUMENT.sub(f"({_ARGUMENT.sub('z', self.inner)})", self.outer)

    def __call__(self, x: mp.mpf) -> mp.mpf:
        """Its value; ``sqrt(z)^2`` has one for z < 0 too."""
        return mp.re(FUNCTIONS[self.outer](FUNCTIONS[self.inner](mp.mpf(x))))

    def strictly(self, x: mp.mpf) -> mp.mpf:
        """The same, if both functions are real there and no pole is near.

        Raises:
            NotReal, NotFinite: they are not.
        """
        return _strict(self.outer, _strict(self.inner, mp.mpf(x)))


def judge(composition: Composition, reason: str) -> bool:
    """Whether the reason of a refusal holds, by values of the formula.

    Raises:
        AssertionError: nobody has said how to judge this reason.
    """
    for pattern, holds in _REASONS:
        if match := re.search(pattern, reason):
            return holds(composition, *match.groups())
    raise AssertionError(f"how is {reason!r} judged?")


def _number(text: str) -> mp.mpf:
    top, _, bottom = text.partition("/")
    return mp.mpf(top) / mp.mpf(bottom or 1)


def _raises(composition: Composition, error: type[Exception], places: list[mp.mpf]) -> bool:
    for place in places:
        try:
            composition.strictly(place)
        except error:
            return True
        except (NotReal, NotFinite):
            continue
    return False


def _between(composition: Composition, kind: str, left: str, right: str) -> bool:
    low, high = (None if end.endswith("oo") else _number(end) for end in (left, right))
    start = low if low is not None else (high - 3 if high is not None else mp.mpf(-3))
    end = high if high is not None else start + 3
    places = [start + (end - start) * k / mp.mpf(7) for k in range(1, 7)]
    return _raises(composition, NotReal if kind == "real" else NotFinite, places)


def _kink(composition: Composition, place: str) -> bool:
    """Slopes on both sides that differ, or grow towards the place."""
    p, h = _number(place), mp.mpf(10) ** -8
    right, left = (composition(p + h) - composition(p)) / h, (composition(p) - composition(p - h)) / h
    return abs(right - left) > 1e-3


def _grows(composition: Composition, rate: str | None, sides: str) -> bool:
    """``log|f|/z**2`` comes to the rate, or grows."""
    holds = True
    for side in sides.split(" and "):
        direction = -1 if side == "-oo" else 1
        near, far = (mp.log(abs(composition(direction * mp.mpf(t)))) / mp.mpf(t) ** 2 for t in (12, 24))
        expected = far > near > 0
        if rate is not None:
            number = eval(rate.replace("^", "**"), {"log": mp.log, "pi": mp.pi, "z": mp.mpf(1), "exp": mp.exp})
            expected = abs(far / number - 1) < 0.05
        holds = holds and expected
    return holds


def _constant(composition: Composition) -> bool:
    return len({mp.nstr(composition(mp.mpf(k) / 7), 12) for k in range(-30, 30) if k}) == 1


def _oscillates(composition: Composition) -> bool:
    return any(name in composition.text for name in ("sin(", "cos(", "tan("))


def _is_not_inverted(composition: Composition) -> bool:
    """The zeros of what switches are those of a sine, or values of an inverse that the grammar does not have."""
    return any(name in composition.text for name in ("sin(", "cos(", "tan(", "erf(", "erfc(", "Phi("))


_REASONS: tuple[tuple[str, Callable[..., bool]], ...] = (
    (r"is not real at z = (\S+?);", lambda f, p: _raises(f, NotReal, [_number(p)])),
    (r"is not finite (?:at|near) z = (\S+?);", lambda f, p: _raises(f, NotFinite, [_number(p)])),
    (r"it is not (real|finite) between (\S+) and (\S+?);", _between),
    (r"is not smooth at z = (\S+?);", _kink),
    (r"no Gaussian average for K >= \S+: it may grow like exp\((\S+)\) for z -> (.*?);", _grows),
    (r"no Gaussian average: it may grow like exp\(c\*z\^2\) or faster for z -> (.*?);",
     lambda f, sides: _grows(f, None, sides)),
    (r"the formula does not (?:depend on|contain) z", _constant),
    (r"the zeros of this expression cannot be listed exactly", _is_not_inverted),
    (r"could not be shown to be finite for z -> ", _oscillates),
    (r"is constant|vanishes", _constant),
)  # fmt: skip
