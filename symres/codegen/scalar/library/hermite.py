"""Averages of two variables as series in the correlation: the coefficients of inputs.

<f(z1) g(z2)> = sum_n a_n(K1) b_n(K2) rho**n with a_n(K) = <f(sqrt(K) x) h_n(x)> and normalised Hermite polynomials
h_n. What terms from the n-th on add is at most |rho|**n sqrt(r_f r_g) with r = <f**2> - sum_{m<n} a_m**2 (Bessel), so
that the error of each sum is known when it is computed.

Averages are sums over nodes at equal distances, whose error falls faster than any power of the distance. Inputs come in
blocks of 64, one behind the other in memory. Functions come as f(x) + f(-x) and f(x) - f(-x), of which even and odd
polynomials see one each. Everything is double here, whatever the type of the values.
"""

from __future__ import annotations

from math import fabs, log, sqrt

from .exponentials import exp
from .machine import Given, Written, fma, room

REACH = 13.0  # standard deviations behind which nothing is left of the normal law times a polynomial
NODES = 64.0  # in the first attempt
MOST_NODES = 8192.0
TERMS = 32.0  # in the first attempt
MOST_TERMS = 4096.0
AGREED = 1e-15  # what coefficients may differ by, of the root of <f**2>, between one distance of nodes and its half
NOISE = 1e-6  # the most that they may where no distance of nodes brings them closer: what functions lose to rounding
ROOM = 32.0  # how much more that may be with few nodes than with many, whose sums it averages out of
LEFT = 4e-15  # of <f**2>: what terms need not give
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
    low: Given = table[0:nodes]
    high: Given = table[2 * nodes : 3 * nodes]
    for q in range(0, nodes, 4):
        v0: Given = values[64 * q : 64 * q + 64]
        v1: Given = values[64 * q + 64 : 64 * q + 128]
        v2: Given = values[64 * q + 128 : 64 * q + 192]
        v3: Given = values[64 * q + 192 : 64 * q + 256]
        a0 = low[q]
        a1 = low[q + 1]
        a2 = low[q + 2]
        a3 = low[q + 3]
        b0 = high[q]
        b1 = high[q + 1]
        b2 = high[q + 2]
        b3 = high[q + 3]
        for j in range(64):
            one[j] = fma(a3, v3[j], fma(a2, v2[j], fma(a1, v1[j], fma(a0, v0[j], one[j]))))
            two[j] = fma(b3, v3[j], fma(b2, v2[j], fma(b1, v1[j], fma(b0, v0[j], two[j]))))


def squares(nodes: int, weights: Given, even: Given, odd: Given, total: Written) -> None:
    """<f**2> of the inputs of a block, from the values of ``products`` of both parities."""
    for j in range(64):
        total[j] = 0.0
    for q in range(nodes):
        weight = 0.5 * weights[q]
        above: Given = even[64 * q : 64 * q + 64]
        below: Given = odd[64 * q : 64 * q + 64]
        for j in range(64):
            total[j] = fma(weight, above[j] * above[j] + below[j] * below[j], total[j])


def largest_share(part: Given, total: Given) -> float:
    """The logarithm of the largest share; what is not a number does not count."""
    largest = NOTHING
    for j in range(64):
        ratio = part[j] / (total[j] if total[j] > NOTHING else NOTHING)
        largest = ratio if ratio > largest else largest
    return log(largest)


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
    other: Written = room(64)
    for j in range(64):
        left[j] = sizes[j]
    for n in range(terms):
        row: Given = coefficients[64 * n : 64 * n + 64]
        for j in range(64):
            left[j] = left[j] - row[j] * row[j]
    for j in range(64):
        left[j] = HIDDEN * sizes[j] if left[j] < HIDDEN * sizes[j] else left[j]
        other[j] = left[j]
        rests[j] = log((left[j] if left[j] > NOTHING else NOTHING) / (sizes[j] if sizes[j] > NOTHING else NOTHING))
    groups: int = terms // 8
    tails[groups] = largest_share(left, sizes)
    tails[2 * groups + 1] = tails[groups]
    for k in range(groups - 1, -1, -1):
        for m in range(8 * k, 8 * k + 8, 2):
            first: Given = coefficients[64 * m : 64 * m + 64]
            second: Given = coefficients[64 * m + 64 : 64 * m + 128]
            for j in range(64):
                left[j] = fma(first[j], first[j], left[j])
                other[j] = fma(second[j], second[j], other[j])
        tails[k] = largest_share(left, sizes)
        tails[groups + 1 + k] = largest_share(other, sizes)


