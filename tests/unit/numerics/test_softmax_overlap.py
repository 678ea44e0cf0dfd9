"""The overlap of softmax vectors against other integrals, draws, and what it must obey."""

import math

import numpy as np
import pytest
from flint import arb, ctx

import symres as sr
from symres.numerics import softmax_overlap as room
from symres.numerics.softmax_overlap import overlap_ball

VALUE = (0, 0, 0)
PLACES = [
    (0.5, 0.5, 0.25, 16),
    (4.0, 4.0, 2.8, 16),
    (1.0, 2.0, -0.5, 3),
    (1e-6, 3.0, 1e-3, 64),
    (2.0, 2.0, 2.0, 1024),
    (45.0, 45.0, 20.0, 8),
]


def ball(place, orders=VALUE, bits=53):
    S1, S2, k, keys = place
    with ctx.workprec(bits):
        return overlap_ball(arb(S1), arb(S2), arb(k), keys, orders)


@pytest.mark.parametrize("S1, S2, k", [(1.0, 1.0, -0.2), (0.3, 2.0, 0.7), (9.0, 9.0, 9.0)])
def test_two_keys_are_an_average_of_two_sigmoids(S1, S2, k):
    """Softmax of two keys is the sigmoid of their difference, and E sigmoid = 1/2: B = 2 <sigmoid sigmoid>."""
    pair = sr.expect2("sigmoid", "sigmoid").evalf(15, K1=2 * S1, K2=2 * S2, C=2 * k)
    assert float(ball((S1, S2, k, 2)).mid()) == pytest.approx(2 * float(pair), rel=1e-14)


@pytest.mark.parametrize(("S1", "S2", "k", "keys"), PLACES)
def test_drawn_scores_have_this_overlap(S1, S2, k, keys):
    rng, count = np.random.default_rng(0), 400_000 // keys
    law = np.linalg.cholesky(np.array([[S1, k], [k, S2 + 1e-12]]))
    scores = np.einsum("ij,jtn->itn", law, rng.normal(size=(2, keys, count)))
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    overlaps = (weights[0] * weights[1]).sum(0)
    error = overlaps.std() / math.sqrt(count)
    assert abs(overlaps.mean() - float(ball((S1, S2, k, keys)).mid())) < 4.5 * error


@pytest.mark.sample(1)
@pytest.mark.parametrize("orders", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 2)])
@pytest.mark.parametrize("place", PLACES[:3])
def test_slopes_are_those_of_the_values(place, orders):
    """Central differences of the derivative of one order less, of which balls have the digits."""
    number = next(n for n, order in enumerate(orders) if order)
    lower = tuple(order - (n == number) for n, order in enumerate(orders))
    step = 2.0**-12 * place[number]
    ends = [ball((*place[:number], place[number] + side * step, *place[number + 1 :]), lower, 70) for side in (1, -1)]
    expected = float((ends[0] - ends[1]) / (2 * step))
    assert float(ball(place, orders).mid()) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.sample(1)
@pytest.mark.parametrize("place", PLACES[:5])
@pytest.mark.parametrize("orders", [VALUE, (0, 0, 1), (1, 0, 0)])
def test_double_precision_is_inside_of_its_radius(place, orders):
    assert ball(place, orders).overlaps(ball(place, orders, 70))


def test_a_ball_of_arguments_has_the_values_at_its_ends():
    with ctx.workprec(53):
        wide = overlap_ball(arb(1, 0.01), arb(1, 0.01), arb(0.5, 0.01), 8)
        for S1, S2, k in ((0.99, 0.99, 0.49), (1.01, 1.01, 0.51)):
            assert wide.contains(overlap_ball(arb(S1), arb(S2), arb(k), 8).mid())


def test_a_wider_step_is_seen(monkeypatch):
    """Steps that miss more than was allowed move the value by more than the radius."""
    monkeypatch.setattr(room, "_step", lambda orders, error, scale=0.0: 0.9)
    room._in_floats.cache_clear()
    coarse = ball(PLACES[0])
    monkeypatch.undo()
    room._in_floats.cache_clear()
    assert not coarse.overlaps(ball(PLACES[0]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((-1, 1, 0, 4), "have no covariance"),
        ((1, 1, 1.1, 4), "have no covariance"),
        ((1, 1, 0.5, 0), "T"),
        ((1e6, 1e6, 1e5, 4), "nodes along an axis"),
    ],
)
def test_refusals(arguments, said):
    with pytest.raises(sr.SymresError, match=said):
        sr.softmax_overlap(*arguments)


def test_other_slopes_are_refused():
    with pytest.raises(sr.DeclarationError, match="pass S1, S2 or k"):
        sr.softmax_overlap(1, 1, 0.5, 4, derivative="T")


@pytest.mark.parametrize("orders", [(0, 0, 0), (0, 0, 1), (1, 0, 0)])
def test_weak_scores_have_a_series(orders):
    """The Taylor polynomial is taken where it is proved, and agrees with the sums there; below all of their units."""
    size = 1e-7
    assert room._series_misses(2 * size, orders) < 1e-19 < room._series_misses(0.1, orders)
    scores = size, size, 0.6 * size
    series, sums = room._series(*scores, 16, orders), room._in_floats(*scores, 16, orders, 0)
    assert series == pytest.approx(sums, abs=1e-15)
    slope = sr.softmax_overlap(1e-40, 1e-40, 5e-41, 16, derivative="k")
    assert slope == pytest.approx(15 / 256, rel=1e-13)


def test_sums_of_places():
    """With and without sorting: every sum once, and where it stands."""
    for places in (np.arange(9), 10**12 * np.arange(9)):
        sums, index = room._union(places, np.array([-2, 0, 3]))
        assert (sums[index] == places[:, None] + np.array([-2, 0, 3])).all()
        assert (np.diff(sums) > 0).all()
