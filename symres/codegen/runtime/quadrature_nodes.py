"""Nodes and weights at run time, crowded around the points where a function changes.

Smooth functions: the trapezoidal rule in t, y = width*sinh(t), around the preactivation 0. Functions with breakpoints:
Gauss-Legendre panels on both sides of every breakpoint, growing with the distance from it. Either resolves the width on
which the function changes and reaches out geometrically to many standard deviations. One text serves NumPy and PyTorch:
it uses functions that both libraries call by the same name.
"""

from __future__ import annotations

import hashlib

NODES = '''
def _reach(growth):
    """The deviations behind which nothing remains of a function that grows like this power, kinks included."""
    x = 40.0 + growth
    for _ in range(9):
        x = 40.0 + growth*(1.0 + math.log(max(x/max(growth, 1), 1.0)))
    return max(math.sqrt(2.0*x), _REACH)


def _within(shift, load, wave, most):
    """Which entries can be integrated, and how many deviations exponential growth shifts their mass; their waves.

    Exponentials, whose exponents are the load times the distance, are to be floats where the mass is, and the nodes,
    in proportion to the wave number, not too many.
    """
    steepest = np.maximum(shift, np.where(shift > 0.0, load, 0.0))
    known = (steepest*(shift + 10.0) < 700.0) & (wave < most)
    return known, np.where(known, shift, 0.0), np.where(known, wave, 0.0)


def _longest(length, wave):
    """The length of the steps, shorter where waves are."""
    return 1.0/(1.0/length + wave/12.0)


def _line(centre, width, reach, shift, wave, fine, lowest=-math.inf):
    """Nodes and weights of the standard normal law within its reach, for smooth functions that change at the centre.

    The trapezoidal rule in t, y = centre + width*sinh(t). Its error is exp(-2*pi*a/step), where a < pi/4 is as far as
    t may leave the real line before the Gaussian grows, less if the centre lies off the peak, which exponential growth
    shifts, and the less the more waves there are: 1e-16 here. The nodes
    begin half a step above the lowest place, so that with their mirror images they continue the rule below it.
    Steps are shorter by the factor fine, longer if it is 0.
    """
    centre = np.clip(centre, -3.0*reach, 3.0*reach)
    first, last = np.arcsinh((max(-reach, lowest) - centre)/width), np.arcsinh((reach - centre)/width)
    off = np.sqrt((np.abs(centre) + shift)**2 + width*width)
    count = (last - first)*(8.5 + 1.2*off + 1.4*wave*np.sqrt(1.0 + off*off))
    count = float(np.nan_to_num(count, nan=1.0, posinf=1.0).max())
    count = math.ceil(count if fine is None else count*(fine or 0.7))
    step = ((last - first)/count)[..., None]
    t = first[..., None] + step*(_count(count, width) + 0.5)
    y = centre[..., None] + width[..., None]*np.sinh(t)
    return y, step*width[..., None]*np.cosh(t)*np.exp(-0.5*y*y)*0.3989422804014327


def _graded(length, width, longest, fine):
    """Edges from 0 to a length: steps near ``width`` at first, then in proportion to the distance, up to ``longest``.

    They are equidistant in t = arcsinh(x/width) + x/longest, which Newton's method inverts.
    They are shorter by the factor fine.
    """
    longest = longest + 0.0*length
    end = np.nan_to_num(np.arcsinh(length/width) + length/longest, nan=1.0, posinf=1.0)  # for the others' sake
    pieces = math.ceil(float(end.max())/_PANEL)*(fine or 1)
    if not pieces:
        return None
    t = end[..., None]*(_count(pieces + 1, width)/pieces)
    width, longest = width[..., None], longest[..., None]
    x = np.minimum(width*np.sinh(np.minimum(t, 40.0 + 0.0*t)), longest*t)
    for _ in range(8):
        slope = 1.0/np.sqrt(x*x + width*width) + 1.0/longest
        x = np.clip(x - (np.arcsinh(x/width) + x/longest - t)/slope, 0.0, None)
    return np.concatenate([x[..., :-1], length[..., None]], -1)  # without a gap to the panels of the next anchor


def _panels(anchors, width, longest, reach, farthest, fine, lowest=-math.inf):
    """Nodes and weights for functions with kinks at the anchors, or that change there on the scale of the width.

    Gauss-Legendre panels on both sides of every anchor, beyond the outer ones only as far as the law is not negligible
    beside its value there, and in steps on which it does not fall by many orders. Anchors beyond the farthest count
    as that: a function that is faint around 0 may have all its mass at anchors that are far, or on the way to them.
    No anchor is beneath the lowest place.
    """
    points, weights = _rule(width, fine)
    anchors = _sorted([np.clip(anchor, -farthest, farthest) for anchor in anchors])
    nodes, masses = [], []
    for k, anchor in enumerate(anchors):
        away = np.sqrt(anchor*anchor + reach*reach)
        left = np.clip(-away, lowest, None) if k == 0 else 0.5*(anchors[k - 1] + anchor)
        right = away if k == len(anchors) - 1 else 0.5*(anchor + anchors[k + 1])
        for side, end in ((-1.0, left), (1.0, right)):
            most = longest/(1.0 + 0.2*np.clip(side*anchor, 0.0, None))
            edges = _graded(side*(end - anchor), width, most, fine)
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


def _sized(value, fine):
    """Values; with the longest steps, of two averages that are compared, their sizes before them."""
    return np.stack([np.abs(value), value]) if fine == 0 else value
'''

