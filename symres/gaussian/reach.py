"""How far a truncated expansion in powers of K reaches, estimated from the first term left out and seen in numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import mpmath as mp
import sympy as sp

from ..balls import evaluate
from ..errors import NoClosedForm
from ..quantity import Verification

ERRORS = (1e-3, 1e-6, 1e-12)  # relative errors whose range is stated
_DIGITS = 40  # of coefficients
_SMALL, _ALIKE = 1e-14, 4  # the term left out where it is checked, relative; its share of the error, within 1/4
_POINTS, _TRIES = 3, 12  # that must pass in a row, out of so many
_STEP = 4
_NICE = (1, 2, 5)
_FARTHEST = 60  # steps of 1, 2, 5, 10, ... of a search: 20 decades

Terms = Mapping[sp.Expr, sp.Expr]


@dataclass(frozen=True)
class Truncation:
    """A truncated expansion and what it expands.

    Args:
        asked: what it is, for messages.
        kept: {exponent of K: coefficient}, coefficients without parameters.
        omitted: the terms that follow.
        number: the exact value at a K, to so many digits.
        large: whether it is one for large K.
    """

    asked: str
    kept: Terms
    omitted: Terms
    number: Callable[[sp.Rational, int], mp.mpf]
    large: bool

    def verification(self) -> Verification:
        """Compare with numbers where the terms left out are tiny: the difference must be the first of them.

        Raises:
            NoClosedForm: it is not; a coefficient is wrong.
        """
        start = self._estimate(_SMALL) if self._next else sp.Integer(1)
        passed, worst = 0, mp.mpf(0)
        with mp.workdps(_DIGITS):
            for step in range(_TRIES):
                K = start * sp.Integer(_STEP) ** (step if self.large else -step)
                error, size, expected = self._error(K)
                as_expected = abs(error - expected) <= abs(expected) / _ALIKE + size * mp.mpf(10) ** -30
                passed, worst = (passed + 1, max(worst, abs(error) / size)) if as_expected else (0, mp.mpf(0))
                if passed == _POINTS:
                    return Verification("numbers", _POINTS, float(worst))
        found = f"at K = {mp.nstr(_mpf(K), 3)} it is off by {mp.nstr(error, 3)}, not by {mp.nstr(expected, 3)}"
        raise NoClosedForm(self.asked, f"{found}, a defect of symres", "report it, and use numbers")

    def reach(self) -> str:
        """From which K on the relative error is below the errors of the list."""
        words = "from K = {} on" if self.large else "up to K = {}"
        found = [(error, self._limit(error)) for error in ERRORS]
        if all(limit is None for _, limit in found):
            return "no difference from numbers at any K tried"
        return "relative error below " + ", ".join(
            f"{error:.0e} {words.format(_written(limit)) if limit is not None else 'at every K tried'}".replace(
                "e-0", "e-"
            )
            for error, limit in found
        )

    # ---- numbers
    @cached_property
    def _coefficients(self) -> tuple[list[tuple[mp.mpf, mp.mpf]], list[tuple[mp.mpf, mp.mpf]]]:
        with mp.workdps(_DIGITS):
            return tuple(
                [(_mpf(e), evaluate(c, {}, _DIGITS)[0]) for e, c in terms.items()]
                for terms in (self.kept, self._ordered)
            )

    @cached_property
    def _ordered(self) -> Terms:
        return {e: self.omitted[e] for e in sorted(self.omitted, reverse=self.large)}

    @property
    def _next(self) -> list[tuple[mp.mpf, mp.mpf]]:
        return [(e, c) for e, c in self._coefficients[1] if c]

    @cached_property
    def _lead(self) -> tuple[mp.mpf, mp.mpf]:
        terms = [(e, c) for e, c in self._coefficients[0] if c]
        return (max if self.large else min)(terms, default=(mp.mpf(0), mp.mpf(1)))

    def _estimate(self, error: float) -> sp.Rational:
        """The K at which the first term left out has a size relative to the leading one, and the second is smaller."""
        (lead, top), ((first, value), *more) = self._lead, self._next
        K = (error * abs(top / value)) ** (1 / (first - lead))
        if more:  # one of 1/8 leaves the rest below 1/4
            K = (max if self.large else min)(K, abs(value / more[0][1] / 8) ** (1 / (more[0][0] - first)))
        return _nice(K, self.large)

    def _error(self, K: sp.Rational) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
        """The error at a place, the size of the number, and the first term left out."""
        place = _mpf(K)
        expected = self._next[0][1] * place ** self._next[0][0] if self._next else mp.mpf(0)
        series = mp.fsum(c * place**e for e, c in self._coefficients[0])
        digits = 32 if not series or not expected else max(15, int(mp.log10(abs(series / expected))) + 8)
        number = self.number(K, min(digits, 60))
        return number - series, abs(number) or mp.mpf(1), expected

    def _limit(self, error: float) -> sp.Rational | None:
        """The first of the numbers 1, 2, 5, 10, ... from which on the error is small; None if it is at all tried."""
        with mp.workdps(_DIGITS):
            index = _index(self._estimate(error) if self._next else sp.Integer(1), self.large)
            out = 1 if self.large else -1
            if not self._next:  # no estimate: look on both sides of 1
                while abs(index) < _FARTHEST // 3 and self._small(index - out, error):
                    index -= out
                if abs(index) >= _FARTHEST // 3:
                    return None
            run = 0
            for _ in range(_FARTHEST):
                run = run + 1 if self._small(index, error) else 0
                index += out
                if run == _POINTS:
                    return _place(index - _POINTS * out)
        raise NoClosedForm(self.asked, f"its error does not fall below {error:.0e}", "use numbers")

    @cached_property
    def _seen(self) -> dict[int, mp.mpf]:
        return {}

    def _small(self, index: int, error: float) -> bool:
        if index not in self._seen:
            K = _place(index)
            difference, size, _ = self._error(K)
            self._seen[index] = abs(difference) / size
        return bool(self._seen[index] <= error)


def _place(index: int) -> sp.Rational:
    """The numbers 1, 2, 5, 10, ... by index, 1 at 0."""
    return sp.Integer(_NICE[index % 3]) * sp.Integer(10) ** (index // 3)


def _index(K: sp.Rational, large: bool) -> int:
    """The number of the list that is not nearer than K."""
    index = 3 * int(mp.floor(mp.log10(_mpf(K))))
    while _place(index) < K:
        index += 1
    while _place(index) > K and not large:
        index -= 1
    return index


def _nice(K: mp.mpf, large: bool) -> sp.Rational:
    """A power of two beyond K."""
    exponent = mp.log(K, 2)
    return sp.Integer(2) ** int(mp.ceil(exponent) if large else mp.floor(exponent))


def _written(K: sp.Rational) -> str:
    return str(K) if 1 <= K < 10000 else f"{float(K):.0e}".replace("e-0", "e-").replace("e+0", "e+").replace("e+", "e")


def _mpf(number: sp.Rational) -> mp.mpf:
    return mp.mpf(int(number.p)) / int(number.q)
