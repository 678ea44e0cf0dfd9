"""Helper functions of PyTorch modules, their gradients finite where the mathematics is."""

from __future__ import annotations

from collections.abc import Sequence

_CLASS = '''
class {name}(torch.autograd.Function):
    """{about}"""
{rule}
    @staticmethod
    def forward({arguments}):
        {value}

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        {backward}
'''
_POINTWISE = """
    generate_vmap_rule = True
"""
_VMAP = """
    @staticmethod
    def vmap(info, axes, *arguments):
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(arguments, axes)]
        return {name}.apply(*moved), 0
"""


def own_gradient(
    name: str, about: str, arguments: str, value: Sequence[str], backward: Sequence[str], pointwise: bool = True
) -> str:
    """The text of an autograd.Function whose gradient is given.

    Args:
        name: of the class.
        about: its docstring.
        arguments: of forward, separated by commas; all are saved for the gradient.
        value: lines of forward.
        backward: lines of the gradient.
        pointwise: whether torch can vectorise the lines itself; if not, batches become leading axes.
    """
    indent = "\n        "
    text = _CLASS.format(
        name=name,
        about=about,
        rule=_POINTWISE if pointwise else "",
        arguments=arguments,
        value=indent.join(value),
        backward=indent.join(backward),
    )
    return text if pointwise else text + _VMAP.format(name=name)


DETERMINANT = own_gradient(
    "_Determinant",
    "K1*K2 - C**2 without cancellation; 0 where rounding made C a little too large.\n"
    "\n"
    "    The derivative is that of the polynomial, on the boundary too: autograd through a clamp would give 0 there.\n"
    "    ",
    "K1, K2, C",
    [
        "wide = [v.to(torch.float64) for v in (K1, K2, C)]  # products of float32 numbers are exact in float64",
        "p, p_error = _two_product(wide[0], wide[1])",
        "q, q_error = _two_product(wide[2], wide[2])",
        "return torch.clamp((p - q) + (p_error - q_error), min=0.0).to(C.dtype)",
    ],
    [
        "K1, K2, C = ctx.saved_tensors",
        "return gradient*K2, gradient*K1, -2.0*gradient*C",
    ],
)

ERFCX = (
    own_gradient(
        "_Erfcx",
        "exp(u**2)*erfc(u); its derivative is 2*u*erfcx(u) - 2/sqrt(pi), which cancels for large u.",
        "u",
        ["return torch.special.erfcx(u)"],
        ["(u,) = ctx.saved_tensors", "return gradient*_erfcx_slope(u)"],
    )
    + '''

def _erfcx_slope(u):
    """The derivative of exp(u**2)*erfc(u), by its series in v = 1/(2*u**2) where that holds."""
    far = u > 14.0
    v = 0.5/torch.where(far, u, 14.0)**2
    series = 1.0
    for odd in range(21, 1, -2):
        series = 1.0 - odd*v*series
    near = torch.where(far, 14.0, u)
    return torch.where(far, -1.1283791670955126*v*series, 2.0*near*_Erfcx.apply(near) - 1.1283791670955126)
'''
)

CORRELATION = '''
def _correlation(K1, K2, C):
    """C/sqrt(K1*K2) and sqrt(1 - (C/sqrt(K1*K2))**2), without cancellation; 0 and 1 where a kernel vanishes."""
    wide = [v.to(torch.float64) for v in (K1, K2, C)]  # products of tiny float32 numbers
    size = _root(wide[0])*_root(wide[1])
    vanishes = size == 0.0
    size = torch.where(vanishes, 1.0, size)
    ratio = torch.where(vanishes, 0.0, torch.clamp(wide[2]/size, -1.0, 1.0))
    rest = _root(_Determinant.apply(*wide))/size
    rest = torch.where(size > 1e-140, rest, _root((1.0 - ratio)*(1.0 + ratio)))
    return ratio.to(C.dtype), torch.clamp(rest, max=1.0).to(C.dtype)
'''

