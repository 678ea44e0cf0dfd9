"""Averages of two variables as series in the correlation: the sums for 64 pairs at a time."""

from __future__ import annotations

from math import fabs, log

from .hermite import NOTHING
from .machine import NAN, Given, Written, fma

NEXT = 0.999999999999999  # rounding makes correlations of equal inputs no smaller
CUT = -33.152  # the logarithm of 4e-15: what terms need not give, of sqrt(<f**2> <g**2>)
LOST = -28.324  # the logarithm of 5e-13: what an entry may lack of that


def correlated(c: float, inverse1: float, inverse2: float) -> float:
    """A correlation from a covariance and the inverse roots of kernels, from -1 to 1."""
    ratio = c * inverse1 * inverse2
    ratio = 1.0 if ratio > 1.0 else ratio
    return -1.0 if ratio < -1.0 else ratio


def row_of(terms: int, lane: int, block: Given, row: Written) -> None:
    """The coefficients of one input of a block, one behind the other."""
    for n in range(terms):
        row[n] = block[64 * n + lane]


def larger_tails(tails: Given, count: int, most: Written) -> None:
    """The larger ones of two rows of logarithms, in the place of the second."""
    for k in range(count):
        most[k] = tails[k] if tails[k] > most[k] else most[k]


def largest_size(numbers: Given, work: Written) -> float:
    """The largest absolute value of 64 numbers."""
    for j in range(32):
        one = fabs(numbers[j])
        two = fabs(numbers[j + 32])
        work[j] = one if one > two else two
    for j in range(16):
        low = work[j]
        high = work[j + 16]
        work[j] = low if low > high else high
    largest = 0.0
    for j in range(16):
        largest = work[j] if work[j] > largest else largest
    return largest


def needed(groups: int, logarithm: float, one: Given, two: Given) -> int:
    """How many groups of four terms of a parity leave little enough.

    Args:
        groups: how many there are.
        logarithm: of the largest correlation.
        one: tails of the first inputs.
        two: those of the second ones.
    """
    k: int = 0
    while k < groups and 8.0 * k * logarithm + 0.5 * (one[k] + two[k]) > CUT:
        k += 1
    return k


def horner(n: int, first: Given, second: Given, square: Given, out: Written) -> None:
    """Terms n, n - 2, n - 4 and n - 6 of a parity, in Horner's order."""
    a0 = first[n]
    a1 = first[n - 2]
    a2 = first[n - 4]
    a3 = first[n - 6]
    b0: Given = second[64 * n : 64 * n + 64]
    b1: Given = second[64 * n - 128 : 64 * n - 64]
    b2: Given = second[64 * n - 256 : 64 * n - 192]
    b3: Given = second[64 * n - 384 : 64 * n - 320]
    for j in range(64):
        s = square[j]
        v = fma(out[j], s, a0 * b0[j])
        v = fma(v, s, a1 * b1[j])
        v = fma(v, s, a2 * b2[j])
        out[j] = fma(v, s, a3 * b3[j])


def summed(
    evens: int,
    odds: int,
    first: Given,
    second: Given,
    rho: Given,
    work: Written,
    out: Written,
) -> None:
    """The sums of 64 pairs.

    Args:
        evens: groups of four even terms.
        odds: groups of four odd terms.
        first: coefficients of the first input, which they share.
        second: those of the second inputs, a block.
        rho: correlations.
        work: room for 128 numbers.
        out: receives the sums.
    """
    square: Written = work[0:64]
    even: Written = work[64:128]
    for j in range(64):
        square[j] = rho[j] * rho[j]
        even[j] = 0.0
        out[j] = 0.0
    for n in range(8 * evens - 2, 0, -8):
        horner(n, first, second, square, even)
    for n in range(8 * odds - 1, 0, -8):
        horner(n, first, second, square, out)
    for j in range(64):
        out[j] = fma(out[j], rho[j], even[j])


