"""The overlap of two softmax vectors with Gaussian scores, as in arrays/runtime/softmax_sums.py, entry by entry.

Averages over scores are tables of moments: of ``u**m exp(-u)``, of which all derivatives of ``exp(-u)`` in log(u) are
made.
"""

from __future__ import annotations

from math import cos, fabs, log, log1p, pow, sqrt

from .double_precision import ROUNDING
from .exponentials import exp, expm1
from .machine import NAN, Given, Written, room

STRIP = 1.45  # how far from the real axis integrands are used: exp(-exp(x)) is bounded up to pi/2
TAYLOR_TERMS = 16  # of Taylor series of averages over scores
MOST_SUMMED = 1024  # of a sum over x, and over scores


def widest_step(scale: float, lost: float) -> float:
    """The widest step over a standard normal variable that scores contain so many times; exp(-lost) is missed."""
    shift = STRIP / (scale if scale > 0.19 else 0.19)
    return 6.283185307179586 * shift / (lost + 0.5 * shift * shift)


def steps_to(length: float, step: float) -> int:
    """How many steps there are up to a length."""
    return 1 + int(length / step)


def over_factorials(i: int, j: int, n: int) -> float:
    """What a derivative of P in x and y is multiplied with to be a coefficient of its series in S1, S2 and k."""
    value = 1.0
    for m in range(i):
        value = value * 0.5 / (m + 1.0)
    for m in range(j):
        value = value * 0.5 / (m + 1.0)
    for m in range(n):
        value = value / (m + 1.0)
    return value


def moments_of_scores(
    most: int, count: int, side: int, scale: float, step: float, places: Given, table: Written
) -> None:
    """The averages of ``u**m exp(-u)`` over a normal variable, ``log(u) = x + scale*eta``; last, those of 1 - exp(-u).

    Args:
        most: the largest m.
        count: of places.
        side: the number of nodes on each side of 0.
        scale: what the variable is multiplied with.
        step: from node to node.
        places: x.
        table: a row for each m, and the last one; with room for two more.
    """
    total = 0.0
    for n in range((most + 2) * count):
        table[n] = 0.0
    last: Written = table[(most + 1) * count :]
    sizes: Written = table[(most + 2) * count :]
    parts: Written = table[(most + 3) * count :]
    for q in range(-side, side + 1):
        node = step * q
        mass = exp(-0.5 * node * node)
        total = total + mass
        for n in range(count):
            x = places[n] + scale * node
            size = exp(6.6 if x > 6.6 else x)
            sizes[n] = size
            parts[n] = mass * exp(-size)
            last[n] = last[n] - mass * expm1(-size)
        for m in range(most + 1):
            row: Written = table[m * count :]
            for n in range(count):
                row[n] = row[n] + parts[n]
                parts[n] = parts[n] * sizes[n]
    for n in range((most + 2) * count):
        table[n] = table[n] / total


def polynomials_of_exp(most: int, out: Written) -> None:
    """The derivatives of exp(-exp(w)) over it as polynomials in exp(w): a row of most + 1 coefficients for each."""
    width: int = most + 1
    for n in range(width * width):
        out[n] = 0.0
    out[0] = 1.0
    for p in range(1, width):
        for m in range(1, p + 1):
            out[p * width + m] = m * out[(p - 1) * width + m] - out[(p - 1) * width + m - 1]


def derivatives_of_moments(most: int, count: int, rows: Written, table: Written) -> None:
    """The derivatives of averages of exp(-exp(x)) in x in the place of moments; rows receives their coefficients."""
    polynomials_of_exp(most, rows)
    for p in range(most, 0, -1):
        row: Written = table[p * count :]
        for n in range(count):
            row[n] = rows[p * (most + 1) + p] * row[n]
        for m in range(1, p):
            c = rows[p * (most + 1) + m]
            moment: Given = table[m * count :]
            for n in range(count):
                row[n] = row[n] + c * moment[n]


