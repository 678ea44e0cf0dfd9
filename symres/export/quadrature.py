"""Averages at run time, with nodes stretched like sinh around the points where a function changes.

Smooth functions: the trapezoidal rule in t, y = width*sinh(t), around the preactivation 0. Functions with
breakpoints: Gauss-Legendre panels in t on both sides of every breakpoint. Either resolves the width on which the
function changes and reaches out geometrically to ten standard deviations. One text serves NumPy and PyTorch: it
uses functions that both libraries call by the same name.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, reduce
from typing import Any

import mpmath as mp
import sympy as sp

from ..symbols import K1, K2, C, z
from .emit import Dialect, Emitter, Source, rows, variable
from .rewrite import stabilise

POINTS = 16  # of each panel
PANEL = 1.2  # its length in t
LINE = 161  # points of the rule for smooth functions

NODES = '''
def _line(centre, width):
    """Nodes and weights of the standard normal law within _REACH, for smooth functions that change at the centre.

    The trapezoidal rule in t, y = centre + width*sinh(t).
    """
    centre = np.clip(centre, -3.0*_REACH, 3.0*_REACH)[..., None]
    width = width[..., None]
    first, last = np.arcsinh((-_REACH - centre)/width), np.arcsinh((_REACH - centre)/width)
    t = first + (last - first)*_rule(width)[0]
    y = centre + width*np.sinh(t)
    step = (last - first)/(_LINE - 1)
    return y, step*width*np.cosh(t)*np.exp(-0.5*y*y)*0.3989422804014327


def _panels(anchors, width):
    """The same by Gauss-Legendre panels on both sides of every anchor, for functions with kinks there."""
    _, points, weights = _rule(width)
    anchors = _sorted([np.clip(anchor, -_REACH, _REACH) for anchor in [*anchors, 0.0*width]])
    nodes, masses = [], []
    for k, anchor in enumerate(anchors):
        left = -_REACH if k == 0 else 0.5*(anchors[k - 1] + anchor)
        right = _REACH if k == len(anchors) - 1 else 0.5*(anchor + anchors[k + 1])
        for end in (left, right):
            reach = np.arcsinh((end - anchor)/width)[..., None]
            pieces = math.ceil(float(np.abs(reach).max())/_PANEL) if width.size else 0
            for piece in range(pieces):  # none where anchors coincide
                t = reach*((piece + points)/pieces)
                y = anchor[..., None] + width[..., None]*np.sinh(t)
                nodes.append(y)
                masses.append(
                    np.abs(reach)/pieces*width[..., None]*np.cosh(t)*weights*np.exp(-0.5*y*y)*0.3989422804014327)
    return np.concatenate(nodes, -1), np.concatenate(masses, -1)


def _wide(value, z):
    """A value of each entry, shaped to stand beside the entries' nodes z."""
    return value.reshape(tuple(value.shape) + (1,)*(z.ndim - value.ndim))


def _whole(parts, edges, z, parameters):
    """A piecewise function, its parts separated by the edges."""
    parameters = [_wide(p, z) for p in parameters]
    value = parts[0](np.minimum(z, _wide(edges[0], z)) if edges else z, *parameters) + 0.0*z
    for part, edge in zip(parts[1:], edges):
        edge = _wide(edge, z)
        value = np.where(z >= edge, part(np.maximum(z, edge), *parameters), value)
    return value
'''

KERNEL = '''
def _kernel_average(parts, breaks, K, *parameters):
    """<f(z)> for z of variance K; parts are the smooth pieces of f between increasing breaks."""
    deviation = np.sqrt(np.clip(K, 1e-280, None))
    width = np.clip(1.0/deviation, 1e-8, 8.0)
    edges = [b + 0.0*K for b in breaks]
    y, mass = _panels([b/deviation for b in edges], np.clip(width, None, 1.0)) if edges else _line(0.0*K, width)
    return (_whole(parts, edges, deviation[..., None]*y, parameters)*mass).sum(-1)
'''

PAIR = '''
def _pair_average(f_parts, f_breaks, g_parts, g_breaks, K1, K2, C, *parameters):
    """<f(z1) g(z2)> for variances K1, K2 and covariance C: the average over z2 given z1, then that over z1."""
    K1 = np.clip(K1, 1e-280, None)
    deviation = np.sqrt(K1)
    slope = C/deviation  # of the mean of z2, per standard deviation of z1
    spread = np.sqrt(_determinant(K1, K2, C)/K1)
    f_edges, g_edges = [b + 0.0*K1 for b in f_breaks], [b + 0.0*K1 for b in g_breaks]
    rate = np.clip(np.abs(slope), 1e-140, None)
    width = np.minimum(1.0/deviation, 1.0/rate)
    if g_edges:  # averaged over z2, a kink is rounded on the scale of the spread; below 1e-8 it stays one
        width = np.where(spread > 1e-8*rate, np.minimum(width, spread/rate), width)
    if f_edges or g_edges:
        steep = np.where(np.abs(slope) > 1e-140, slope, 1e-140)
        x, mass = _panels([b/deviation for b in f_edges] + [b/steep for b in g_edges], np.clip(width, 1e-9, 1.0))
    else:
        x, mass = _line(0.0*K1, np.clip(width, 1e-9, 8.0))
    mean, narrow = slope[..., None]*x, spread[..., None] + 0.0*x
    floor = np.clip(narrow, 1e-280, None)
    fine = np.clip(1.0/floor, 1e-8, 8.0)
    edges = [b[..., None] + 0.0*x for b in g_edges]
    y, weight = _panels([(b - mean)/floor for b in edges], np.clip(fine, None, 1.0)) if edges else _line(
        -mean/floor, fine)
    inner = (_whole(g_parts, edges, mean[..., None] + narrow[..., None]*y, parameters)*weight).sum(-1)
    return (_whole(f_parts, f_edges, deviation[..., None]*x, parameters)*inner*mass).sum(-1)
