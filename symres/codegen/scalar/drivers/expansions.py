"""Averages of two variables as series in the correlation: the coefficients of all inputs, and the sums of many pairs.

An expansion of a function is one array. Inputs come in blocks of 64: first stand the coefficients of all blocks, then
what all terms leave of each input, the inverse roots of the kernels, <f**2>, the tails of each block, and the largest
tails of all blocks. Everything is double, whatever the type of the values.
"""

from __future__ import annotations

from math import sqrt

from ..library.choices import smaller
from ..library.hermite import judge, polynomials, probed, products, remainders, squares
from ..library.machine import INFINITY, NAN, Given, Written, in_threads, room
from ..library.series_sums import apart, chunk, equal_apart, equal_in_row, larger_tails
from .hooks import factor_block, factor_kernel


def rests_from(count: int, terms: int) -> int:
    """Where what all terms leave begins: behind the coefficients. Inverse roots and sizes follow, then tails."""
    return (count + 63) // 64 * 64 * terms


def inverses_from(count: int, terms: int) -> int:
    """Where the inverse roots of kernels begin."""
    return (count + 63) // 64 * (64 * terms + 64)


def numbers_of_expansion(count: int, terms: int) -> int:
    """How many numbers the expansion of a function takes."""
    tails: int = 2 * (terms // 8) + 2
    return (count + 63) // 64 * (64 * terms + 192 + tails) + tails


def root_of(number: int, K: float, p: Given) -> float:
    """The root of the variance of the argument of a function; nan where it is not a number."""
    kernel = factor_kernel(number, K, p)
    return sqrt(kernel) if kernel >= 0.0 else NAN


def tried(number: int, largest: float, p: Given, choice: Written, work: Written) -> float:
    """How many nodes and terms the input with the largest root of a kernel takes; a smaller root where there are none.

    Args:
        number: of the function.
        largest: the largest root; what is returned, -1 where not even constants have numbers.
        p: the parameters.
        choice: numbers of nodes and terms to begin with, 0, and what they may leave open; receives those that suffice.
        work: room for 2138176 numbers.
    """
    even: Written = work[0:1048576]
    odd: Written = work[1048576:2097152]
    probe: Written = work[2097152:2129920]
    one: Written = work[2129920:2134016]
    two: Written = work[2134016:2138112]
    roots: Written = work[2138112:2138176]
    terms = choice[1]
    root = largest
    searching: int = 1
    while searching == 1:
        for j in range(64):
            roots[j] = root
        while choice[2] == 0.0:
            nodes: int = int(choice[0])
            count: int = int(choice[1])
            factor_block(number, nodes, 13.0 / nodes, roots, p, even, odd)
            total = probed(count, nodes, 13.0 / nodes, even, odd, probe, one)
            factor_block(number, 2 * nodes, 6.5 / nodes, roots, p, even, odd)
            finer = probed(count, 2 * nodes, 6.5 / nodes, even, odd, probe, two)
            judge(total, finer, one, two, choice)
        if choice[2] == 1.0:
            searching = 0
        else:
            choice[1] = terms
            choice[2] = 0.0
            choice[3] = 1e-15
            searching = 1 if root > 1e-100 else 0
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
    work: Written = room(2138176)
    one: Written = room(4)
    choice[0] = 64.0
    choice[1] = 32.0
    for k in range(number):
        largest = 0.0
        for i in range(count):
            root = root_of(begin + k, K[i], p)
            largest = root if root > largest and root < INFINITY else largest
        one[0] = 64.0
        one[1] = 32.0
        one[2] = 0.0
        one[3] = 1e-15
        choice[2 + k] = tried(begin + k, largest, p, one, work)
        choice[0] = one[0] if one[0] > choice[0] else choice[0]
        choice[1] = one[1] if k == 0 or one[1] > choice[1] else choice[1]
    for k in range(number if number > 1 else 0):  # what suffices for one function must for the others
        one[0] = choice[0]
        one[1] = choice[1]
        one[2] = 0.0
        one[3] = 1e-15
        choice[2 + k] = tried(begin + k, choice[2 + k], p, one, work)
        choice[0] = one[0] if one[0] > choice[0] else choice[0]
    return failed


def expand_terms(
    number: int,
    p: Given,
    count: int,
    K: Given,
    limit: float,
    start: int,
    length: int,
    terms: int,
    nodes: int,
    table: Given,
    out: Written,
) -> int:
    """``length`` coefficients of a function for all inputs, from the term ``start`` on; with the last what is left."""
    failed: int = 0
    blocks: int = (count + 63) // 64
    tail: int = 2 * (terms // 8) + 2
    rests: int = rests_from(count, terms)
    inverses: int = rests + 64 * blocks
    sizes: int = inverses + 64 * blocks
    tails: int = sizes + 64 * blocks
    rows: Given = table[2 * nodes : (2 + length) * nodes]
    for b in in_threads(blocks, blocks > 3):
        work: Written = room(128 * nodes + 256)
        even: Written = work[0 : 64 * nodes]
        odd: Written = work[64 * nodes : 128 * nodes]
        left: Written = work[128 * nodes : 128 * nodes + 192]
        roots: Written = work[128 * nodes + 192 : 128 * nodes + 256]
        first: int = 64 * terms * b + 64 * start
        squared: Written = out[sizes + 64 * b : sizes + 64 * b + 64]
        for j in range(64):
            i: int = 64 * b + j
            root = root_of(number, K[i], p) if i < count else 0.0
            roots[j] = root if root <= limit else NAN
            out[inverses + i] = 0.0 if roots[j] == 0.0 else 1.0 / roots[j]
        factor_block(number, nodes, 13.0 / nodes, roots, p, even, odd)
        products(0, length, nodes, rows, even, out[first : first + 64 * length])
        products(1, length, nodes, rows, odd, out[first : first + 64 * length])
        if start == 0:
            squares(nodes, rows, even, odd, squared)
        if start + length == terms:
            of_block: Written = out[tails + tail * b : tails + tail * (b + 1)]
            lacking: Written = out[rests + 64 * b : rests + 64 * b + 64]
            remainders(terms, out[64 * terms * b : 64 * terms * (b + 1)], squared, of_block, lacking, left)
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
    most: int = 8 * (131072 // nodes)  # terms at a time: the table stays small
    step: int = smaller(most, terms)
    tail: int = 2 * (terms // 8) + 2
    numbers: int = numbers_of_expansion(count, terms)
    tails: int = rests_from(count, terms) + (count + 63) // 64 * 192
    table: Written = room((step + 2) * nodes)
    for start in range(0, terms, step):
        length: int = smaller(step, terms - start)
        polynomials(start, step, length, nodes, 13.0 / nodes, table)
        for k in range(number):
            part: Written = out[numbers * k : numbers * (k + 1)]
            failed += expand_terms(begin + k, p, count, K, choice[2 + k], start, length, terms, nodes, table, part)
    for k in range(number):
        top: Written = out[numbers * (k + 1) - tail : numbers * (k + 1)]
        for n in range(tail):
            top[n] = -INFINITY
        for b in range((count + 63) // 64):
            first: int = numbers * k + tails + tail * b
            larger_tails(out[first : first + tail], tail, top)
    return failed


def sums_of_row(
    width: int,
    i: int,
    left: int,
    equal: int,
    terms: int,
    count: int,
    one: Given,
    two: Given,
    line: Given,
    rho: Given,
    out: Written,
) -> None:
    """The averages of an input with others that stand one behind the other.

    Args:
        width: how many others.
        i: the number of the input.
        left: the number of the first of the others, a multiple of 64.
        equal: 1 if both functions are the same.
        terms: how many.
        count: how many inputs there are.
        one: the expansion of the first function.
        two: the expansion of the second function.
        line: the coefficients of the input.
        rho: correlations; behind the last one zeros, up to a multiple of 64.
        out: receives the averages, as many as there are correlations.
    """
    work: Written = room(128)
    length: int = 2 * (terms // 8) + 2
    rests: int = rests_from(count, terms)
    inverses: int = inverses_from(count, terms)
    sizes: int = inverses + inverses - rests
    tails: int = sizes + inverses - rests
    of_first: Given = one[tails + i // 64 * length : tails + (i // 64 + 1) * length]
    for at in range(0, width, 64):
        begin: int = left + at
        block: int = begin // 64
        second: Given = two[64 * terms * block : 64 * terms * (block + 1)]
        of_second: Given = two[tails + length * block : tails + length * (block + 1)]
        lacking: Given = two[rests + begin : rests + begin + 64]
        part: Given = rho[at : at + 64]
        sums: Written = out[at : at + 64]
        chunk(terms, line, of_first, one[rests + i], second, of_second, lacking, part, work, sums)
        if equal == 1:
            near: Given = two[inverses + begin : inverses + begin + 64]
            equal_in_row(part, one[inverses + i], near, one[sizes + i], sums)


def sums_apart(
    equal: int, terms: int, count: int, one: Given, two: Given, indices: Given, rho: Given, work: Written, out: Written
) -> None:
    """The averages of 64 pairs of inputs.

    Args:
        equal: 1 if both functions are the same.
        terms: how many.
        count: how many inputs there are.
        one: the expansion of the first function.
        two: that of the second function.
        indices: the numbers of the first inputs of the pairs, then of the second ones.
        rho: correlations.
        work: room for 128 + 65*terms numbers.
        out: receives the averages.
    """
    rests: int = rests_from(count, terms)
    inverses: int = inverses_from(count, terms)
    sizes: int = inverses + inverses - rests
    end: int = numbers_of_expansion(count, terms)
    of_first: Given = one[end - 2 * (terms // 8) - 2 : end]
    of_second: Given = two[end - 2 * (terms // 8) - 2 : end]
    lacking1: Given = one[rests:inverses]
    lacking2: Given = two[rests:inverses]
    apart(terms, one, of_first, lacking1, two, of_second, lacking2, indices, rho, work, out)
    if equal == 1:
        equal_apart(rho, one[inverses:sizes], one[sizes : sizes + inverses - rests], indices, out)


def are_same(count1: int, K1: Given, count2: int, K2: Given) -> int:
    """1 for equal kernels, what is not a number at equal indices included; else 0."""
    different: int = 0 if count1 == count2 else 1
    for i in range(count1 if different == 0 else 0):
        different += 0 if K1[i] == K2[i] or (K1[i] != K1[i] and K2[i] != K2[i]) else 1
    return 1 if different == 0 else 0


def sort(count: int, numbers: Written) -> None:
    """Numbers in order: those that are far from each other first (Shell)."""
    gap: int = count // 2
    while gap > 0:
        for k in range(gap, count):
            number = numbers[k]
            i: int = k
            while i >= gap and numbers[i - gap] > number:
                numbers[i] = numbers[i - gap]
                i = i - gap
            numbers[i] = number
        gap = 1 if gap == 2 else 5 * gap // 11


def distinct(count: int, K: Written, kinds: Written, indices: Written) -> int:
    """Each of some kernels once, in order.

    Args:
        count: how many kernels there are.
        K: the kernels; what is not a number becomes infinity.
        kinds: receives the different ones.
        indices: receives the number of each among them.

    Returns:
        how many different ones there are.
    """
    for i in range(count):
        K[i] = K[i] if K[i] == K[i] else INFINITY
        kinds[i] = K[i]
    sort(count, kinds)
    different: int = 0
    for i in range(count):
        if i == 0 or kinds[i] != kinds[different - 1]:
            kinds[different] = kinds[i]
            different += 1
    for i in range(count):
        low: int = 0
        high: int = different - 1
        while low < high:
            middle: int = (low + high) // 2
            if kinds[middle] < K[i]:
                low = middle + 1
            else:
                high = middle
        indices[i] = low
    return different


def indices_of_pairs(width: int, first: Given, second: Given, indices: Written) -> None:
    """The numbers of the inputs of up to 64 pairs: those of the first ones, then of the second ones; 0 for no pair."""
    for j in range(64):
        indices[j] = first[j] if j < width else 0.0
        indices[64 + j] = second[j] if j < width else 0.0