def compensated(nodes: int, weights: Given, values: Given) -> float:
    """The sum of products that keeps what rounding loses, in eight sums that processors do side by side."""
    sums: Written = room(8)
    lost: Written = room(8)
    for k in range(8):
        sums[k] = 0.0
        lost[k] = 0.0
    for q in range(0, nodes, 8):
        for k in range(8):
            part = fma(weights[q + k], values[q + k], -lost[k])
            more = sums[k] + part
            lost[k] = (more - sums[k]) - part
            sums[k] = more
    total = 0.0
    for k in range(8):
        total += sums[k]
    return total


def probed(terms: int, nodes: int, among: int, even: Given, odd: Given, work: Written, coefficients: Written) -> float:
    """<f**2> and the coefficients of the first input of a block.

    Args:
        terms: how many.
        nodes: how many.
        among: how many have values: as many, or a multiple of which others are left out.
        even: f(x) + f(-x), node by node, for each input of the block.
        odd: the same of f(x) - f(-x).
        work: room for four numbers for each node.
        coefficients: receives them.
    """
    step = REACH / nodes
    apart: int = 64 * (among // nodes)
    here: Written = work[0:nodes]
    before: Written = work[nodes : 2 * nodes]
    above: Written = work[2 * nodes : 3 * nodes]
    below: Written = work[3 * nodes : 4 * nodes]
    for q in range(nodes):
        x = step * q
        here[q] = step * 0.3989422804014327 * exp(-0.5 * x * x)
        above[q] = even[apart * q]
        below[q] = odd[apart * q]
        before[q] = 0.5 * (above[q] * above[q] + below[q] * below[q])
    here[0] = 0.5 * here[0]
    total = compensated(nodes, here, before)
    for q in range(nodes):
        before[q] = 0.0
    for n in range(terms):
        up = 1.0 / sqrt(n + 1.0)
        down = sqrt(n)
        coefficients[n] = compensated(nodes, here, work[(2 + n % 2) * nodes :])
        for q in range(nodes):
            following = (step * q * here[q] - down * before[q]) * up
            before[q] = here[q]
            here[q] = following
    return total


def judge(total: float, finer: float, one: Given, two: Given, choice: Written) -> None:
    """More nodes where their number changes coefficients, more terms where they leave too much, or an end.

    Args:
        total: <f**2> with the nodes of the choice.
        finer: the same with twice as many.
        one: the coefficients with the nodes of the choice.
        two: the same with twice as many.
        choice: numbers of nodes and of terms, the state: 0 while they are sought, 1 when they are found, 2 where there
            are none; and what coefficients may differ by, of the root of <f**2>. That becomes more, and the search
            begins anew, where the most nodes show that the function itself has no more digits.
    """
    terms: int = int(choice[1])
    apart = 0.0
    rest = finer
    for n in range(terms):
        change = fabs(one[n] - two[n])
        apart = apart if change <= apart else change
        rest -= two[n] * two[n]
    if apart <= choice[3] * sqrt(finer) and fabs(total - finer) <= choice[3] * finer:
        if rest <= LEFT * finer:
            rest = finer
            enough: int = 0
            while enough < terms and (rest > LEFT * finer or enough % 8 != 0):
                rest -= two[enough] * two[enough]
                enough += 1
            choice[1] = 8.0 if enough < 8 else enough
            choice[2] = 1.0
        elif 2 * terms > MOST_TERMS:
            choice[2] = 1.0
        else:
            choice[1] = 2.0 * terms
    elif choice[0] >= MOST_NODES:
        noise = fabs(total - finer) / sqrt(finer) if finer > 0.0 else 0.0
        noise = ROOM * (apart if apart > noise else noise)
        if choice[3] == AGREED and noise <= ROOM * NOISE * sqrt(finer):
            choice[0] = NODES
            choice[3] = noise / sqrt(finer)
        else:
            choice[2] = 2.0
    else:
        choice[0] = 2.0 * choice[0]