KERNEL = '''
def _kernel_average(f, K, *parameters):
    """<f(z)> for z of variance K, over pairs of nodes z and -z: what is odd cancels exactly."""
    parts, breaks, places, (scale, rate, load, wave), far, growth, *_, fine = f
    deviation = np.sqrt(np.clip(K, 1e-280, None))
    known, shift, wave = _within(rate*deviation, load*deviation, wave*deviation, 5000.0)
    reach = _reach(growth) + float(shift.max())
    if breaks or len(places) > 1:  # or it changes away from 0
        width = np.clip(scale/deviation, 1e-8, 1e8)
        places = [np.abs(place)/deviation for place in places]
        y, mass = _panels(places, width, _longest(3.0, wave), reach, max(reach, far), fine, 0.0)
    else:
        y, mass = _line(0.0*K, np.clip(scale/deviation, 1e-8, 8.0), reach, shift, wave, fine, 0.0)
    z = deviation[..., None]*y
    value = _sized(_whole(parts, breaks, z, parameters), fine) + _sized(_whole(parts, breaks, -z, parameters), fine)
    return np.where(known, (value*mass).sum(-1), math.nan)
'''

TAKEN = '''
def _taken(f, index, last):
    """A function whose breaks, places and scales differ from entry to entry, at some of them, with another last."""
    parts, breaks, places, scales, *others, _ = f
    return parts, *([o[index] for o in group] for group in (breaks, places, scales)), *others, last
'''

REFINED = '''
def _refined(part, few, count, finest, like):
    """Averages of so many entries, with steps so short that shorter ones would change nothing; nan where none are.

    part(fine, entries) computes them with steps shorter by that factor. For 0 there are only 0.7 times as many nodes,
    and the sizes come first, averages of absolute values. The rules converge so fast that an error of 3e-11 becomes
    5e-16 with all of them, and one of 1e-9 less than that with twice as many. In the end six digits are better than
    none: rounding hides the others where terms of the function itself cancel.
    """
    def sums(fine, entries):
        rows = math.ceil(few/max(1, fine*fine))
        return np.concatenate(_few(lambda some: part(fine, some), rows, entries), -1).reshape((-1, entries.shape[0]))

    left, fine = _count(count, like), 1
    before, out = sums(0, left), sums(1, left)
    size, before, found = before[0], before[1:], out
    while True:
        size = np.maximum(size, np.abs(found[0]))
        close = 3e-11 if fine == 1 else 1e-9 if fine < finest else 1e-6
        off = np.amax(np.abs(found[:before.shape[0]] - before), 0) > close*size + 1e-300
        left, size, before, fine = left[off], size[off], found[:, off], 2*fine
        if not left.shape[0] or fine > finest:
            break
        found = sums(fine, left)
        out[:, left] = found
    out[:, left] = math.nan
    return out
'''

PLAIN = '''
def _plain(part, few, count, finest, like):
    """What is computed for so many entries, a few at a time."""
    return np.concatenate(_few(lambda some: part(None, some), few, _count(count, like)), -1).reshape((-1, count))
'''

OVER_ONE = '''
def _over_one(rule, f, *columns):
    """Averages over one variable, a few entries at a time, with steps as short as they must be."""
    def part(fine, some):
        return rule(_taken(f, some, fine), *(c[some] for c in columns))

    return (f[8] or _plain)(part, 256, columns[0].shape[0], 64, columns[0])[0]
'''

RULE_NUMPY = '''
def _count(number, like):
    """0, 1, 2, ..."""
    return np.arange(number)


def _rule(like, fine):
    """The Gauss-Legendre rule on [0, 1], of fewer points if fine is 0."""
    rows = (_FEWER_POINTS, _FEWER_WEIGHTS) if fine == 0 else (_POINTS, _WEIGHTS)
    return (np.array(row) for row in rows)
'''