def chunk(
    terms: int,
    first: Given,
    of_first: Given,
    rest: float,
    second: Given,
    of_second: Given,
    rests: Given,
    rho: Given,
    work: Written,
    out: Written,
) -> None:
    """The averages of 64 pairs that share the first input; no number where terms leave more than 5e-13.

    Args:
        terms: how many there are.
        first: coefficients of the first input.
        of_first: tails of its block.
        rest: what all terms leave of it.
        second: coefficients of the second inputs.
        of_second: tails of their block.
        rests: what all terms leave of them.
        rho: correlations.
        work: room for 128 numbers.
        out: receives the averages.
    """
    groups: int = terms // 8
    largest = largest_size(rho, work)
    logarithm = log(largest if largest > NOTHING else NOTHING)
    evens: int = needed(groups, logarithm, of_first[0 : groups + 1], of_second[0 : groups + 1])
    odds: int = needed(groups, logarithm, of_first[groups + 1 : 2 * groups + 2], of_second[groups + 1 : 2 * groups + 2])
    summed(evens, odds, first, second, rho, work, out)
    if 8.0 * groups * logarithm + 0.5 * (of_first[groups] + of_second[groups]) > LOST:
        for j in range(64):
            size = fabs(rho[j])
            left = 8.0 * groups * log(size if size > NOTHING else NOTHING) + 0.5 * (rest + rests[j])
            out[j] = NAN if left > LOST else out[j]


def apart(
    terms: int,
    first: Given,
    of_first: Given,
    rests1: Given,
    second: Given,
    of_second: Given,
    rests2: Given,
    places: Given,
    rho: Given,
    work: Written,
    out: Written,
) -> None:
    """The averages of 64 pairs that have inputs of their own; no number where terms leave more than 5e-13.

    Args:
        terms: how many there are.
        first: coefficients of all inputs of the first function.
        of_first: the largest tails of all their blocks.
        rests1: what all terms leave of them.
        second: the same of the second function.
        of_second: likewise.
        rests2: likewise.
        places: where the first inputs of the pairs are, then where the second ones are; whole numbers.
        rho: correlations.
        work: room for 128 + 65*terms numbers.
        out: receives the averages.
    """
    groups: int = terms // 8
    largest = largest_size(rho, work)
    logarithm = log(largest if largest > NOTHING else NOTHING)
    evens: int = needed(groups, logarithm, of_first[0 : groups + 1], of_second[0 : groups + 1])
    odds: int = needed(groups, logarithm, of_first[groups + 1 : 2 * groups + 2], of_second[groups + 1 : 2 * groups + 2])
    used: int = 8 * (evens if evens > odds else odds)
    ones: Written = work[128 : 128 + terms]
    both: Written = work[128 + terms : 128 + 65 * terms]
    for n in range(used):
        ones[n] = 1.0
    for j in range(64):
        one: int = int(places[j])
        two: int = int(places[64 + j])
        begin1: int = one // 64 * 64 * terms + one % 64
        begin2: int = two // 64 * 64 * terms + two % 64
        for n in range(used):
            both[64 * n + j] = first[begin1 + 64 * n] * second[begin2 + 64 * n]
    summed(evens, odds, ones, both, rho, work[0:128], out)
    if 8.0 * groups * logarithm + 0.5 * (of_first[groups] + of_second[groups]) > LOST:
        for j in range(64):
            size = fabs(rho[j])
            rest = rests1[int(places[j])] + rests2[int(places[64 + j])]
            left = 8.0 * groups * log(size if size > NOTHING else NOTHING) + 0.5 * rest
            out[j] = NAN if left > LOST else out[j]


def equal_in_row(rho: Given, inverse: float, inverses: Given, size: float, out: Written) -> None:
    """Averages of equal functions of equal inputs in the place of sums, which may lack terms.

    Args:
        rho: correlations.
        inverse: the inverse root of the kernel of the first input.
        inverses: those of the second ones.
        size: <f**2> of the first input.
        out: the sums of 64 pairs.
    """
    for j in range(64):
        near = size if rho[j] > NEXT else out[j]
        out[j] = near if inverses[j] == inverse else out[j]


def equal_apart(rho: Given, inverses: Given, sizes: Given, places: Given, out: Written) -> None:
    """The same of pairs that have inputs of their own, by places."""
    for j in range(64):
        one: int = int(places[j])
        near = sizes[one] if rho[j] > NEXT else out[j]
        out[j] = near if inverses[one] == inverses[int(places[64 + j])] else out[j]