def product_series(
    n1: int, n2: int, nk: int, T: float, less: float, known: Given, scales: Given, powers: Written
) -> float:
    """A coefficient of ``P_xy*P**(T-1)`` as a series in S1, S2 and k.

    Args:
        n1: its power of S1.
        n2: that of S2.
        nk: that of k.
        T: the number of keys.
        less: 1 - P.
        known: the coefficients of P, then those of P_xy, without factors.
        scales: these factors.
        powers: receives the coefficients of ``P**(T-1)``.
    """
    count: int = (n1 + 1) * (n2 + 1) * (nk + 1)
    logarithm = log1p(-(less if less < 1.0 - 1e-16 else 1.0 - 1e-16))
    inverse = exp(-logarithm)
    total = 0.0
    for a in range(count):
        i: int = a // ((n2 + 1) * (nk + 1))
        j: int = a // (nk + 1) % (n2 + 1)
        m: int = a % (nk + 1)
        value = exp((T - 1.0) * logarithm) if a == 0 else 0.0
        for b in range(1, a + 1):
            di: int = b // ((n2 + 1) * (nk + 1))
            dj: int = b // (nk + 1) % (n2 + 1)
            dm: int = b % (nk + 1)
            if di <= i and dj <= j and dm <= m:
                part = di / (i + 0.0) if i > 0 else dj / (j + 0.0) if j > 0 else dm / (m + 0.0)
                factor = ((T - 1.0) * part - (1.0 - part)) * inverse * scales[b]
                value = value + factor * known[b] * powers[a - b]
        powers[a] = value
        total = total + scales[count - 1 - a] * known[2 * count - 1 - a] * value
    return total