'''

RULE_NUMPY = '''
def _rule(width):
    """Equidistant points and the Gauss-Legendre rule on [0, 1]."""
    return np.linspace(0.0, 1.0, _LINE), np.array(_POINTS), np.array(_WEIGHTS)
'''

RULE_TORCH = '''
def _rule(width):
    """Equidistant points and the Gauss-Legendre rule on [0, 1]."""
    kind = {"dtype": width.dtype, "device": width.device}
    return torch.linspace(0.0, 1.0, _LINE, **kind), torch.tensor(_POINTS, **kind), torch.tensor(_WEIGHTS, **kind)
'''

SORTED_NUMPY = '''
def _sorted(places):
    """Anchors in increasing order, entry by entry."""
    return list(np.moveaxis(np.sort(np.stack(places, -1), -1), -1, 0))
'''

SORTED_TORCH = '''
def _sorted(places):
    """Anchors in increasing order, entry by entry."""
    return list(torch.sort(torch.stack(places, -1), -1).values.unbind(-1))
'''

CHUNKS_NUMPY = '''
def _in_chunks(function, nodes, *arguments):
    """Evaluate a quadrature with so many nodes on a few entries at a time, so that they fit into the cache."""
    arguments = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arguments))
    shape = arguments[0].shape
    arguments = [a.reshape(-1) for a in arguments]
    step = max(1, _CHUNK//nodes)
    out = [function(*(a[i:i + step] for a in arguments)) for i in range(0, arguments[0].size, step)]
    return np.concatenate(out).reshape(shape) if out else np.empty(shape)
'''

CHUNKS_TORCH = '''
def _in_chunks(function, nodes, *arguments):
    """Evaluate a quadrature on a few entries at a time; computed in float64, returned in the arguments' type."""
    arguments = torch.broadcast_tensors(*arguments)
    shape, kind = arguments[0].shape, arguments[0].dtype
    arguments = [a.reshape(-1).to(torch.float64) for a in arguments]
    step = max(1, _CHUNK//nodes)
    out = [function(*(a[i:i + step] for a in arguments)) for i in range(0, arguments[0].numel(), step)]
    return (torch.cat(out) if out else arguments[0]).reshape(shape).to(kind)
'''


def _for_torch(text: str) -> str:
    pairs = (("np.", "torch."), ("width.size", "width.numel()"), ("_determinant(", "_Determinant.apply("))
    return reduce(lambda t, pair: t.replace(*pair), pairs, text)


NUMPY_HELPERS = {
    "_rule": (RULE_NUMPY, ()),
    "_sorted": (SORTED_NUMPY, ()),
    "_line": (NODES, ("_rule", "_sorted")),
    "_kernel_average": (KERNEL, ("_line",)),
    "_pair_average": (PAIR, ("_line", "_determinant")),
    "_in_chunks": (CHUNKS_NUMPY, ()),
}
TORCH_HELPERS = {
    "_rule": (RULE_TORCH, ()),
    "_sorted": (SORTED_TORCH, ()),
    "_line": (_for_torch(NODES), ("_rule", "_sorted")),
    "_kernel_average": (_for_torch(KERNEL), ("_line",)),
    "_pair_average": (_for_torch(PAIR), ("_line", "_Determinant")),
    "_in_chunks": (CHUNKS_TORCH, ()),
}


def tables() -> tuple[tuple[str, str], ...]:
    """The constants that the helpers read: the rule on [0, 1], the reach in standard deviations, the chunk size."""
    nodes, weights = _legendre(POINTS)
    return (
        ("_REACH", "10.0"),
        ("_CHUNK", "400000"),
        ("_LINE", repr(LINE)),
        ("_PANEL", repr(PANEL)),
        ("_POINTS", rows([nodes])[0]),
        ("_WEIGHTS", rows([weights])[0]),
    )


def source(name: str, symbols: tuple[sp.Symbol, ...], expr: sp.Expr, dialect: Dialect) -> Source:
    """Code that evaluates an expression with unevaluated averages of one or two variables.

    Args:
        name: prefix of the part functions.
        symbols: the arguments: K or K1, K2, C, then parameters.
        expr: a linear combination of averages, coefficients in ``symbols``.
        dialect: NumPy or PyTorch.
    """
    is_pair = C in symbols
    kernels = 3 if is_pair else 1
    parameters = symbols[kernels:]
    rest = "".join(f", {variable(p)}" for p in parameters)
    library = "np" if dialect.name == "NumPy" else "torch"
    capped = f"{library}.exp({library}.clip({{0}}, None, 170.0))"
    inside = replace(dialect, functions={**dialect.functions, sp.exp: capped})  # no infinity over infinity
    parts: dict[sp.Expr, str] = {}
    preamble: list[str] = []
    names = {s: variable(s) for s in symbols}

    def part(formula: sp.Expr) -> str:
        if formula not in parts:
            parts[formula] = f"{name}_part_{len(parts) + 1}"
            code = Emitter(inside, {z: "z", **names}).function([("return", stabilise(formula))])
            preamble.append("\n".join([f"def {parts[formula]}(z{rest}):", *(f"    {line}" for line in code)]))
        return parts[formula]

    def pieces(factor: Any) -> str:
        functions = "".join(f"{part(p)}, " for p in factor.parts)
        breaks = "".join(
            Emitter(dialect, names).function([("return", b)])[-1].removeprefix("return ") + ", " for b in factor.breaks
        )
        return f"({functions.strip()}), ({breaks.strip()})"

    lines: list[str] = []
    values: dict[Any, sp.Expr] = {}
    nodes = 0
    for node in averages(expr):
        total = sp.Integer(0)
        for coefficient, factors in node.terms:
            average = f"a{len(lines) + 1}"
            breaks = [len(f.breaks) for f in factors]
            if is_pair:
                call = f"_pair_average({pieces(factors[0])}, {pieces(factors[1])}, K1, K2, C{rest})"
                outer, inner = (LINE if not n else 4 * LINE for n in (sum(breaks), breaks[1]))
                nodes = max(nodes, outer * inner)
            else:
                call = f"_kernel_average({pieces(factors[0])}, K{rest})"
                nodes = max(nodes, 4 * LINE if breaks[0] else LINE)
            lines.append(f"{average} = {call}")
            symbol = sp.Symbol(f"{name}_{average}")
            names[symbol] = average
            total += coefficient * symbol
        values[node] = total
    lines += Emitter(dialect, names).function([("return", expr.xreplace(values))])
    arguments = ", ".join(variable(s) for s in symbols)
    if not is_pair:  # quotients such as <z f f'>/K have their limit at K = 0
        lines.insert(0, f"K = {library}.clip(K, 1e-100, None)")
    preamble.append("\n".join([f"def {name}_rule({arguments}):", *(f"    {line}" for line in lines)]))
    return Source((f"return _in_chunks({name}_rule, {nodes}, {arguments})",), tables(), tuple(preamble))


def variance_slope(node: Any, first: bool) -> sp.Expr:
    """The derivative of a pair average in K1 (or K2), regular on the diagonal and for kinked factors.

    Stein's lemma, <z1 f'(z1) g(z2)> = K1 <f'' g> + C <f' g'>, gives Price's <f'' g>/2 without second derivatives.
    """
    x, y = _bound(node) if first else _bound(node)[::-1]
    v = K1 if first else K2
    f = node.integrand
    covariance = node.covariance
    return (node.func(x * f.diff(x), *covariance) - C * node.func(f.diff(x, y), *covariance)) / (2 * v)


def covariance_slope(node: Any) -> sp.Expr:
    """The derivative of a pair average in C: Price's theorem, <f' g'>."""
    x, y = _bound(node)
    return node.func(node.integrand.diff(x, y), *node.covariance)


def averages(expr: sp.Expr) -> list[Any]:
    """The unevaluated averages in an expression, in a fixed order."""
    found = {e for e in sp.preorder_traversal(expr) if hasattr(e, "integrand") and hasattr(e, "covariance")}
    return sorted(found, key=lambda e: (len(str(e)), str(e)))


@cache
def _legendre(n: int) -> tuple[list[float], list[float]]:
    """Nodes and weights on [0, 1], correctly rounded, by Newton's method on the three-term recursion."""
    nodes, weights = [], []
    with mp.workdps(30):
        for k in range(n):
            x = mp.cos(mp.pi * (k + mp.mpf(3) / 4) / (n + mp.mpf(1) / 2))
            for _ in range(6):
                before, value = mp.mpf(1), x
                for j in range(2, n + 1):
                    before, value = value, ((2 * j - 1) * x * value - (j - 1) * before) / j
                slope = n * (before - x * value) / (1 - x * x)
                x -= value / slope
            nodes.append(float((1 - x) / 2))
            weights.append(float(1 / ((1 - x * x) * slope**2)))
    return nodes, weights


def _bound(node: Any) -> list[sp.Symbol]:
    return sorted((s for s in node.integrand.free_symbols if s not in node.free_symbols), key=str)
