"""How far a truncated expansion in powers of K reaches, estimated from the first term left out and seen in numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from itertools import pairwise

import mpmath as mp
import sympy as sp

from ...core.errors import NoClosedForm
from ...functions.balls import as_mpf, evaluate
from ...results.quantity import Verification

ERRORS = (1e-3, 1e-6, 1e-12)  # relative errors whose range is stated
_DIGITS, _MOST_DIGITS = 170, 150  # of coefficients, of numbers
_CHECK_ERROR = 1e-14  # relative size of the first omitted term where it is compared with numbers
_TERM_SHARE = 4  # the sum of the omitted terms may be off by 1/4 of the last one
_EXPONENT_SPAN = 4  # in units of the first omitted exponent: terms beyond are smaller than numbers can tell
_ROUNDING = 1e-30  # relative error of a number
_ZERO_TOLERANCE = 1e-14  # absolute value below which a number without any term passes
_PASSES, _MAX_TRIES = 3, 12  # points that must pass in a row, points tried
_STEP_RATIO = 16
_MOST_BITS = 1000  # of a kernel: numbers are taken from 1e-300 to 1e300
_MANTISSAS = (1, 2, 5)
_MAX_STEPS = 60  # steps of 1, 2, 5, 10, ... of a search: 20 decades

Terms = Mapping[sp.Expr, sp.Expr]
Numbers = list[tuple[mp.mpf, mp.mpf]]


@dataclass(frozen=True)
class Truncation:
    """A truncated expansion and the exact function that it approximates."""

    asked: str  # what the expansion is of, for messages
    kept: Terms  # {exponent of K: coefficient}, coefficients without parameters
    omitted: Terms  # the terms that follow
    number: Callable[[sp.Rational, int], mp.mpf]  # the exact value at a K, to so many digits
    large: bool  # whether the expansion is for large K

    def verification(self) -> Verification:
        """Compare with numbers where the terms left out are tiny: the difference must be their sum.

        Raises:
            NoClosedForm: it is not; a coefficient is wrong.
        """
        passed, worst = 0, mp.mpf(0)
        with mp.workdps(_DIGITS):
            start = self._start()
            for step in range(_MAX_TRIES):
                K = start * sp.Integer(_STEP_RATIO) ** (step if self.large else -step)
                error, size = self._error(K)
                expected, last = self._omitted_sum(K)
                slack = last / _TERM_SHARE if self._next else size * _ROUNDING if self._kept else _ZERO_TOLERANCE
                as_expected = abs(error - expected) <= slack
                deviation = _relative(error, size if self._kept else mp.mpf(0))  # nothing is compared with 0 by ratio
                passed, worst = (passed + 1, max(worst, deviation)) if as_expected else (0, mp.mpf(0))
                if passed == _PASSES:
                    return Verification("numbers", _PASSES, float(worst))
        found = f"at K = {mp.nstr(as_mpf(K), 3)} it is off by {mp.nstr(error, 3)}, not by {mp.nstr(expected, 3)}"
        raise NoClosedForm(self.asked, f"{found}, a defect of symres", "report it, and use evalf")

    def reach(self) -> str:
        """In words: from which K on the relative error is below each of ``ERRORS``."""
        if not self._kept:
            return "every term up to there vanishes"
        words = "from K = {} on" if self.large else "up to K = {}"
        limits = [(error, self._range_end(error)) for error in ERRORS]
        if all(limit is None for _, limit in limits):
            return "no difference from numbers at any K tried"
        places = ["at every K tried" if limit is None else words.format(_brief(limit)) for _, limit in limits]
        return "relative error below " + ", ".join(f"{_brief(e)} {p}" for e, p in zip(ERRORS, places, strict=True))

    # ---- numbers
    @cached_property
    def _kept(self) -> Numbers:
        return self._numbers(self.kept)

    @cached_property
    def _next(self) -> Numbers:
        """The terms that follow, as far as numbers can tell them."""
        terms = self._numbers(self.omitted)
        lead, _ = self._lead
        return [(e, c) for e, c in terms if abs(e - lead) <= _EXPONENT_SPAN * abs(terms[0][0] - lead)]

    def _numbers(self, terms: Terms) -> Numbers:
        """Exponents and coefficients other than 0, the largest term first."""
        with mp.workdps(_DIGITS):
            pairs = ((as_mpf(e), evaluate(terms[e], {}, _DIGITS)[0]) for e in sorted(terms, reverse=self.large))
            return [(e, c) for e, c in pairs if c]

    @property
    def _lead(self) -> tuple[mp.mpf, mp.mpf]:
        """The leading term; without any, one of order 1."""
        return self._kept[0] if self._kept else (mp.mpf(0), mp.mpf(1))

    def _estimate(self, error: float) -> sp.Rational:
        """The K at which the first omitted term over the leading one is the error; not beyond 1."""
        (lead, top), ((first, value), *_) = self._lead, self._next
        K = _power_of_two_beyond((error * abs(top / value)) ** (1 / (first - lead)), self.large)
        return (max if self.large else min)(K, sp.Integer(1))

    def _start(self) -> sp.Rational:
        """A K at which the first term left out is tiny, and each of the others small against the one before."""
        if not self._next:
            return sp.Integer(1)
        places = [self._estimate(_CHECK_ERROR)]
        for (first, one), (second, other) in pairwise(self._next):
            places.append(_power_of_two_beyond(abs(one / other / 8) ** (1 / (second - first)), self.large))
        return (max if self.large else min)(places)

    def _error(self, K: sp.Rational) -> tuple[mp.mpf, mp.mpf]:
        """The error of the truncated expansion at a K, and the size of the exact value."""
        place, (following, last) = as_mpf(K), self._omitted_sum(K)
        series = mp.fsum(c * place**e for e, c in self._kept)
        log2_largest = abs(series) or abs(following)
        digits = max(15, int(mp.log10(log2_largest / last)) + 8) if log2_largest and last else 32
        number = self.number(K, min(digits, _MOST_DIGITS))
        return number - series, abs(number)

    def _omitted_sum(self, K: sp.Rational) -> tuple[mp.mpf, mp.mpf]:
        """The sum of the omitted terms at a K, and the size of the last of them."""
        values = [c * as_mpf(K) ** e for e, c in self._next]
        return mp.fsum(values), abs(values[-1]) if values else mp.mpf(0)

    def _range_end(self, error: float) -> sp.Rational | None:
        """The first of 1, 2, 5, 10, ... from which on the error is small; None if it is small at all points tried."""
        with mp.workdps(_DIGITS):
            estimate = self._estimate(error) if self._next else sp.Integer(1)
            index = 3 * int(mp.floor(mp.log10(as_mpf(estimate))))  # of the number of the list that is not nearer
            while _place(index) < estimate:
                index += 1
            while _place(index) > estimate and not self.large:
                index -= 1
            out = 1 if self.large else -1
            if not self._next:  # no estimate: look on both sides of 1
                while abs(index) < _MAX_STEPS // 3 and self._relative_error(index - out) <= error:
                    index -= out
                if abs(index) >= _MAX_STEPS // 3:
                    return None
            run = 0
            for _ in range(_MAX_STEPS):
                run = run + 1 if self._relative_error(index) <= error else 0
                index += out
                if run == _PASSES:
                    return _place(index - _PASSES * out)
        raise NoClosedForm(self.asked, f"its error does not fall below {error:.0e}", "use evalf")

    @cached_property
    def _relative_error(self) -> Callable[[int], mp.mpf]:
        return cache(lambda index: _relative(*self._error(_place(index))))


def _relative(error: mp.mpf, size: mp.mpf) -> mp.mpf:
    """Of the size; of 1 where that vanishes."""
    return abs(error) / size if size else abs(error)


def _place(index: int) -> sp.Rational:
    """The numbers 1, 2, 5, 10, ... by index, 1 at 0."""
    return sp.Integer(_MANTISSAS[index % 3]) * sp.Integer(10) ** (index // 3)


def _power_of_two_beyond(K: mp.mpf, large: bool) -> sp.Rational:
    """A power of two beyond K."""
    exponent = mp.log(K, 2)
    if abs(exponent) > _MOST_BITS:
        found = f"its next terms matter only at kernels {'above 1e300' if large else 'below 1e-300'}"
        raise NoClosedForm("the range of an expansion", found, "use evalf")
    return sp.Integer(2) ** int(mp.ceil(exponent) if large else mp.floor(exponent))


def _brief(number: sp.Rational | float) -> str:
    """One digit: 200, 5e-3, 2e6."""
    mantissa, exponent = f"{Decimal(str(sp.N(number, 15))):.0e}".split("e")  # beyond the range of floats, too
    return str(int(number)) if 0 <= int(exponent) < 4 else f"{mantissa}e{int(exponent)}"