SEPARATION = '''
def _separation(K1, K2, C):
    """sqrt(K1*K2) - C without cancellation; 0 where rounding made C a little too large."""
    wide = [v.to(torch.float64) for v in (K1, K2, C)]
    size = _root(wide[0])*_root(wide[1])
    both = size + torch.abs(wide[2])
    near = _Determinant.apply(*wide)/(both + (both == 0.0))
    return torch.where(wide[2] > 0.0, near, size - wide[2]).to(C.dtype)
'''

ROOT = '''
def _root(x):
    """The square root; its derivative at 0, which is infinite, is given as 0."""
    vanishes = x <= 0.0
    return torch.where(vanishes, 0.0, torch.sqrt(torch.where(vanishes, 1.0, x)))
'''

RADICAL = '''
def _radical(x, power):
    """x**power for x >= 0 and a power below 1; its derivative at 0, which is infinite, is given as 0."""
    vanishes = x <= 0.0
    return torch.where(vanishes, 0.0, torch.pow(torch.where(vanishes, 1.0, x), power))
'''

RATIO = '''
def _ratio(a, b):
    """a/b; 0 where b = 0."""
    nonzero = b != 0.0
    return torch.where(nonzero, a/torch.where(nonzero, b, 1.0), 0.0)
'''

EXPSINH = own_gradient(
    "_ExpSinh",
    "exp(a)*sinh(b), without overflow where a + abs(b) <= 0 and without cancellation at b = 0.",
    "a, b",
    [
        "size = torch.abs(b)",
        "return -0.5*torch.sign(b)*torch.exp(a + size)*torch.expm1(-2.0*size)",
    ],
    [
        "a, b = ctx.saved_tensors",
        "return gradient*_ExpSinh.apply(a, b), gradient*_ExpCosh.apply(a, b)",
    ],
)

EXPCOSH = own_gradient(
    "_ExpCosh",
    "exp(a)*cosh(b), without overflow where a + abs(b) <= 0.",
    "a, b",
    [
        "size = torch.abs(b)",
        "return 0.5*torch.exp(a + size)*(1.0 + torch.exp(-2.0*size))",
    ],
    [
        "a, b = ctx.saved_tensors",
        "return gradient*_ExpCosh.apply(a, b), gradient*_ExpSinh.apply(a, b)",
    ],
)

EXPCOSHM1 = own_gradient(
    "_ExpCoshm1",
    "exp(a)*(cosh(b) - 1), without overflow where a + abs(b) <= 0 and without cancellation at b = 0.",
    "a, b",
    [
        "size = torch.abs(b)",
        "half = torch.expm1(-size)",
        "return 0.5*torch.exp(a + size)*half*half",
    ],
    [
        "a, b = ctx.saved_tensors",
        "return gradient*_ExpCoshm1.apply(a, b), gradient*_ExpSinh.apply(a, b)",
    ],
)

DAWSON = own_gradient(
    "_Dawson",
    "exp(-x**2) times the integral of exp(t**2) from 0 to x: Rybicki's sum of Gaussians, exact to exp(-(2*pi)**2).",
    "x",
    [
        "n = torch.arange(1, 27, 2, dtype=x.dtype, device=x.device)",
        "small = torch.abs(x) < 1.0",
        "u = torch.where(small, x, 0.5)[..., None]",
        "near = torch.exp(-u*u)*(2.0*torch.exp(-(0.25*n)**2)/n*torch.sinh(0.5*n*u)).sum(-1, keepdim=True)",
        "size = torch.abs(x)",
        "u = torch.where(small, 2.0, torch.clamp(x, -1e9, 1e9))[..., None]",
        "even, n = 2.0*torch.round(2.0*u), torch.cat([-n, n])  # the node next to x",
        "far = (torch.exp(-(u - 0.25*(even + n))**2)/(even + n)).sum(-1)*(1e9/torch.clamp(size, min=1e9))",
        "return 0.5641895835477563*torch.where(small, near[..., 0], far)",
    ],
    [
        "(x,) = ctx.saved_tensors",
        "return gradient*(1.0 - 2.0*x*_Dawson.apply(x))",
    ],
)

