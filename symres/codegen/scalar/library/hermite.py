"""Averages of two variables as series in the correlation: the coefficients of inputs.

<f(z1) g(z2)> = sum_n a_n(K1) b_n(K2) rho**n with a_n(K) = <f(sqrt(K) x) h_n(x)> and normalised Hermite polynomials
h_n. What terms from the n-th on add is at most |rho|**n sqrt(r_f r_g) with r = <f**2> - sum_{m<n} a_m**2 (Bessel), so
that the error of each sum is known when it is computed.

Averages are sums over nodes at equal distances, whose error falls faster than any power of the distance. Inputs come in
blocks of 64, one behind the other in memory. Functions come as f(x) + f(-x) and f(x) - f(-x), of which even and odd
polynomials see one each. Everything is double here, whatever the type of the values.

An expansion is an array with a part for each block: the coefficients of its inputs term by term, what all terms leave
of each, the inverse roots of the variances, <f**2> and the tails of the block, of which ``remainders`` writes the
second and the last.
"""

from __future__ import annotations

from math import log, sqrt

from .exponentials import exp
from .machine import Given, Written, factor_block, fma, inlined, room

REACH = 13.0  # standard deviations behind which nothing is left of the normal law times a polynomial
HIDDEN = 1e-15  # of <f**2>: rounding hides what is less
NOTHING = 1e-300


def polynomials(begin: int, nodes: int, step: float, table: Written) -> None:
    """Four normalised Hermite polynomials times weights, a row for each, behind two rows with those before them.

    The node at 0 counts half, as functions are taken at x and at -x.

    Args:
        begin: the first polynomial; the last ones of the call before stand in the table, if it is not 0.
        nodes: the number of columns.
        step: from node to node.
        table: six rows.
    """
    for q in range(2 * nodes):
        table[q] = table[4 * nodes + q] if begin > 0 else 0.0
    for n in range(begin, begin + 4):
        up = 1.0 / sqrt(n) if n > 0 else 1.0
        down = sqrt(n - 1.0) if n > 0 else 0.0
        place: int = (n - begin) * nodes
        before: Given = table[place : place + nodes]
        here: Given = table[place + nodes : place + 2 * nodes]
        row: Written = table[place + 2 * nodes : place + 3 * nodes]
        if n == 0:
            for q in range(nodes):
                x = step * q
                row[q] = step * 0.3989422804014327 * exp(-0.5 * x * x)
            row[0] = 0.5 * row[0]
        else:
            for q in range(nodes):
                row[q] = (step * q * here[q] - down * before[q]) * up


def products(nodes: int, table: Given, values: Given, coefficients: Written) -> None:
    """The coefficients of two polynomials of a parity for the inputs of a block, from values of the same parity.

    Args:
        nodes: how many.
        table: the rows of the polynomials are its first and third one.
        values: node by node, for each input of the block.
        coefficients: receives those of both, as its first and third row of 64.
    """
    one: Written = coefficients[0:64]
    two: Written = coefficients[128:192]
    for j in range(64):
        one[j] = 0.0
        two[j] = 0.0
    for q in range(0, nodes, 4):
        v0: Given = values[64 * q : 64 * q + 64]
        v1: Given = values[64 * q + 64 : 64 * q + 128]
        v2: Given = values[64 * q + 128 : 64 * q + 192]
        v3: Given = values[64 * q + 192 : 64 * q + 256]
        a0 = table[q]
        a1 = table[q + 1]
        a2 = table[q + 2]
        a3 = table[q + 3]
        b0 = table[2 * nodes + q]
        b1 = table[2 * nodes + q + 1]
        b2 = table[2 * nodes + q + 2]
        b3 = table[2 * nodes + q + 3]
        for j in range(64):
            one[j] = fma(a3, v3[j], fma(a2, v2[j], fma(a1, v1[j], fma(a0, v0[j], one[j]))))
            two[j] = fma(b3, v3[j], fma(b2, v2[j], fma(b1, v1[j], fma(b0, v0[j], two[j]))))


def remainders(terms: int, coefficients: Given, sizes: Given, tails: Written, rests: Written) -> None:
    """What the squares of coefficients leave of <f**2>, for the inputs of a block.

    Args:
        terms: how many there are, a multiple of 8.
        coefficients: those of all inputs for each term.
        sizes: <f**2>.
        tails: receives, for every eighth term and behind the last, what is left from there on by even terms, then by
            odd ones: the logarithm of its share of <f**2>, the largest of the block.
        rests: receives that behind the last term, for each input; of what is not a number, what never suffices.
    """
    left: Written = room(64)
    total: Written = room(64)
    groups: int = terms // 8
    for j in range(64):
        left[j] = sizes[j]
    for n in range(terms):
        row: Given = coefficients[64 * n : 64 * n + 64]
        for j in range(64):
            left[j] = left[j] - row[j] * row[j]
    for j in range(64):
        left[j] = HIDDEN * sizes[j] if left[j] < HIDDEN * sizes[j] else left[j]
        rests[j] = log((left[j] if left[j] > NOTHING else NOTHING) / (sizes[j] if sizes[j] > NOTHING else NOTHING))
    for parity in range(2):
        for j in range(64):
            total[j] = left[j]
        for k in range(groups, -1, -1):
            largest = NOTHING
            for j in range(64):
                share = total[j] / (sizes[j] if sizes[j] > NOTHING else NOTHING)
                largest = share if share > largest else largest  # what is not a number does not count
            tails[parity * (groups + 1) + k] = log(largest)
            for n in range(8 * k - 8 + parity, 8 * k if k > 0 else -8, 2):
                term: Given = coefficients[64 * n : 64 * n + 64]
                for j in range(64):
                    total[j] = fma(term[j], term[j], total[j])


@inlined
def numbers_of_block(terms: int) -> int:
    """How many numbers the expansion of a block takes, with room for its tails; a multiple of 8."""
    return 65 * terms + 192


def expand_block(number: int, nodes: int, terms: int, roots: Given, p: Given, out: Written) -> int:
    """The expansion of a function for the inputs of a block; 1 if memory lacks, else 0.

    Args:
        number: of the function.
        nodes: how many, a multiple of 4.
        terms: how many, a multiple of 8.
        roots: of the variances of its argument; nan gives coefficients that are not numbers.
        p: the parameters.
        out: receives the expansion.
    """
    failed: int = 0
    step = REACH / nodes
    work: Written = room(134 * nodes)
    even: Written = work[0 : 64 * nodes]
    odd: Written = work[64 * nodes : 128 * nodes]
    table: Written = work[128 * nodes :]
    inverses: Written = out[64 * terms + 64 : 64 * terms + 128]
    squares: Written = out[64 * terms + 128 : 64 * terms + 192]
    factor_block(number, nodes, step, roots, p, even, odd)
    for j in range(64):
        inverses[j] = 0.0 if roots[j] == 0.0 else 1.0 / roots[j]
        squares[j] = 0.0
    for n in range(0, terms, 4):
        polynomials(n, nodes, step, table)
        products(nodes, table[2 * nodes :], even, out[64 * n :])
        products(nodes, table[3 * nodes :], odd, out[64 * n + 64 :])
        for q in range(nodes if n == 0 else 0):
            weight = 0.5 * table[2 * nodes + q]
            above: Given = even[64 * q : 64 * q + 64]
            below: Given = odd[64 * q : 64 * q + 64]
            for j in range(64):
                squares[j] = fma(weight, above[j] * above[j] + below[j] * below[j], squares[j])
    remainders(terms, out, squares, out[64 * terms + 192 :], out[64 * terms : 64 * terms + 64])
    return failed
