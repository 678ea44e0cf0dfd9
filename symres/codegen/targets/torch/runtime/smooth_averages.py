"""Averages of two smooth functions over a matrix as an operator of PyTorch: series in the correlation, and quadrature
of the entries for which they are too long.

By Price's theorem the derivatives of <f(z1) g(z2)> are averages of the same kind: <f'' g>/2 in K1, <f' g'> in C. So
they are series of their own, finite where the inputs are parallel, and have derivatives in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from ....arrays.hermite.hermite_series import _hermite_pairs, _hermite_tile
from ....arrays.hermite.matrix_parts import _chunk, _parts
from ....arrays.runtime.entries import _few
from ....arrays.runtime.pair_series import _pair_average
from ....arrays.sloped.refused_derivatives import NoDerivative
from .operators import Key, _operators

Function: TypeAlias = Callable[..., Tensor]

_TILE = 32768  # entries for each thread, whose scratch arrays stay in the cache
_SINGLE = 8192  # entries at a time where each has kernels of its own


def _smooth_average(name: str, K1: Tensor, K2: Tensor, C: Tensor, *parameters: Tensor) -> Tensor:
    """<f(z1) g(z2)>. globals()[name]() gives the rule of quadrature, and of f and of g their derivatives by names.

    A name has a letter for each derivative in a parameter, a, b, ... in order, then a z for each in z. Beside them is
    what quadrature has to know of the functions.
    """
    return _SMOOTH.smooth(name, [""], [""], torch.broadcast_tensors(K1, K2, C, *parameters))[0]


def _slopes_of_averages(key: Key, needed: Sequence[bool], arguments: Sequence[Tensor]) -> list[Tensor | None]:
    """The derivatives, by Price's theorem, of several averages along a new first axis; all are computed at once."""
    name, firsts, seconds = key
    sums = [[_slope_terms(place, *pair) for pair in zip(firsts, seconds)] for place in range(len(arguments))]
    chosen = [terms for row, wanted in zip(sums, needed) if wanted for terms in row]
    listed = list(dict.fromkeys(pair for terms in chosen for pair in terms if not _vanishes(name, *pair)))
    none = torch.zeros_like(arguments[2])
    found = dict(zip(listed, _SMOOTH.smooth(name, *map(list, zip(*listed)), arguments).unbind(0) if listed else ()))

    def total(place: int, terms: Sequence[tuple[str, str]]) -> Tensor:
        first, *others = [found.get(pair, none) for pair in terms]
        for other in others:
            first = first + other
        return 0.5 * first if place < 2 else first

    return [
        torch.stack([total(place, terms) for terms in row]) if wanted else None
        for place, (row, wanted) in enumerate(zip(sums, needed))
    ]


def _slope_terms(place: int, first: str, second: str) -> list[tuple[str, str]]:
    """The averages whose sum is the derivative of one in an argument, in a kernel twice that."""
    letter = chr(94 + place)
    more = [("zz", "")], [("", "zz")], [("z", "z")], [(letter, ""), ("", letter)]
    return [("".join(sorted(first + one)), "".join(sorted(second + two))) for one, two in more[min(place, 3)]]


def _vanishes(name: str, first: str, second: str) -> bool:
    """Whether one of two derivatives is 0 everywhere."""
    _, (one, _), (two, _) = globals()[name]()
    if first not in one or second not in two:
        found, remedy = "averages of smooth functions have two derivatives", "take fewer, or differences of these"
        raise NoDerivative(f"a third derivative of {name}", found, remedy)
    return one[first] is None or two[second] is None


