"""Ranges of a phase diagram that nobody asked for: around what is marked, and so that both phases are seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from ..core.scalars import number
from ..core.symbols import C_W, C_b
from ..theory.theory import Theory

Axis = tuple[str, float, float]

_ROOM = 1.25  # between a marked value and the end of an axis
_WEIGHTS, _BIASES = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0), (1.0, 0.5, 0.25, 0.1)  # how far ranges are stretched and narrowed
_SEEN = 0.25  # of the picture that the smaller phase should take: then its name has room
_BATCH = 0.01  # of the range of C_W, where it begins: without variance a batch cannot be normalised


def critical_places(theory: Theory, params: Mapping[str, object]) -> tuple[tuple[float, float], ...]:
    """(C_W, C_b) of the critical points at numbers of the other parameters."""
    places = []
    for point in theory.critical_points:
        free = {s for s in point.C_W.free_symbols | point.C_b.free_symbols if s.name in params}
        pair = [e.subs({s: number(params[s.name], s.name) for s in free}) for e in (point.C_W, point.C_b)]
        if not any(e.free_symbols for e in pair):
            places.append((float(pair[0]), float(pair[1])))
    return tuple(places)


def usual_ranges(
    marked: Sequence[tuple[float, float]], advised: Mapping[str, float], is_batch: bool
) -> tuple[Axis, Axis]:
    """C_W and C_b up to twice the critical values, and beyond those that are advised.

    Args:
        marked: critical points.
        advised: numbers of parameters, by name.
        is_batch: whether the layer normalises over a batch.
    """
    weight = 2 * marked[0][0] if marked and marked[0][0] > 0 else 4.0
    weight = max(weight, _ROOM * advised.get(C_W.name, 0.0))
    bias = max(2 * marked[0][1], weight / 4) if marked else 1.0
    bias = max(bias, _ROOM * advised.get(C_b.name, 0.0))
    return (C_W.name, _BATCH * weight if is_batch else 0.0, weight), (C_b.name, 0.0, bias)


def balanced(
    usual: tuple[Axis, Axis], is_free: tuple[bool, bool], lowest: float, share: Callable[[Axis, Axis], float]
) -> tuple[Axis, Axis]:
    """The ranges nearest to the usual ones in which the smaller phase is well seen, or best.

    Args:
        usual: of C_W and C_b, or what was asked for instead of them.
        is_free: whether each may be changed: a wider range of C_W, a narrower one of C_b.
        lowest: the C_b that its range has to contain.
        share: of the smaller phase in a picture with some ranges.
    """
    if not any(is_free):
        return usual
    x, y = usual
    factors = product(_WEIGHTS if is_free[0] else (1.0,), _BIASES if is_free[1] else (1.0,))
    best, most = usual, 0.0
    for stretch, narrow in sorted(factors, key=lambda pair: pair[0] / pair[1]):
        if narrow < 1 and narrow * y[2] < _ROOM * lowest:
            continue
        tried = (x[0], x[1], stretch * x[2]), (y[0], y[1], narrow * y[2])
        if (seen := share(*tried)) > most:
            best, most = tried, seen
        if most >= _SEEN:
            break
    return best
