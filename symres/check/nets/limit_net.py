"""The infinitely wide network, by deterministic quadrature in the same protocol as the sampled ones."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..formulas.rounding_noise import of_square
from ..rules.adaptive_panels import rounding
from .one_position import OnePosition
from .random_field import (
    Affine,
    Operand,
    OracleLimit,
    Place,
    RandomField,
    at_input,
    declared,
    expanded,
    is_same_function,
    leaves,
)
from .source_law import Rules, SourceLaw, pair_of

_FINE = Rules()
CANCELLED = 0.01  # a correlation below this has lost digits in the difference of the inputs


class LimitNet(SourceLaw, OnePosition[Any]):
    """A network at n = infinity: neurons are random variables, ``mean`` is an integral, a dense layer is a new source.

    Args:
        covariance: of the stream over the inputs, (inputs, inputs).
        rules: of integration.
        differences: <(z_a - z_b)^2>, where the covariance cannot hold its digits.
    """

    def __init__(self, covariance: np.ndarray, rules: Rules = _FINE, differences: np.ndarray | None = None) -> None:
        covariance = np.asarray(covariance, dtype=float)
        if differences is None:
            variances = np.diag(covariance)
            differences = variances[:, None] + variances - 2 * covariance
        super().__init__(len(covariance), rules)
        self.subtracted = 0.0  # rounding errors of squared differences that were found from second moments
        self._entered: list[Operand] = []
        self._stream = self._drawn(covariance, differences, np.abs(covariance))
        self._given = len(self._sources)

    def stream(self) -> RandomField:
        """A neuron of the stream."""
        return self._stream

    def mean(self, u: Operand) -> np.ndarray:
        """Average over the neurons, one number per input."""
        return np.array(
            [
                sum(at_input(c, a) * self._product([(f, a) for f in factors])[0] for c, factors in expanded(u))
                for a in range(self._inputs)
            ]
        )

    def dense(self, u: Operand, C_W: float, C_b: float, width: float = 1.0) -> RandomField:
        """A fresh Gaussian source; its covariance does not depend on the width."""
        moments, differences, sizes = self.moments(u)
        self._entered.append(u)
        return self._drawn(C_b + C_W * moments, C_W * differences, C_b + C_W * sizes)

    def batch(self, u: Operand) -> Operand:
        """Refused: the inputs are no batch (see ``LimitBatch``)."""
        raise OracleLimit("an average over the inputs", "the inputs are not a batch", "walk the layer with a batch")

    def moments(self, u: Operand) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """<u_a u_b> and <(u_a - u_b)^2> for all pairs of inputs, and what rounding errors of the first are relative to.

        The second keeps its digits for nearly equal inputs.
        """
        second, difference, size = np.empty((3, self._inputs, self._inputs))
        for a in range(self._inputs):
            for b in [a, *range(a)]:
                first = self._representative(a, b)
                if first == (a, b):
                    between = self._between(u, a, b, second, size)
                else:
                    between = second[first], difference[first], size[first]
                second[a, b], difference[a, b], size[a, b] = between
                second[b, a], difference[b, a], size[b, a] = between
        return second, difference, size

    def _representative(self, a: int, b: int) -> tuple[int, int]:
        """The pair of inputs with the same law as this one that ``moments`` comes to first."""
        return a, b

    def _between(
        self, u: Operand, a: int, b: int, second: np.ndarray, size: np.ndarray
    ) -> tuple[np.ndarray | float, float, float]:
        """Second moment, squared difference and size for one pair, those of each input with itself being known."""
        if a == b:
            for c in range(a):  # known already: susceptibilities are measured by inputs of one kernel
                laws = (*self._sources, *self._sizes)  # the same function of sources with the same laws
                if all(law[a, a] == law[c, c] for law in laws) and is_same_function(u, a, c):
                    return second[c, c], 0.0, size[c, c]
            value, square_size = self._second(u, a, a)
            return value, 0.0, square_size
        if self._is_one(u, a, b):
            return second[a, a], 0.0, size[a, a]
        direct = self._difference(u, a, b, second[a, a])
        both = second[a, a] + second[b, b]
        if direct is None:
            self.subtracted = max(self.subtracted, rounding(float(size[a, a] + size[b, b])))
        if direct is None or abs(both - direct) < CANCELLED * both:
            mixed, apart = self._second(u, a, b)
            direct = both - 2 * mixed if direct is None else direct
        else:
            mixed, apart = (both - direct) / 2, size[a, a] + size[b, b]
        # where the arguments are sources made here, their errors are relative to their standard deviations
        forms = leaves([(u, a), (u, b)]).values()
        made = any(source >= self._given for form, _ in forms for source in form.coefficients)
        if made and not isinstance(u, Affine):
            apart = max(apart, np.sqrt(second[a, a]) * np.sqrt(second[b, b]))
        return mixed, direct, apart

    def _is_one(self, u: Operand, a: int, b: int) -> bool:
        """Whether a field is the same variable at two inputs: all that it is made of is, and all laws are."""
        if not isinstance(u, RandomField) or any(law[a, a] != law[b, b] for law in self._sources):
            return False
        return all(
            form.constant[a] == form.constant[b]
            and all(c[a] == c[b] and self._differences[s][a, b] == 0 for s, c in form.coefficients.items())
            for form, _ in leaves([(u, a), (u, b)]).values()
        )

    def evaluation_error(self, u: Operand) -> float:
        """What the declared functions in ``u``, and in what entered dense layers, lose in doubles.

        Returns:
            Relative to second moments, the sum over the functions. Those whose argument is not Gaussian are left out.
        """
        losses: dict[int, float] = {}
        places = [(operand, a) for operand in (*self._entered, u) for a in range(self._inputs)]
        for function, argument, a in declared(places):
            sigma = np.sqrt(self._covariance((argument, a), (argument, a)))
            error = of_square(function, float(argument.constant[a]), float(sigma))
            losses[id(function)] = max(losses.get(id(function), 0.0), error)
        return sum(losses.values())

    def _second(self, u: Operand, a: int, b: int) -> np.ndarray:
        terms, total = expanded(u), np.zeros(2)
        for (c, left), (d, right) in product(terms, repeat=2):
            places: list[Place] = [*((f, a) for f in left), *((f, b) for f in right)]
            total += pair_of(at_input(c, a) * at_input(d, b)) * self._product(places)
        return total

    def _difference(self, u: Operand, a: int, b: int, size: float) -> float | None:
        """<(u_a - u_b)^2> without a difference of large numbers.

        None where <u_a u_b> is better done by itself: it splits into plane integrals, which this does not, or the
        inputs are far apart (``size`` is <u_a^2>).
        """
        if not isinstance(u, RandomField):
            return float(at_input(u, a) - at_input(u, b)) ** 2
        if isinstance(u, Affine):
            return self._affine_difference(u, a, b) + float(u.constant[a] - u.constant[b]) ** 2
        terms = expanded(u)
        if len(terms) == 1 and at_input(terms[0][0], a) == at_input(terms[0][0], b):
            factor, factors = terms[0]
            groups = self._independent([[(f, a), (f, b)] for f in factors])
            if len(groups) > 1:
                return float(at_input(factor, a)) ** 2 * self._difference_of_product(groups)
        places: list[Place] = [(u, a), (u, b)]
        _, basis, _ = self._reduced(places)
        if len(basis) > 2 and terms[0][1] != (u,):
            return None
        result = float(self._integral(places, _squared_distance)[0])
        return result if len(basis) <= 2 or result < 0.1 * size else None

    def _difference_of_product(self, groups: list[list[Place]]) -> float:
        """<(f_a g_a ... - f_b g_b ...)^2> for independent groups of factors, each at input a and at input b in turn.

        From f_a g_a - f_b g_b = [(f_a - f_b)(g_a + g_b) + (f_a + f_b)(g_a - g_b)]/2: equal inputs lose no digits.
        """
        first, second, apart = 1.0, 1.0, 0.0
        for group in groups:
            one, other, distance = self._squares(group)
            square_of_sum, group_square_of_sum = 2 * (first + second) - apart, 2 * (one + other) - distance
            apart = (apart * group_square_of_sum + square_of_sum * distance + 2 * (first - second) * (one - other)) / 4
            first, second = first * one, second * other
        return apart

    def _squares(self, group: list[Place]) -> tuple[float, float, float]:
        """<f_a^2>, <f_b^2> and <(f_a - f_b)^2> for a product f of factors that depend on each other."""
        ones, others = group[::2], group[1::2]
        first, second = (float(self._average(places * 2)[0]) for places in (ones, others))
        if len(ones) == 1:
            field, a = ones[0]
            _, b = others[0]
            distance = self._difference(field, a, b, first)
            if distance is not None:
                return first, second, distance
        return first, second, float(self._integral(group, _squared_distance)[0])


class CoupledNet(LimitNet):
    """Networks, one for each input, whose weights and biases have a correlation below 1: they tell a tangent kernel.

    The covariance of what a dense layer gives to two inputs falls by that factor. By Price's theorem the slope of any
    later covariance in the correlation, at 1, is the sum over all weights and biases, of variance 1 but for their
    scale, of the products of the derivatives in them.

    The covariance of the stream has whatever coupling the streams have; ``fall`` is 1 minus the correlation of the
    weights. Further arguments are those of ``LimitNet``.
    """

    def __init__(self, covariance: np.ndarray, fall: float, rules: Rules, differences: np.ndarray) -> None:
        self._fall = 0.0  # the stream is as it was given
        super().__init__(covariance, rules, differences)
        self._fall = fall

    def _drawn(self, covariance: np.ndarray, differences: np.ndarray, sizes: np.ndarray) -> Affine:
        fallen = self._fall * (covariance - np.diag(np.diag(covariance)))
        return super()._drawn(covariance - fallen, differences + 2 * fallen, sizes)


def _squared_distance(*values: np.ndarray) -> np.ndarray:
    """The square of the product of what is at even places less that of what is at odd ones."""
    one, other = (np.prod(np.broadcast_arrays(*values[k::2]), axis=0) for k in (0, 1))
    return np.asarray((one - other) ** 2)