def _average_values(name: str, firsts: Sequence[str], seconds: Sequence[str], arguments: Sequence[Tensor]) -> Tensor:
    """The values along a new first axis, computed in float64: series, in tiles, and quadrature of what they leave."""
    rule, (one, fact_of_one), (two, fact_of_two) = globals()[name]()
    pairs, shape = [(one[f], two[g]) for f, g in zip(firsts, seconds)], arguments[0].shape
    out = torch.empty((len(pairs), *(shape or (1,))), dtype=torch.float64, device=arguments[0].device)
    if not out.numel():
        return out.to(arguments[0].dtype)
    C = arguments[2].reshape(out.shape[1:]).to(torch.float64)
    K1, K2, *parameters = (_narrow(a.reshape(C.shape)).to(torch.float64) for a in (*arguments[:2], *arguments[3:]))
    own = [p.reshape(()) if p.numel() == 1 else p for p in parameters]
    mirrored = _mirrored(pairs) if one is two and _is_symmetric(K1, K2, C) else {}
    computed = [number for number in range(len(pairs)) if number not in mirrored]

    few = 8 * (K1.numel() + K2.numel()) <= C.numel()
    every = _hermite_pairs([pairs[n] for n in computed], K1, K2, *own) if few else None
    size = 1 << 20 if out.is_cuda else _TILE * torch.get_num_threads()
    left = torch.zeros(out.shape, dtype=torch.bool, device=out.device)
    for part in _parts(tuple(C.shape), size if few else _SINGLE):
        k1, k2, c = _chunk(K1, part), _chunk(K2, part), _chunk(C, part)
        scratch = [torch.empty_like(c) for _ in range(3)]
        if every is None:
            expansions = _hermite_pairs([pairs[n] for n in computed], k1, k2, *own)
        else:
            expansions = _chunk(every, part)
        for number, (first, second) in zip(computed, expansions):
            fine: list[Tensor] = []
            _hermite_tile(k1, k2, c, first, second, [out[number][part], *scratch], fine)
            if fine:
                left[number][part] = ~fine[0]
    for number in computed:
        places = left[number].nonzero(as_tuple=True)
        if places[0].numel():
            entries = [a.expand(C.shape)[places] for a in (K1, K2, C, *parameters)]
            out[number][places] = _by_rule(rule, *pairs[number], fact_of_one, fact_of_two, entries)
    for number, other in mirrored.items():
        out[number] = out[other].T
    return out.reshape((len(pairs), *shape)).to(arguments[0].dtype)


def _mirrored(pairs: Sequence[tuple[Function, Function]]) -> dict[int, int]:
    """Which pairs are earlier ones in the other order, and which those are."""
    return {n: pairs.index(pair[::-1]) for n, pair in enumerate(pairs) if pair[::-1] in pairs[:n]}


def _is_symmetric(K1: Tensor, K2: Tensor, C: Tensor) -> bool:
    """Whether the inputs of a matrix are the same on both sides."""
    if C.ndim != 2 or (*K1.shape, *K2.shape) != (C.shape[0], 1, 1, C.shape[1]):
        return False
    return torch.equal(K1.reshape(-1), K2.reshape(-1)) and torch.equal(C, C.T)


def _like_averages(name: str, firsts: Sequence[str], seconds: Sequence[str], arguments: Sequence[Tensor]) -> Tensor:
    """A tensor like the values."""
    return arguments[0].new_empty((len(firsts), *arguments[0].shape))


def _narrow(a: Tensor) -> Tensor:
    """A tensor of length 1 along the axes on which it is constant."""
    for axis in range(a.ndim):
        first = a.narrow(axis, 0, 1)
        if a.shape[axis] > 1 and (a.stride(axis) == 0 or bool((a == first).all())):
            a = first
    return a


def _by_rule(
    rule: tuple, f: Function, g: Function, of_f: Function, of_g: Function, entries: Sequence[Tensor]
) -> Tensor:
    """Averages at entries by quadrature, nan where an argument is no finite number."""
    known = torch.isfinite(sum(entries))

    def average(K1: Tensor, *others: Tensor) -> Tensor:
        parameters = others[2:]
        first = ((f,), *of_f(K1, *parameters))
        second = first if f is g else ((g,), *of_g(K1, *parameters))
        helper, cost, at_a_time = rule
        return _pair_average(helper, cost, at_a_time, first, second, K1, *others)

    found = _few(average, 1 << 22, *(torch.where(known, a, 1.0) for a in entries))
    return torch.where(known, torch.cat(found), math.nan)


def _placed(a: Tensor, like: Tensor) -> Tensor:
    """A tensor on the device of another one."""
    return a.to(like.device)


def _dense(a: Tensor) -> Tensor:
    """A tensor in the order of its axes in memory."""
    return a.contiguous()


def _add_product(total: Tensor, a: Tensor, b: Tensor, room: Tensor) -> None:
    """Add a*b to a tensor, in place."""
    total.addcmul_(a, b)


_SMOOTH = _operators(
    "smooth", "str name, str[] firsts, str[] seconds", _average_values, _like_averages, _slopes_of_averages
)
