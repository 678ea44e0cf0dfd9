"""Averages of two variables as series in the correlation: the expansions of functions, and the sums of 64 pairs.

An expansion is an array with a part for each block of 64 inputs: their coefficients term by term, what all terms leave
of each, the inverse roots of the kernels, <f**2> and the tails of the block, of which ``remainders`` writes the second
and the last.
"""

from __future__ import annotations

from math import fabs, log, sqrt

from .hermite import AGREED, NODES, NOTHING, REACH, TERMS, judge, polynomials, probed, products, remainders, squares
from .machine import (
    INFINITY,
    NAN,
    Fixed,
    Given,
    Written,
    factor_block,
    factor_kernel,
    fma,
    in_threads,
    inlined,
    place_of_sum,
    room,
)

NEXT = 0.999999999999999  # rounding makes correlations of equal inputs no smaller
CUT = -33.152  # the logarithm of 4e-15: what terms need not give, of sqrt(<f**2> <g**2>)
LOST = -28.324  # the logarithm of 5e-13: what an entry may lack of that


# ---- expansions --------------------------------------------------------------------------------------------------
def numbers_of_block(terms: int) -> int:
    """How many numbers the part of a block takes, with room for its tails."""
    return 64 * terms + 192 + (terms // 4 + 65) // 64 * 64


@inlined
def numbers_of_expansion(count: int, terms: int) -> int:
    """How many numbers the expansion of a function takes at so many inputs."""
    return (count + 63) // 64 * numbers_of_block(terms)


@inlined
def root_of(number: int, K: float, p: Given) -> float:
    """The root of the variance of the argument of a function; nan where it is not a number."""
    return sqrt(factor_kernel(number, K, p))


def tried(number: int, largest: float, p: Given, choice: Written, work: Written) -> float:
    """How many nodes and terms the input with the largest root of a kernel takes; a smaller root where there are none.

    Args:
        number: of the function.
        largest: the largest root; what is returned, -1 where not even constants have numbers.
        p: the parameters.
        choice: of ``judge``, with numbers of nodes and of terms to begin with; receives those that suffice.
        work: room for 2170944 numbers.
    """
    even: Written = work[0:1048576]
    odd: Written = work[1048576:2097152]
    probe: Written = work[2097152:2162688]
    one: Written = work[2162688:2166784]
    two: Written = work[2166784:2170880]
    roots: Written = work[2170880:2170944]
    begin = choice[1]
    root = largest
    choice[2] = 0.0
    choice[3] = AGREED
    while choice[2] != 1.0:
        for j in range(64):
            roots[j] = root
        nodes: int = int(choice[0])
        terms: int = int(choice[1])
        factor_block(number, 2 * nodes, 0.5 * REACH / nodes, roots, p, even, odd)
        total = probed(terms, nodes, 2 * nodes, even, odd, probe, one)
        finer = probed(terms, 2 * nodes, 2 * nodes, even, odd, probe, two)
        judge(total, finer, one, two, choice)
        if choice[2] == 2.0:
            choice[1] = begin
            choice[2] = 0.0 if root > 1e-100 else 1.0
            choice[3] = AGREED
            root = 0.5 * root if root > 1e-100 else -1.0
    return root


def choose(begin: int, number: int, p: Given, count: int, K: Given, choice: Written) -> int:
    """How many nodes and terms all functions take, and up to which root of a kernel they have numbers.

    Args:
        begin: the number of the first function.
        number: how many there are.
        p: the parameters.
        count: how many inputs.
        K: their kernels.
        choice: receives numbers of nodes and of terms, then the root for each function.

    Returns:
        1 if memory lacks, else 0.
    """
    failed: int = 0
    work: Written = room(2170944)
    one: Written = room(4)
    choice[0] = NODES
    choice[1] = TERMS
    for k in range(number):
        choice[2 + k] = 0.0
        for i in range(count):
            root = root_of(begin + k, K[i], p)
            choice[2 + k] = root if root > choice[2 + k] and root < INFINITY else choice[2 + k]
    for k in range(2 * number if number > 1 else 1):  # twice, as what suffices for one function must for the others
        one[0] = choice[0]
        one[1] = choice[1]
        choice[2 + k % number] = tried(begin + k % number, choice[2 + k % number], p, one, work)
        choice[0] = one[0] if one[0] > choice[0] else choice[0]
        choice[1] = one[1] if k == 0 or one[1] > choice[1] else choice[1]
    return failed


def expand_block(
    number: int, p: Given, begin: int, count: int, K: Given, nodes: int, terms: int, limit: float, out: Written
) -> int:
    """The part of an expansion for the block of inputs that begins there; 1 if memory lacks."""
    failed: int = 0
    work: Written = room(134 * nodes)
    roots: Written = room(64)
    even: Written = work[0 : 64 * nodes]
    odd: Written = work[64 * nodes : 128 * nodes]
    table: Written = work[128 * nodes : 134 * nodes]
    behind: int = 64 * terms
    for j in range(64):
        root = root_of(number, K[begin + j], p) if begin + j < count else 0.0
        roots[j] = root if root <= limit else NAN
        out[behind + 64 + j] = 0.0 if roots[j] == 0.0 else 1.0 / roots[j]
    factor_block(number, nodes, REACH / nodes, roots, p, even, odd)
    for n in range(0, terms, 4):
        polynomials(n, nodes, REACH / nodes, table)
        products(nodes, table[2 * nodes :], even, out[64 * n :])
        products(nodes, table[3 * nodes :], odd, out[64 * n + 64 :])
        if n == 0:
            squares(nodes, table[2 * nodes :], even, odd, out[behind + 128 :])
    remainders(terms, out, out[behind + 128 : behind + 192], out[behind + 192 :], out[behind : behind + 64])
    return failed


def expand(begin: int, number: int, p: Given, count: int, K: Given, choice: Given, out: Written) -> int:
    """The expansions of functions at inputs, one behind the other; 1 if memory lacks.

    Args:
        begin: the number of the first function.
        number: how many there are.
        p: the parameters.
        count: how many inputs.
        K: their kernels.
        choice: what ``choose`` writes.
        out: receives the expansions.
    """
    failed: int = 0
    nodes: int = int(choice[0])
    terms: int = int(choice[1])
    numbers: int = numbers_of_expansion(count, terms)
    size: int = numbers_of_block(terms)
    blocks: int = (count + 63) // 64
    for part in in_threads(number * blocks, number * blocks > 3):
        k: int = part // blocks
        b: int = part % blocks
        failed += expand_block(
            begin + k, p, 64 * b, count, K, nodes, terms, choice[2 + k], out[numbers * k + size * b :]
        )
    return failed


def kernels_of(count: int, K: Given, step: int, least: float, out: Written) -> None:
    """Kernels that are so many numbers apart, nan where there are no such kernels; zeros up to a multiple of 64."""
    for i in range(count):
        out[i] = K[step * i] if K[step * i] >= least else NAN
    for i in range(count, (count + 63) // 64 * 64):
        out[i] = 0.0


def without_values(rows: int, columns: int, out: Written, step: int) -> None:
    """A matrix of nan, which stays where memory lacks."""
    for i in range(rows):
        for j in range(columns):
            out[step * i + j] = NAN


def are_same(count: int, K1: Given, K2: Given) -> int:
    """1 for equal kernels, what is not a number at equal indices included; else 0."""
    different: int = 0
    for i in range(count):
        different += 0 if K1[i] == K2[i] or (K1[i] != K1[i] and K2[i] != K2[i]) else 1
    return 1 if different == 0 else 0


def columns_of_pairs(entries: int, K1: Given, K2: Given) -> int:
    """The number of columns, if pairs are those of a matrix row by row; 1 if they are not."""
    columns: int = 1
    while columns < entries and K1[columns] == K1[0]:
        columns += 1
    others: int = entries % columns
    for i in range(entries):
        others += 0 if K1[i] == K1[i - i % columns] and K2[i] == K2[i % columns] else 1
    return columns if others == 0 else 1


# ---- sums --------------------------------------------------------------------------------------------------------
def correlated(c: float, inverse1: float, inverse2: float) -> float:
    """A correlation from a covariance and the inverse roots of kernels, from -1 to 1."""
    ratio = c * inverse1 * inverse2
    ratio = 1.0 if ratio > 1.0 else ratio
    return -1.0 if ratio < -1.0 else ratio


def alike(rho: float, inverse1: float, inverse2: float, size: float, total: float) -> float:
    """The average of the square of a function for equal inputs, whose sum may lack terms; that sum else."""
    near = size if rho > NEXT else total
    return near if inverse1 == inverse2 else total


def largest_logarithm(rho: Given) -> float:
    """The logarithm of the largest absolute value of 64 numbers."""
    largest: Written = room(16)
    for j in range(16):
        largest[j] = NOTHING
    for k in range(0, 64, 16):
        for j in range(16):
            size = fabs(rho[k + j])
            largest[j] = size if size > largest[j] else largest[j]
    total = NOTHING
    for j in range(16):
        total = largest[j] if largest[j] > total else total
    return log(total)


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


def summed(evens: int, odds: int, first: Given, second: Given, rho: Given, out: Written) -> None:
    """The sums of 64 pairs.

    Args:
        evens: groups of four even terms.
        odds: groups of four odd terms.
        first: coefficients of the first input, which the pairs share.
        second: those of the second inputs.
        rho: correlations.
        out: receives the sums.
    """
    square: Written = room(64)
    even: Written = room(64)
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


def certain_sum(terms: int, rest1: float, rest2: float, rho: float, total: float) -> float:
    """A sum; no number where all terms leave more than 5e-13, from what they leave of each input."""
    size = fabs(rho)
    left = terms * log(size if size > NOTHING else NOTHING) + 0.5 * (rest1 + rest2)
    return NAN if left > LOST else total


def sums_of_block(
    step: Fixed,
    number: int,
    equal: int,
    p: Given,
    terms: int,
    one: Given,
    i: int,
    two: Given,
    width: int,
    K1: Given,
    K2: Given,
    C: Given,
    work: Written,
    out: Written,
) -> None:
    """The averages of up to 64 pairs of inputs.

    Args:
        step: 0 if all pairs have the same first input, 1 if each has its own.
        number: of the sum.
        equal: 1 if both functions are the same.
        p: the parameters.
        terms: how many.
        one: the part of the expansion of the first function for the block of the first inputs.
        i: the number of the first one there, 0 if each pair has its own.
        two: the part of the expansion of the second function for the second inputs.
        width: how many pairs.
        K1: kernels of the first inputs.
        K2: kernels of the second inputs.
        C: the covariances.
        work: room for 65*terms numbers, terms if the pairs share the first input.
        out: receives 64 averages.
    """
    rho: Written = room(64)
    groups: int = terms // 8
    left1: Given = one[64 * terms + i :]
    left2: Given = two[64 * terms :]
    tails1: Given = one[64 * terms + 192 :]
    tails2: Given = two[64 * terms + 192 :]
    for j in range(width):
        covariance = place_of_sum(number, K1[step * j], K2[j], C[j], p)
        rho[j] = correlated(covariance, left1[64 + step * j], left2[64 + j])
    for j in range(width, 64):
        rho[j] = 0.0
    logarithm = largest_logarithm(rho)
    evens: int = needed(groups, logarithm, tails1, tails2)
    odds: int = needed(groups, logarithm, tails1[groups + 1 :], tails2[groups + 1 :])
    used: int = 8 * (evens if evens > odds else odds)
    if step == 0:
        for n in range(used):
            work[n] = one[64 * n + i]
        summed(evens, odds, work, two, rho, out)
    else:
        both: Written = work[terms : 65 * terms]
        for n in range(used):
            work[n] = 1.0
        for k in range(64 * used):
            both[k] = one[k] * two[k]
        summed(evens, odds, work, both, rho, out)
    if terms * logarithm + 0.5 * (tails1[groups] + tails2[groups]) > LOST:
        for j in range(64):
            out[j] = certain_sum(terms, left1[step * j], left2[j], rho[j], out[j])
    for j in range(64 if equal == 1 else 0):
        out[j] = alike(rho[j], left1[64 + step * j], left2[64 + j], left1[128 + step * j], out[j])
