"""Averages of two variables as series in the correlation: how many nodes and terms, and the sums of 64 pairs."""

from __future__ import annotations

from math import fabs, log, sqrt

from .hermite import HIDDEN, NOTHING, expand_block, numbers_of_block
from .machine import INFINITY, NAN, Given, Written, factor_kernel, fma, in_threads, inlined, place_of_sum, room

NODES = 64.0  # in the first attempt
MOST_NODES = 8192.0
TERMS = 32.0  # in the first attempt
MOST_TERMS = 4096.0
HALF = 1e-8  # the largest change of coefficients from half of the nodes to those with twice as many digits
WHOLE = 4e-15  # the same where half of the nodes suffice
NOISE = 1e-6  # the same of the most nodes: functions themselves may lose digits, which many nodes average out
NEXT = 0.999999999999999  # rounding makes correlations of equal inputs no smaller
LEFT = 4e-15  # what terms need not give, of sqrt(<f**2> <g**2>)
CUT = -33.152  # its logarithm
LOST = -28.324  # the logarithm of 5e-13: what an entry may lack of that


# ---- expansions --------------------------------------------------------------------------------------------------
@inlined
def numbers_of_expansion(count: int, terms: int) -> int:
    """How many numbers the expansion of a function takes at so many inputs."""
    return (count + 63) // 64 * numbers_of_block(terms)


def changes(terms: int, coarse: Given, fine: Given, out: Written) -> None:
    """How much coefficients and <f**2> of the inputs of a block change with the nodes, of the root of <f**2> and of it.

    Args:
        terms: how many.
        coarse: the expansion of the block with some nodes.
        fine: that with more of them.
        out: receives the largest change for each input; not a number where functions have none.
    """
    for j in range(64):
        out[j] = 0.0
    for n in range(terms):
        for j in range(64):
            apart = fabs(coarse[64 * n + j] - fine[64 * n + j])
            out[j] = out[j] if apart <= out[j] else apart
    for j in range(64):
        square = fine[64 * terms + 128 + j]
        root = sqrt(square) if square > NOTHING else 1.0
        apart = fabs(coarse[64 * terms + 128 + j] - square) / root
        out[j] = (out[j] if apart <= out[j] else apart) / root


