"""Averages of two variables as series in the correlation: the coefficients of all inputs, in blocks of 64.

Functions of the library have an underscore before their names; ``_values`` and ``_kernel_of`` are the module's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from ....scalar.library.hermite import judge as _judge
from ....scalar.library.hermite import polynomials as _polynomials
from ....scalar.library.hermite import probed as _probed
from ....scalar.library.hermite import products as _products
from ....scalar.library.hermite import remainders as _remainders
from ....scalar.library.hermite import squares as _squares
from ....scalar.library.series_sums import larger_tails as _larger_tails

Reals = NDArray[np.float64]
Expansion = tuple[Reals, Reals, Reals, Reals, Reals, Reals]  # coefficients, tails, rests, inverses; most tails; sizes


def _values(number: int, nodes: int, step: float, roots: Reals, p: Reals, even: Reals, odd: Reals) -> None:
    """Sums and differences of a function at opposite nodes."""
    raise NotImplementedError


def _kernel_of(number: int, K: float, p: Reals) -> float:
    """The variance of the argument of a function, for an input of kernel K."""
    raise NotImplementedError


def _root(number: int, K: float, p: Reals) -> float:
    """The root of that; nan where there is no number."""
    kernel = _kernel_of(number, K, p)
    return np.sqrt(kernel) if kernel >= 0.0 else np.nan


def _chosen(number: int, root: float, p: Reals, choice: Reals) -> float:
    """How many nodes and terms the input with the largest root of a kernel takes; a smaller root where there are none.

    Args:
        number: of the function.
        root: the largest one.
        p: the parameters.
        choice: numbers of nodes and terms to begin with, 0, and what they may leave open; receives those that suffice.
    """
    terms = choice[1]
    even, odd, room = np.empty(64 * 16384), np.empty(64 * 16384), np.empty(2 * 16384)
    one, two, roots = np.empty(4096), np.empty(4096), np.empty(64)
    while True:
        roots[:] = root
        while choice[2] == 0.0:
            count, listed = int(choice[0]), int(choice[1])
            _values(number, count, 13.0 / count, roots, p, even, odd)
            total = _probed(listed, count, 13.0 / count, even, odd, room, one)
            _values(number, 2 * count, 6.5 / count, roots, p, even, odd)
            finer = _probed(listed, 2 * count, 6.5 / count, even, odd, room, two)
            _judge(total, finer, one, two, choice)
        if choice[2] == 1.0:
            return root
        choice[1], choice[2], choice[3] = terms, 0.0, 1e-15
        if not root > 1e-100:  # not even constants have numbers
            return -1.0
        root *= 0.5


def _part(
    number: int,
    K: Reals,
    limit: float,
    p: Reals,
    begin: int,
    some: int,
    terms: int,
    nodes: int,
    table: Reals,
    e: Expansion,
) -> None:
    """Some coefficients of a function for some inputs, from the term ``begin`` on."""
    coefficients, tails, rests, inverses, most, sizes = e
    blocks, listed = (K.size + 63) // 64, most.size
    rows = table[2 * nodes :]
    for b in prange(blocks):
        even, odd, room, roots = np.empty(64 * nodes), np.empty(64 * nodes), np.empty(192), np.zeros(64)
        for j in range(64):
            i = 64 * b + j
            root = _root(number, K[i], p) if i < K.size else 0.0
            roots[j] = root if root <= limit else np.nan
            inverses[i] = 0.0 if roots[j] == 0.0 else 1.0 / roots[j]
        _values(number, nodes, 13.0 / nodes, roots, p, even, odd)
        own = coefficients[64 * terms * b : 64 * terms * (b + 1)]
        _products(0, some, nodes, rows, even, own[64 * begin :])
        _products(1, some, nodes, rows, odd, own[64 * begin :])
        if begin == 0:
            _squares(nodes, rows, even, odd, sizes[64 * b : 64 * b + 64])
        if begin + some == terms:
            places = slice(64 * b, 64 * b + 64)
            _remainders(terms, own, sizes[places], tails[listed * b : listed * (b + 1)], rests[places], room)


def _room(number: int, count: int, terms: int) -> list[Expansion]:
    """Room for the coefficients of functions."""
    blocks, listed = (count + 63) // 64, 2 * (terms // 8) + 2
    return [
        (
            np.empty(blocks * 64 * terms),
            np.empty(blocks * listed),
            np.empty(blocks * 64),
            np.empty(blocks * 64),
            np.full(listed, -np.inf),
            np.empty(blocks * 64),
        )
        for _ in range(number)
    ]


def _expansions(
    begin: int, number: int, p: Reals, K1: Reals, K2: Reals
) -> tuple[int, list[Expansion], list[Expansion]]:
    """The number of terms, and the coefficients of functions for the first and for the second inputs.

    Args:
        begin: the number of the first function.
        number: how many there are.
        p: the parameters.
        K1: kernels of the first inputs.
        K2: those of the second ones; none stand for the first.
    """
    same = K2.size == 0 or (K1.size == K2.size and np.all((K1 == K2) | (np.isnan(K1) & np.isnan(K2))))
    choice, limits = np.array([64.0, 0.0]), np.zeros(number)
    for again in range(2 if number > 1 else 1):  # what suffices for one function must for the others
        for k in range(number):
            if again == 0:
                for inputs in (K1, K2):
                    for K in inputs:
                        root = _root(begin + k, K, p)
                        limits[k] = root if limits[k] < root < np.inf else limits[k]
            found = (
                np.array([choice[0], max(32.0, choice[1]), 0.0, 1e-15]) if again else np.array([64.0, 32.0, 0.0, 1e-15])
            )
            limits[k] = _chosen(begin + k, limits[k], p, found)
            choice[0] = max(choice[0], found[0])
            if again == 0:
                choice[1] = max(choice[1], found[1])
    nodes, terms = int(choice[0]), max(8, int(choice[1]))
    some = min(terms, 8 * (131072 // nodes))  # terms at a time: the table stays small
    table = np.empty((some + 2) * nodes)
    first = _room(number, K1.size, terms)
    second = first if same else _room(number, K2.size, terms)
    for start in range(0, terms, some):
        now = min(some, terms - start)
        _polynomials(start, some, now, nodes, 13.0 / nodes, table)
        for k in range(number):
            _part(begin + k, K1, limits[k], p, start, now, terms, nodes, table, first[k])
            if not same:
                _part(begin + k, K2, limits[k], p, start, now, terms, nodes, table, second[k])
    for expansions in (first, second):
        for e in expansions:
            for b in range(e[1].size // e[4].size):
                _larger_tails(e[1][b * e[4].size : (b + 1) * e[4].size], e[4].size, e[4])
    return terms, first, second


def _block_of(e: Expansion, block: int, terms: int) -> Any:
    """Coefficients, tails and rests of a block."""
    listed = e[4].size
    return (
        e[0][64 * terms * block : 64 * terms * (block + 1)],
        e[1][listed * block : listed * (block + 1)],
        e[2][64 * block : 64 * block + 64],
    )