PIECEWISE = '''
def _piecewise(u, edges, table):
    """The piecewise Chebyshev polynomial of u with the given inner and outer edges (Clenshaw's recursion)."""
    edges = torch.tensor(edges, dtype=u.dtype, device=u.device)
    table = torch.tensor(table, dtype=u.dtype, device=u.device)
    u = torch.minimum(u, edges[-1])
    piece = torch.searchsorted(edges[1:-1].contiguous(), u.detach().contiguous(), right=True)
    left, right = edges[piece], edges[piece + 1]
    t = (2.0*u - (left + right))/(right - left)
    high, low = torch.zeros_like(t), torch.zeros_like(t)
    for k in range(table.shape[0] - 1, 0, -1):
        high, low = table[k][piece] + 2.0*t*high - low, high
    return table[0][piece] + t*high - low
'''

TENSORS = '''
def _tensors(*values):
    """The arguments as tensors of one floating type on one device (numbers alone: float64)."""
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    kinds = [v.dtype for v in tensors if v.dtype.is_floating_point]
    kind = functools.reduce(torch.promote_types, kinds) if kinds else torch.float64
    device = tensors[0].device if tensors else None
    return [torch.as_tensor(v, dtype=kind, device=device) for v in values]
'''

SHAPED = '''
def _shaped(value, *idle):
    """A value that does not depend on the idle arguments, in their common shape and with a gradient of 0 in them."""
    total = functools.reduce(torch.add, idle)
    value = torch.as_tensor(value, dtype=total.dtype, device=total.device)
    return torch.where(torch.ones_like(total, dtype=torch.bool), value, total)
'''

MENDED = '''
class _At(torch.autograd.Function):
    """A function at some entries, and 0 at the others; its derivatives likewise, once."""

    @staticmethod
    def forward(some, function, slopes, *arguments):
        some, *arguments = torch.broadcast_tensors(some, *arguments)
        value = torch.zeros_like(arguments[0])
        if bool(some.any()):
            value[some] = function(*(a[some] for a in arguments))
        return value

    @staticmethod
    def setup_context(ctx, inputs, output):
        some, _, ctx.slopes, *arguments = inputs
        ctx.save_for_backward(some, *arguments)

    @staticmethod
    def backward(ctx, gradient):
        some, *arguments = ctx.saved_tensors
        if ctx.slopes is None and bool(some.any()):
            raise NotImplementedError("averages have first derivatives only")
        out = []
        for slope, needed in zip(ctx.slopes or (), ctx.needs_input_grad[3:]):
            at = _At.apply(some, slope, None, *arguments) if needed else None
            if needed:  # what is not taken may be nan
                at = torch.where(gradient == 0.0, 0.0, gradient*at).sum_to_size(arguments[len(out)].shape)
            out.append(at)
        return None, None, None, *(out or [None]*len(arguments))

    @staticmethod
    def vmap(info, axes, some, function, slopes, *arguments):
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip((some, *arguments), (axes[0], *axes[3:]))]
        return _At.apply(moved[0], function, slopes, *moved[1:]), 0


def _mended(closed, doubt, other, slopes, *arguments):
    """A closed form; by the other function where rounding may have cost more than 1e-12 of it.

    That is worse where it is farther off than rounding can have been.
    """
    arguments = torch.broadcast_tensors(*arguments)
    fixed = [a.detach() for a in arguments]
    first, error = closed(*fixed), 1.1e-16*doubt(*fixed)
    poor = ~(error <= 1e-12*torch.abs(first))
    found = _At.apply(poor, other, slopes, *arguments)
    worse = torch.abs(found.detach() - first) > 4.0*error
    worse = worse | (torch.isnan(found.detach()) & (error <= 1e-6*torch.abs(first)))
    taken = poor & ~worse
    value = closed(*(torch.where(taken, f, a) for f, a in zip(fixed, arguments)))
    return torch.where(taken, found, value)
'''
