"""Averages at run time, with nodes crowded around the points where a function changes.

Smooth functions: the trapezoidal rule in t, y = width*sinh(t), around the preactivation 0. Functions with breakpoints:
Gauss-Legendre panels on both sides of every breakpoint, growing with the distance from it. Either resolves the width on
which the function changes and reaches out geometrically to many standard deviations. One text serves NumPy and PyTorch:
it uses functions that both libraries call by the same name. Averages of two variables are in pairs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import mpmath as mp
import sympy as sp

from ...symbols import K1, K2, C, K, z
from .emit import Dialect, Emitter, Source, rows, variable
from .given import GIVEN, GIVEN_THE_SECOND, is_polynomial, jumps, means, vanishes
from .pairs import KINKED, LINE, SERIES, SMOOTH
from .rewrite import stabilise
from .rules import rule_of

Helpers = dict[str, tuple[str, tuple[str, ...]]]

POINTS = 16  # of each panel
PANEL = 1.2  # its length in t
FAR = "38.0"  # standard deviations behind which the normal law is no float
ROWS = {False: 256, True: 1 << 22}  # entries at a time of averages over one and two variables

NODES = '''
def _line(centre, width):
    """Nodes and weights of the standard normal law within _REACH, for smooth functions that change at the centre.

    The trapezoidal rule in t, y = centre + width*sinh(t). Its error is exp(-2*pi*a/step), where a < pi/4 is as far as
    t may leave the real line before the Gaussian grows, less if the centre lies off the peak: 1e-16 here.
    """
    centre = np.clip(centre, -3.0*_REACH, 3.0*_REACH)
    first, last = np.arcsinh((-_REACH - centre)/width), np.arcsinh((_REACH - centre)/width)
    count = math.ceil(float(((last - first)*(8.5 + 1.2*np.sqrt(centre*centre + width*width))).max()))
    step = ((last - first)/count)[..., None]
    t = first[..., None] + step*_count(count + 1, width)
    y = centre[..., None] + width[..., None]*np.sinh(t)
    return y, step*width[..., None]*np.cosh(t)*np.exp(-0.5*y*y)*0.3989422804014327


def _graded(length, width, longest):
    """Edges from 0 to a length: steps near ``width`` at first, then in proportion to the distance, up to ``longest``.

    They are equidistant in t = arcsinh(x/width) + x/longest, which Newton's method inverts.
    """
    longest = longest + 0.0*length
    end = np.arcsinh(length/width) + length/longest
    pieces = math.ceil(float(end.max())/_PANEL)
    if not pieces:
        return None
    t = end[..., None]*(_count(pieces + 1, width)/pieces)
    width, longest = width[..., None], longest[..., None]
    x = np.minimum(width*np.sinh(np.minimum(t, 40.0 + 0.0*t)), longest*t)
    for _ in range(8):
        slope = 1.0/np.sqrt(x*x + width*width) + 1.0/longest
        x = np.clip(x - (np.arcsinh(x/width) + x/longest - t)/slope, 0.0, None)
    return np.concatenate([x[..., :-1], length[..., None]], -1)  # without a gap to the panels of the next anchor


def _panels(anchors, width, longest, reach, farthest):
    """Nodes and weights for functions with kinks at the anchors, or that change there on the scale of the width.

    Gauss-Legendre panels on both sides of every anchor, away from 0 only as far as the law is not negligible beside
    its value at the anchor, and in steps on which it does not fall by many orders. Anchors beyond the farthest count
    as that: a function that vanishes around 0 has all its mass behind anchors that may be far.
    """
    points, weights = _rule(width)
    anchors = _sorted([np.clip(anchor, -farthest, farthest) for anchor in anchors])
    nodes, masses = [], []
    for k, anchor in enumerate(anchors):
        away = np.sqrt(anchor*anchor + reach*reach)
        left = -away if k == 0 else np.maximum(0.5*(anchors[k - 1] + anchor), -away)
        right = away if k == len(anchors) - 1 else np.minimum(0.5*(anchor + anchors[k + 1]), away)
        for side, end in ((-1.0, left), (1.0, right)):
            edges = _graded(side*(end - anchor), width, longest/(1.0 + 0.2*np.clip(side*anchor, 0.0, None)))
            if edges is None:  # anchors coincide
                continue
            step = (edges[..., 1:] - edges[..., :-1])[..., None]
            y = (anchor[..., None, None] + side*(edges[..., :-1, None] + step*points)).reshape((*width.shape, -1))
            nodes.append(y)
            masses.append((step*weights).reshape(y.shape)*np.exp(-0.5*y*y)*0.3989422804014327)
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
def _kernel_average(f, K, *parameters):
    """<f(z)> for z of variance K."""
    parts, breaks, places, scale, far, _ = f
    deviation = np.sqrt(np.clip(K, 1e-280, None))
    if breaks:
        width = np.clip(scale/deviation, 1e-8, 1e8)
        y, mass = _panels([place/deviation for place in places], width, 3.0, _REACH, far)
    else:
        y, mass = _line(0.0*K, np.clip(1.0/deviation, 1e-8, 8.0))
    return (_whole(parts, breaks, deviation[..., None]*y, parameters)*mass).sum(-1)
'''

RULE_NUMPY = '''
def _count(number, like):
    """0, 1, 2, ..."""
    return np.arange(number)


def _rule(like):
    """The Gauss-Legendre rule on [0, 1]."""
    return np.array(_POINTS), np.array(_WEIGHTS)
'''

RULE_TORCH = '''
def _count(number, like):
    """0, 1, 2, ..."""
    return torch.arange(number, device=like.device)


def _rule(like):
    """The Gauss-Legendre rule on [0, 1]."""
    kind = {"dtype": like.dtype, "device": like.device}
    return torch.tensor(_POINTS, **kind), torch.tensor(_WEIGHTS, **kind)
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

FLAT_NUMPY = '''
def _flat(function, step, *arguments):
    """Evaluate a function of arrays of one axis, on so many entries at a time."""
    arguments = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arguments))
    shape = arguments[0].shape
    known = np.isfinite(sum(arguments)).reshape(-1)
    out = _few(function, step, *(np.where(known, a.reshape(-1), 1.0) for a in arguments))
    return np.where(known, np.concatenate([*out, np.empty(0)]), np.nan).reshape(shape)
'''

FLAT_TORCH = '''
def _flat(function, step, *arguments):
    """Evaluate a function of arrays of one axis, on so many entries at a time; computed in float64."""
    arguments = torch.broadcast_tensors(*arguments)
    shape, kind = arguments[0].shape, arguments[0].dtype
    known = torch.isfinite(sum(arguments)).reshape(-1)
    out = _few(function, step, *(torch.where(known, a.reshape(-1).to(torch.float64), 1.0) for a in arguments))
    return torch.where(known, torch.cat([*out, known[:0]]), math.nan).reshape(shape).to(kind)
'''

FEW = '''
def _few(function, step, *arrays):
    """The results of a function on so many rows at a time, so that its nodes fit into the cache."""
    return [function(*(a[i:i + step] for a in arrays)) for i in range(0, arrays[0].shape[0], step)]
'''


def _for_torch(text: str) -> str:
    text = text.replace("np.", "torch.").replace("special.", "torch.special.")
    return text.replace("_determinant(", "_Determinant.apply(")


def _helpers(rule: str, sorted_: str, flat: str, determinant: str, spelled: Callable[[str], str]) -> Helpers:
    return {
        "_rule": (rule, ()),
        "_sorted": (sorted_, ()),
        "_line": (spelled(NODES), ("_rule", "_sorted")),
        "_kernel_average": (spelled(KERNEL), ("_line",)),
        "_few": (FEW, ()),
        "_line_average": (spelled(LINE), ("_line",)),
        "_smooth_plane": (spelled(SMOOTH), ("_line", determinant)),
        "_kinked_plane": (spelled(KINKED), ("_line", determinant)),
        "_given": (spelled(GIVEN), ("_line", determinant)),
        "_given_the_second": (GIVEN_THE_SECOND, ("_given",)),
        "_pair_average": (spelled(SERIES), ("_few", "_line_average", determinant)),
        "_flat": (flat, ("_few",)),
    }


NUMPY_HELPERS = _helpers(RULE_NUMPY, SORTED_NUMPY, FLAT_NUMPY, "_determinant", str)
TORCH_HELPERS = _helpers(RULE_TORCH, SORTED_TORCH, FLAT_TORCH, "_Determinant", _for_torch)


def tables() -> tuple[tuple[str, str], ...]:
    """The constants that the helpers read: the rule on [0, 1], the length of a panel, the reach."""
    nodes, weights = _legendre(POINTS)
    return (
        ("_REACH", "9.5"),
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

    kernel = variable(symbols[0])
    factors_: dict[Any, str] = {}
    lines: list[str] = []

    def listed(places: Iterable[sp.Expr]) -> str:
        """Points of the line, one value for each entry."""
        texts = [Emitter(dialect, names).function([("return", p)])[-1].removeprefix("return ") for p in places]
        return "(" + "".join(f"{text} + 0.0*{kernel}, " for text in texts).strip() + ")"

    def factor(f: Any) -> str:
        """The variable that holds a factor: its parts, its breaks, where it changes and on what scale, its reach."""
        if f not in factors_:
            factors_[f] = f"f{len(factors_) + 1}"
            polynomial = is_polynomial(f)
            places = f.breaks if f.breaks and (polynomial or 0 in f.breaks) else (*f.breaks, sp.Integer(0))
            functions = "".join(f"{part(p)}, " for p in f.parts).strip()
            scale = "math.inf" if polynomial else "1.0"
            inner = given(f) if polynomial and is_pair else "None"
            far = FAR if vanishes(f) else "_REACH"
            lines.append(
                f"{factors_[f]} = ({functions}), {listed(f.breaks)}, {listed(places)}, {scale}, {far}, {inner}"
            )
        return factors_[f]

    def given(f: Any) -> str:
        """The functions from which the average of a piecewise polynomial over one variable is made."""
        square, count = sp.Dummy("square"), len(parts)
        called: list[list[str]] = [[], []]
        for formula in means(f, square):
            called[0].append(f"{name}_mean_{count}_{len(called[0]) + 1}")
            code = Emitter(dialect, {z: "z", square: "square", **names}).function([("return", formula)])
            preamble.append("\n".join([f"def {called[0][-1]}(z, square{rest}):", *(f"    {line}" for line in code)]))
        for coefficients in jumps(f):
            called[1].append(f"{name}_jump_{count}_{len(called[1]) + 1}")
            texts = [
                Emitter(dialect, names).function([("return", e)])[-1].removeprefix("return ") for e in coefficients
            ]
            preamble.append(f"def {called[1][-1]}({rest.removeprefix(', ')}):\n    return {', '.join(texts)},")
        return "(" + ", ".join("(" + "".join(f"{text}, " for text in texts).strip() + ")" for texts in called) + ")"

    def ruled(factors: Sequence[Any]) -> str:
        rule = rule_of(*factors)
        return f"{rule.helper}, {rule.cost}, {rule.few}"

    values: dict[Any, sp.Expr] = {}
    for node in averages(expr):
        total = sp.Integer(0)
        for coefficient, factors in node.terms:
            called = ", ".join(factor(f) for f in factors)
            average = f"a{len(lines) + 1}"
            lines.append(
                f"{average} = "
                + (
                    f"_pair_average({ruled(factors)}, {called}, K1, K2, C{rest})"
                    if is_pair
                    else f"_kernel_average({called}, K{rest})"
                )
            )
            symbol = sp.Symbol(f"{name}_{average}")
            names[symbol] = average
            total += coefficient * symbol
        values[node] = total
    lines += Emitter(dialect, names).function([("return", expr.xreplace(values))])
    arguments = ", ".join(variable(s) for s in symbols)
    for s in symbols[:kernels]:  # quotients such as <z f f'>/K have their limit at K = 0
        if any(p.base == s and p.exp.is_negative for p in expr.atoms(sp.Pow)):
            lines.insert(0, f"{variable(s)} = {library}.clip({variable(s)}, {1e-20 if is_pair else 1e-100}, None)")
    preamble.append("\n".join([f"def {name}_rule({arguments}):", *(f"    {line}" for line in lines)]))
    return Source((f"return _flat({name}_rule, {ROWS[is_pair]}, {arguments})",), tables(), tuple(preamble))


def slopes(expr: sp.Expr, symbols: Sequence[sp.Symbol]) -> dict[sp.Symbol, sp.Expr]:
    """The derivative of a sum of averages in each argument, in averages; none in a parameter that moves a jump."""
    out = {}
    nodes = {node: sp.Dummy() for node in averages(expr)}
    linear = expr.xreplace(nodes)
    for s in symbols:
        if s in (K1, K2):
            out[s] = sp.Add(*(linear.diff(d) * variance_slope(node, s == K1) for node, d in nodes.items()))
        elif s == C:
            out[s] = sp.Add(*(linear.diff(d) * covariance_slope(node) for node, d in nodes.items()))
        elif s == K:
            out[s] = expr.diff(s)
        elif not any(_moves_a_jump(s, node) for node in nodes):
            out[s] = expr.xreplace({node: _written_out(node) for node in nodes}).diff(s)
    return out


def _written_out(node: Any) -> Any:
    """An average whose activations are formulas, so that their parameters stand in sight."""
    atoms = {e: e.expanded for e in sp.preorder_traversal(node.integrand) if hasattr(e, "expanded")}
    return node.func(node.integrand.xreplace(atoms), *node.covariance)


def _moves_a_jump(parameter: sp.Symbol, node: Any) -> bool:
    factors = [f for _, fs in node.terms for f in fs]
    return any(not f.is_continuous and any(b.has(parameter) for b in f.breaks) for f in factors)


def variance_slope(node: Any, first: bool) -> sp.Expr:
    """The derivative of a pair average in K1 (or K2), regular on the diagonal.

    Price's <f'' g>/2 for smooth f. With kinks, Stein's lemma <z1 f'(z1) g(z2)> = K1 <f'' g> + C <f' g'> gives the same
    without second derivatives.
    """
    i = 0 if first else 1
    x, y = _bound(node)[i], _bound(node)[1 - i]
    v = (K1, K2)[i]
    f = node.integrand
    covariance = node.covariance
    if all(factors[i].is_continuous and factors[i].diff().is_continuous for _, factors in node.terms):
        return node.func(f.diff(x, 2), *covariance) / 2
    return (node.func(x * f.diff(x), *covariance) - C * node.func(f.diff(x, y), *covariance)) / (2 * v)


def covariance_slope(node: Any) -> sp.Expr:
    """The derivative of a pair average in C: Price's theorem, <f' g'>."""
    x, y = _bound(node)
    return node.func(node.integrand.diff(x, y), *node.covariance)


def averages(expr: sp.Expr) -> list[Any]:
    """The unevaluated averages in an expression, in a fixed order."""
    found = {e for e in sp.preorder_traversal(expr) if hasattr(e, "integrand") and hasattr(e, "covariance")}
    return sorted(found, key=lambda e: (len(str(e)), str(e)))


def entry_time(expr: sp.Expr) -> str:
    """How long the quadrature of one entry of a matrix takes, by the slowest rule that it needs."""
    rules = [rule_of(*factors) for node in averages(expr) for _, factors in node.terms]
    return max(rules, key=lambda rule: rule.cost).time


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
