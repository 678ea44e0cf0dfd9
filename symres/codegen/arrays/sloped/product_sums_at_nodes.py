"""Derivatives of any order of functions that are sums of products: of factors whose derivatives are such sums too.

A sum is a mapping from the powers of all factors to the coefficient of their product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..runtime.array_types import Floats

Products: TypeAlias = Mapping[tuple[int, ...], float]


def _derivative(
    factors: Callable[..., Sequence[Floats]], slopes: Sequence[Sequence[Products]], name: str
) -> Callable[..., Floats]:
    """A derivative of a factor as a function of z and parameters.

    Args:
        factors: gives all factors at z.
        slopes: for z and for each parameter, the derivative of every factor as a sum of products.
        name: the factor, A, B, ..., then a letter for each derivative: a, b, ... in the parameters, in order, z in z.
    """
    count = len(slopes[0])
    terms: dict = {tuple([int(n == ord(name[0]) - 65) for n in range(count)]): 1.0}
    for letter in name[1:]:
        total: dict = {}
        for powers, number in terms.items():
            for index, power in enumerate(powers):
                for added, slope in slopes["zabcdefghijklmnopqrstuvwxy".index(letter)][index].items() if power else ():
                    key = tuple([p + q - (n == index) for n, (p, q) in enumerate(zip(powers, added))])
                    total[key] = total.get(key, 0.0) + number * power * slope
        terms = {powers: number for powers, number in total.items() if number}
    return lambda z, *parameters: _sum_of_products(terms, factors(z, *parameters))


def _sum_of_products(terms: Products, factors: Sequence[Floats]) -> Floats:
    """The value of a sum of products of powers of factors."""
    total = 0.0 * factors[0]
    for powers, number in terms.items():
        product: Any = number
        for factor, power in zip(factors, powers):
            for _ in range(power):
                product = product * factor
        total = total + product
    return total


def _price(index: int, pair: tuple[str, str]) -> list[tuple[str, str]]:
    """The averages whose sum is the derivative of one in an argument, K1, K2, C, parameters; in a kernel twice that.

    By Price's theorem <f g> changes by <f'' g>/2 with K1 and by <f' g'> with C.
    """
    letter = chr(94 + index)
    changes = [("zz", "")], [("", "zz")], [("z", "z")], [(letter, ""), ("", letter)]
    first, second = pair
    return [("".join(sorted(first + one)), "".join(sorted(second + two))) for one, two in changes[min(index, 3)]]