def overlap_of_equal_scores(
    n1: int, n2: int, nk: int, T: float, nodes: int, half: int, first: float, x: float, scale: float, step: float
) -> float:
    """The same of equal scores: exp(x) and exp(y) are shares of a number, in which the integrand is a polynomial.

    Args:
        n1: the order of the derivative in S1.
        n2: that in S2.
        nk: that in k.
        T: the number of keys.
        nodes: of the logarithm of the number.
        half: nodes of scores on each side of 0.
        first: the smallest logarithm.
        x: from one to the next.
        scale: the root of the variance of scores.
        step: from one node of scores to the next, over it.
    """
    value = NAN
    count: int = (n1 + 1) * (n2 + 1) * (nk + 1)
    order: int = n1 + n2 + nk
    most: int = 2 * order + 2
    width: int = most + 1
    places: Written = room(nodes)
    table: Written = room((most + 4) * nodes)
    rows: Written = room(width * width)
    work: Written = room(4 * count)
    known: Written = work[0 : 2 * count]
    scales: Written = work[2 * count : 3 * count]
    for n in range(nodes):
        places[n] = first + x * n
    moments_of_scores(most, nodes, half, scale, step, places, table)
    polynomials_of_exp(most, rows)
    fill_scales(n1, n2, nk, scales)
    value = 0.0
    for number in range(2 * order + 1):
        angle = 3.141592653589793 * (number + 0.5) / (2.0 * order + 1.0)  # Fejer's rule
        weight = 1.0
        for wave in range(1, order + 1):
            weight = weight - 2.0 * cos(2.0 * wave * angle) / (4.0 * wave * wave - 1.0)
        share = 0.5 + 0.5 * cos(angle)
        weight = weight / ((2.0 * order + 1.0) * share * (1.0 - share))
        for n in range(nodes):
            for a in range(2 * count):
                more: int = a // count
                m: int = a % count % (nk + 1)
                p: int = 2 * (a % count // ((n2 + 1) * (nk + 1))) + m + more
                q: int = 2 * (a % count // (nk + 1) % (n2 + 1)) + m + more
                total = 0.0
                left = 1.0
                for c in range(p + 1):
                    right = left
                    for d in range(q + 1):
                        total = total + rows[p * width + c] * rows[q * width + d] * right * table[(c + d) * nodes + n]
                        right = right * (1.0 - share)
                    left = left * share
                known[a] = total
            less = table[(most + 1) * nodes + n]
            value = value + weight * product_series(n1, n2, nk, T, less, known, scales, work[3 * count :])
    return x * value


def fill_scales(n1: int, n2: int, nk: int, scales: Written) -> None:
    """The factors of the derivatives of P that are its coefficients."""
    for a in range((n1 + 1) * (n2 + 1) * (nk + 1)):
        scales[a] = over_factorials(a // ((n2 + 1) * (nk + 1)), a // (nk + 1) % (n2 + 1), a % (nk + 1))


def derivatives_of_side(most: int, nodes: int, half: int, turn: float, side: Given, out: Written) -> int:
    """Averages over eta of derivatives of ``exp(-exp(x + a*xi + b*eta))``, node by node of xi, and of 1 less it.

    Args:
        most: the largest order.
        nodes: of x.
        half: of xi, on each side of 0.
        turn: 1, or -1 where a is negative.
        side: what ``overlap_sums`` says of x.
        out: for each order, and at the end for 1 less the average, a row for each xi.

    Returns:
        1 if memory lacks, else 0.
    """
    first = side[0]
    x = side[1]
    of_xi = side[2]
    stride: int = int(side[3])
    apart: int = int(side[4])
    inner: int = int(side[5])
    failed: int = 0
    width: int = 2 * half + 1
    length: int = nodes if apart == 1 else (nodes - 1) * stride + width
    orders: int = most + TAYLOR_TERMS if apart == 1 else most
    places: Written = room(length)
    table: Written = room((orders + 4) * length)
    rows: Written = room((orders + 1) * (orders + 1))
    for n in range(length):
        places[n] = first + x * n if apart == 1 else first + of_xi * (n - half)
    moments_of_scores(orders, length, inner, side[6], side[7], places, table)
    derivatives_of_moments(orders, length, rows, table)
    for p in range(most + 2):
        row: Given = table[(p if p <= most else orders + 1) * length :]
        for j in range(width):
            column: int = width - 1 - j if turn < 0.0 else j
            line: Written = out[(p * width + j) * nodes :]
            for n in range(nodes):
                line[n] = row[n] if apart == 1 else row[n * stride + column]
            factor = 1.0 if p <= most else -1.0
            for m in range(1, TAYLOR_TERMS + 1 if apart == 1 else 1):
                factor = factor * of_xi * (column - half) / m
                term: Given = table[(p + m if p <= most else m) * length :]
                for n in range(nodes):
                    line[n] = line[n] + factor * term[n]
    return failed


def overlap_of_pairs(
    n1: int, n2: int, nk: int, T: float, nodes: int, half: int, step: float, turn: float, is_symmetric: int,
    sides: Given,
) -> float:  # fmt: skip
    """The sum over x and y.

    Args:
        n1: the order of the derivative in S1.
        n2: that in S2.
        nk: that in k.
        T: the number of keys.
        nodes: of x and of y.
        half: of xi, on each side of 0.
        step: from one xi to the next.
        turn: 1, or -1 where the covariance of scores is negative.
        is_symmetric: 1 where x and y may change places.
        sides: what ``overlap_sums`` says of both.
    """
    value = NAN
    count: int = (n1 + 1) * (n2 + 1) * (nk + 1)
    width: int = 2 * half + 1
    size: int = width * nodes
    work: Written = room((2 * count + 1) * nodes + 4 * count)
    less: Written = work[2 * count * nodes :]
    known: Written = work[(2 * count + 1) * nodes :]
    scales: Written = known[2 * count :]
    one: Written = room((2 * n1 + nk + 3) * size)
    other: Written = room((2 * n2 + nk + 3) * size)
    failed: int = derivatives_of_side(2 * n1 + nk + 1, nodes, half, 1.0, sides, one)
    failed += derivatives_of_side(2 * n2 + nk + 1, nodes, half, turn, sides[8:], other)
    fill_scales(n1, n2, nk, scales)
    value = 0.0 if failed == 0 else NAN
    total = 0.0
    for j in range(width):
        total = total + exp(-0.5 * step * step * (j - half) * (j - half))
    for i in range(nodes):
        last: int = i + 1 if is_symmetric == 1 else nodes
        for n in range((2 * count + 1) * nodes):
            work[n] = 0.0
        for j in range(width):
            mass = exp(-0.5 * step * step * (j - half) * (j - half)) / total
            factor = mass * one[j * nodes + i]
            plus = mass * one[(2 * n1 + nk + 2) * size + j * nodes + i]
            line: Given = other[(2 * n2 + nk + 2) * size + j * nodes :]
            for n in range(last):
                less[n] = less[n] + (plus + factor * line[n])
            for a in range(1, 2 * count):
                more: int = a // count
                m: int = a % count % (nk + 1)
                p: int = 2 * (a % count // ((n2 + 1) * (nk + 1))) + m + more
                q: int = 2 * (a % count // (nk + 1) % (n2 + 1)) + m + more
                times = mass * one[p * size + j * nodes + i]
                row: Written = work[a * nodes :]
                factors: Given = other[q * size + j * nodes :]
                for n in range(last):
                    row[n] = row[n] + times * factors[n]
        for n in range(last):
            for a in range(2 * count):
                known[a] = work[a * nodes + n]
            weight = 2.0 if is_symmetric == 1 and n < i else 1.0
            value = value + weight * product_series(n1, n2, nk, T, less[n], known, scales, scales[count:])
    return value


def overlap_sums(S1: float, S2: float, k: float, T: float, n1: int, n2: int, nk: int) -> float:
    """The overlap, or a derivative of it, for scores of these variances and covariance; nan where sums are too long.

    Of x, then of y, it puts together: the first one, its step, that of a*xi, the steps of a*xi from one x to the next;
    1 where there are as many as xi, else 0; the number of eta on each side of 0, what eta is multiplied with, its step.
    """
    value = NAN
    lost = 33.5 + 4.5 * (n1 + n2 + nk)
    size = sqrt(S1 * S2)
    share = fabs(k) / (size if size > 0.0 else 1.0)
    share = 1.0 if share > 1.0 else share
    reach = sqrt(2.0 * (36.0 + log(T)))  # standard deviations
    step = widest_step(sqrt((S1 if S1 > S2 else S2) * share), lost)
    half: int = steps_to(reach, step)
    widest = 6.283185307179586 * STRIP / lost
    tail = 1.0 + 37.0 / (T - 1.0 if T > 2.0 else 1.0)  # P(x, y)**(T-1) is nothing where P is exp(-tail)
    nodes: int = 1
    most: int = half
    sides: Written = room(16)
    for number in range(2):
        side: Written = sides[8 * number :]
        S = S1 if number == 0 else S2
        of_xi = sqrt(S * share) * step
        stride: int = int(widest / (of_xi if of_xi > 1e-9 else 1e-9))
        stride = 1 if stride < 1 else stride
        apart: int = 1 if stride > 2 * half else 0
        x = widest if apart == 1 else stride * of_xi
        first = -log(T) - 34.0 - (0.5 * S if 0.5 * S < reach * sqrt(S) else reach * sqrt(S))
        count: int = 1 + steps_to(log(tail) + sqrt(2.0 * tail * S) - first, x)
        nodes = count if count > nodes else nodes
        b = sqrt(S * (1.0 - share))
        of_eta = widest_step(b, lost)
        inner: int = steps_to(reach, of_eta)
        most = inner if inner > most else most
        side[0] = first
        side[1] = x
        side[2] = of_xi
        side[3] = stride
        side[4] = apart
        side[5] = inner
        side[6] = b
        side[7] = of_eta
    if nodes <= MOST_SUMMED and 2 * most <= MOST_SUMMED:
        if S1 == S2 and S1 == k:
            value = overlap_of_equal_scores(n1, n2, nk, T, nodes, half, sides[0], sides[1], sqrt(S1), step)
        else:
            turn = -1.0 if k < 0.0 else 1.0
            is_symmetric: int = 1 if S1 == S2 and n1 == n2 else 0
            value = overlap_of_pairs(n1, n2, nk, T, nodes, half, step, turn, is_symmetric, sides)
            value = sides[1] * sides[9] * value
    return value * T / over_factorials(n1, n2, nk) * pow(0.5, n1 + n2)


def softmax_overlap(S1: float, S2: float, k: float, T: float, n1: int, n2: int, nk: int) -> float:
    """The overlap of two softmax vectors of T keys, or a derivative of it in S1, S2 and k."""
    slack = 1e4 * ROUNDING
    one = 0.0 if S1 < 0.0 and S1 > -slack else S1
    two = 0.0 if S2 < 0.0 and S2 > -slack else S2
    size = sqrt(one * two)
    value = NAN
    if fabs(k) <= size * (1.0 + slack) + slack and size < 1e6 and T >= 1.0 and T < 1e9:
        whole: int = int(T)
        if T == whole:
            value = overlap_sums(one, two, k, T, n1, n2, nk)
    return value