RULE_TORCH = '''
def _count(number, like):
    """0, 1, 2, ..."""
    return torch.arange(number, device=like.device)


def _rule(like, fine):
    """The Gauss-Legendre rule on [0, 1], of fewer points if fine is 0."""
    rows = (_FEWER_POINTS, _FEWER_WEIGHTS) if fine == 0 else (_POINTS, _WEIGHTS)
    return (torch.tensor(row, dtype=like.dtype, device=like.device) for row in rows)
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
    with np.errstate(all="ignore"):  # where there is no value, or no place of change
        out = _few(function, step, *(np.where(known, a.reshape(-1), 1.0) for a in arguments))
    return np.where(known, np.concatenate([*out, np.empty(0)]), np.nan).reshape(shape)
'''

DIGEST = "DIGEST_OF_THIS_TEXT"

FLAT_TORCH = f'''
def _flat(function, step, *arguments):
    """Evaluate a function of tensors of one axis, on so many entries at a time; computed in float64.

    Its derivatives are what the function of its name and _slopes gives; if there is none, it has none. The number of
    nodes depends on the values: torch.compile calls operators, and does not trace what is inside them.
    """
    return _OPERATORS.flat(function.__name__, step, torch.broadcast_tensors(*arguments))


class _Flat(torch.autograd.Function):
    """The same, the function by its name: in reverse and in forward mode, and in batches."""

    @staticmethod
    def forward(name, step, *arguments):
        return _OPERATORS.values(name, step, arguments)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.name, _, *arguments = inputs
        ctx.save_for_backward(*arguments)
        ctx.save_for_forward(*arguments)
        ctx.set_materialize_grads(False)

    @staticmethod
    def slopes(ctx, factors):
        slopes = globals().get(f"{{ctx.name}}_slopes")
        if slopes is None:
            raise NotImplementedError(f"{{ctx.name}} has no derivative: averages have first derivatives only")
        slopes = slopes([factor is not None for factor in factors], *ctx.saved_tensors)
        return [None if factor is None else factor*slope for factor, slope in zip(factors, slopes)]

    @staticmethod
    def backward(ctx, gradient):
        return None, None, *_Flat.slopes(ctx, [gradient if needed else None for needed in ctx.needs_input_grad[2:]])

    @staticmethod
    def jvp(ctx, name, step, *tangents):
        return sum(part for part in _Flat.slopes(ctx, tangents) if part is not None)

    @staticmethod
    def vmap(info, axes, name, step, *arguments):
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(arguments, axes[2:])]
        return _Flat.apply(name, step, *torch.broadcast_tensors(*moved)), 0


_NAMES = (f"symres_{DIGEST}_{{number}}" for number in range(1 << 30))  # for this text, whenever it is loaded
_OPERATORS = next(found for found in (getattr(torch.ops, name) for name in _NAMES) if not hasattr(found, "flat"))
for _operator in ("flat", "values"):
    torch.library.define(f"{{_OPERATORS.name}}::{{_operator}}", "(str name, int step, Tensor[] arguments) -> Tensor")


@torch.library.impl(f"{{_OPERATORS.name}}::flat", ("CompositeImplicitAutograd", "FuncTorchDynamicLayerFrontMode"))
def _differentiable(name, step, arguments):
    """The values and their derivatives, under the transforms of torch.func too."""
    return _Flat.apply(name, step, *arguments)


@torch.library.register_fake(f"{{_OPERATORS.name}}::values")
def _like(name, step, arguments):
    """A tensor like the values."""
    return torch.empty_like(arguments[0], memory_format=torch.contiguous_format)


@torch.library.impl(f"{{_OPERATORS.name}}::values", "default")
def _at_entries(name, step, arguments):
    """The values of a function, nan where an argument is no finite number."""
    shape, kind = arguments[0].shape, arguments[0].dtype
    known = torch.isfinite(sum(arguments)).reshape(-1)
    out = _few(globals()[name], step, *(torch.where(known, a.reshape(-1).to(torch.float64), 1.0) for a in arguments))
    return torch.where(known, torch.cat([*out, known[:0]]), math.nan).reshape(shape).to(kind)
'''

FEW = '''
def _few(function, step, *arrays):
    """The results of a function on so many rows at a time, so that its nodes fit into the cache."""
    return [function(*(a[i:i + step] for a in arrays)) for i in range(0, arrays[0].shape[0], step)]
'''


def with_digest(text: str) -> str:
    """The text of a module with a digest of it in the names of its operators: no other text has them."""
    return text.replace(DIGEST, hashlib.sha256(text.encode()).hexdigest()[:12])