def choose(begin: int, number: int, p: Given, count: int, K: Given, choice: Written) -> int:
    """How many nodes and terms all functions take, and up to which root of a variance they have numbers.

    A block of the largest root and its halves is expanded with some nodes and with half of them: more nodes where that
    changes the largest one, more terms where they leave too much of it. Where the most nodes do not suffice, the first
    root for which they do takes the place of the largest; -1 where not even constants have numbers.

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
    nodes: int = int(NODES)
    terms: int = int(TERMS)
    roots: Written = room(65)
    change: Written = room(64)
    choice[0] = 8.0
    choice[1] = 8.0
    for k in range(number):
        choice[2 + k] = 0.0
        for i in range(count):
            root = sqrt(factor_kernel(begin + k, K[i], p))
            choice[2 + k] = root if root > choice[2 + k] and root < INFINITY else choice[2 + k]
    for k in range(2 * number if number > 1 else 1):  # twice, as what suffices for one function must for the others
        seeking = 1.0
        while seeking == 1.0 and failed == 0:
            root = choice[2 + k % number]
            for j in range(65):
                roots[j] = root
                root = 0.5 * root
            size: int = numbers_of_block(terms)
            work: Written = room(2 * size)
            coarse: Written = work[0:size]
            fine: Written = work[size : 2 * size]
            failed += expand_block(begin + k % number, nodes // 2, terms, roots, p, coarse)
            failed += expand_block(begin + k % number, nodes, terms, roots, p, fine)
            changes(terms, coarse, fine, change)
            settled: int = 64
            for j in range(63, -1, -1):
                settled = j if change[j] <= (HALF if nodes < MOST_NODES else NOISE) else settled
            if settled > 0 and nodes < MOST_NODES:
                nodes = 2 * nodes
            elif settled > 0:
                seeking = 1.0 if roots[settled] > 1e-100 else 0.0
                choice[2 + k % number] = roots[settled] if roots[settled] > 1e-100 else -1.0
            elif fine[64 * terms] > CUT and terms < MOST_TERMS:
                terms = 2 * terms
            else:
                square = fine[64 * terms + 128]
                left = HIDDEN * square
                enough: int = terms
                for n in range(terms - 1, 7, -1):
                    left += fine[64 * n] * fine[64 * n]
                    enough = n if n % 8 == 0 and left <= LEFT * square else enough
                least = 1.0 * (nodes // 2 if change[0] <= WHOLE else nodes)
                choice[0] = least if least > choice[0] else choice[0]
                choice[1] = enough if enough > choice[1] else choice[1]
                seeking = 0.0
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
    size: int = numbers_of_block(terms)
    blocks: int = (count + 63) // 64
    for part in in_threads(number * blocks, number * blocks > 3):
        k: int = part // blocks
        at: int = 64 * (part % blocks)
        roots: Written = room(64)
        for j in range(64):
            root = sqrt(factor_kernel(begin + k, K[at + j], p)) if at + j < count else 0.0
            roots[j] = root if root <= choice[2 + k] else NAN
        failed += expand_block(begin + k, nodes, terms, roots, p, out[size * part :])
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


def horner(begin: int, first: Given, second: Given, square: Given, out: Written) -> None:
    """The sums of the terms of a parity for 64 pairs, over powers of the squared correlation.

    Args:
        begin: the last term, which is the last one of a group of four of its parity; less than 0 if there is none.
        first: coefficients of the first input, which the pairs share.
        second: those of the second inputs.
        square: of the correlations.
        out: receives the sums.
    """
    for j in range(64):
        out[j] = 0.0
    for n in range(begin, 0, -8):
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


def sums_of_block(
    paired: int,
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
        paired: 0 if all pairs have the same first input, 1 if each has its own.
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
        out: receives 64 averages; not a number where all terms leave more than 5e-13.
    """
    rho: Written = room(64)
    square: Written = room(64)
    even: Written = room(64)
    groups: int = terms // 8
    rests1: Given = one[64 * terms + i :]
    rests2: Given = two[64 * terms :]
    tails1: Given = one[64 * terms + 192 :]
    tails2: Given = two[64 * terms + 192 :]
    for j in range(64):
        rho[j] = 0.0
    if paired == 1:
        for j in range(width):
            rho[j] = place_of_sum(number, K1[j], K2[j], C[j], p) * rests1[64 + j] * rests2[64 + j]
    else:
        for j in range(width):
            rho[j] = place_of_sum(number, K1[0], K2[j], C[j], p) * rests1[64] * rests2[64 + j]
    for j in range(64):
        below = 1.0 if rho[j] > 1.0 else rho[j]
        rho[j] = -1.0 if below < -1.0 else below
        square[j] = rho[j] * rho[j]
    logarithm = largest_logarithm(rho)
    evens: int = needed(groups, logarithm, tails1, tails2)
    odds: int = needed(groups, logarithm, tails1[groups + 1 :], tails2[groups + 1 :])
    used: int = 8 * (evens if evens > odds else odds)
    both: Written = work[terms:]
    for n in range(used):
        work[n] = 1.0 if paired == 1 else one[64 * n + i]
    for k in range(64 * used if paired == 1 else 0):
        both[k] = one[k] * two[k]
    second: Given = both if paired == 1 else two
    horner(8 * evens - 2, work, second, square, even)
    horner(8 * odds - 1, work, second, square, out)
    for j in range(64):
        out[j] = fma(out[j], rho[j], even[j])
    if terms * logarithm + 0.5 * (tails1[groups] + tails2[groups]) > LOST:
        for j in range(64):
            size = fabs(rho[j])
            left = terms * log(size if size > NOTHING else NOTHING) + 0.5 * (rests1[paired * j] + rests2[j])
            out[j] = NAN if left > LOST else out[j]
    if equal == 1 and logarithm >= log(NEXT):  # equal inputs have <f**2>, of which the sum may lack terms
        for j in range(64):
            same = 1.0 if rests1[64 + paired * j] == rests2[64 + j] else 0.0
            out[j] = rests1[128 + paired * j] if same == 1.0 and rho[j] > NEXT else out[j]
