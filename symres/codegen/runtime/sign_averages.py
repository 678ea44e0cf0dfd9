"""Averages of products of signs in generated modules: S2, Q2, S4 and T4 for arrays of floats.

Two variables: seen from the origin of the plane in which they are independent, the part of the plane beyond two lines
has two edges, and each edge adds the integral of ``exp(-distance**2/2)`` over the angle that it fills. Those are
functions of two numbers, h and y, positive where both are, so that tails keep their digits. The correlation r comes as
the legs x, y of an angle, ``r = x/sqrt(x**2 + y**2)``: what is near 1 would else have lost its digits before. For S2
of correlations far from 1 and -1 Plackett's integral starts at independent variables, and small values keep theirs.

Four variables: Plackett's identity along the path t*r, 0 < t < 1, the nodes crowded at the end,
where the integrand has roots if the variables are linearly dependent.

One text serves NumPy and PyTorch: it uses functions that both libraries call by the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from ..emission.emitter import rows

NODES = 40  # of the Gauss-Legendre rule for all of them
STRIP = 28  # of the one on the intervals of averages/conditional_exponential.py

GAUSS_NUMPY = """
def _{name}(like):
    '''The Gauss-Legendre rule on [0, 1].'''
    return np.array(_{table}_NODES), np.array(_{table}_WEIGHTS)
""".replace("'''", '"' * 3)

GAUSS_TORCH = """
def _{name}(like):
    '''The Gauss-Legendre rule on [0, 1].'''
    kind = {{"dtype": like.dtype, "device": like.device}}
    return torch.tensor(_{table}_NODES, **kind), torch.tensor(_{table}_WEIGHTS, **kind)
""".replace("'''", '"' * 3)

LEGS = '''
def _legs(h, k, x, y):
    """The sides of the corner at x1 = h, x2 = k along both edges, from the feet of the origin on."""
    size = np.hypot(x, y)
    size = np.where(size > 0.0, size, 1.0)
    r, s = x/size, np.clip(y/size, 1e-300, None)
    part = s*s/(1.0 + np.abs(r))  # 1 - abs(r)
    first = np.where(r > 0.0, (k - h) + h*part, (k + h) - h*part)/s
    second = np.where(r > 0.0, (h - k) + k*part, (h + k) - k*part)/s
    return first, second
'''

EDGE = '''
def _edge(h, y):
    """The integral of exp(-(h*h + t*t)/2)*h/(h*h + t*t) over t from y on, over 2*pi: odd in h, 1/2 on one side of 0.

    Near the origin the complement of Owen's function is taken, whose integrand is smooth there.
    """
    nodes, weights = _gauss(h)
    size, place = np.abs(h), np.abs(y)
    far = (size >= 1.0) | (place >= 1.0)
    a, b = np.where(far, size, 1.0), np.clip(place, None, 1e150)
    length = 76.0/(b + np.sqrt(b*b + 76.0))  # all but exp(-38) of it
    square = (a*a)[..., None]
    t = b[..., None] + length[..., None]*nodes
    value = a*length*(np.exp(-0.5*(square + t*t))/(square + t*t)*weights).sum(-1)
    a, b = np.where(far, 0.5, size), np.where(far, 0.25, place)
    large = np.maximum(a, b)
    slope = np.minimum(a, b)/np.clip(large, 1e-300, None)
    t = slope[..., None]*nodes
    owen = slope*(np.exp(-0.5*(large*large)[..., None]*(1.0 + t*t))/(1.0 + t*t)*weights).sum(-1)
    tail = special.erfc(0.7071067811865476*b)
    first = 1.5707963267948966*special.erfc(0.7071067811865476*a) - owen
    near = np.where(b <= a, first, owen - 1.5707963267948966*special.erf(0.7071067811865476*a)*tail)
    value = 0.15915494309189535*np.where(far, value, near)
    value = np.where(y < 0.0, 0.5*special.erfc(0.7071067811865476*size) - value, value)
    return np.where(h < 0.0, -value, value)
'''

TWO_TAILS = '''
def _of_two_tails(h, k, x, y):
    """P(x1 > h, x2 > k) of standard normal variables with correlation x/sqrt(x*x + y*y), y >= 0."""
    h, k = (np.where(np.abs(a) < 1e-150, 1e-150, a) for a in (h, k))  # the edges of a corner at 0 need a direction
    first, second = _legs(h, k, x, y)
    inside = (h < 0.0) & (k < 0.0)
    return np.where(inside, 1.0, 0.0*h) + (_edge(h, first) + _edge(k, second))


def _two_tails(h, k, x, y):
    """The upper tail of the bivariate normal law, see _of_two_tails."""
    return _flat(_of_two_tails, 512, np.clip(h, -99.0, 99.0), np.clip(k, -99.0, 99.0), x, y)
'''

TWO_SIGNS = '''
def _of_two_signs(h, k, x, y):
    """<sgn(h + x1) sgn(k + x2)> of standard normal variables with correlation x/sqrt(x*x + y*y), y >= 0."""
    nodes, weights = _gauss(h)
    angle = np.arctan2(x, y)  # asin of the correlation
    half, other = special.erf(0.7071067811865476*h), special.erf(0.7071067811865476*k)
    mild = np.abs(angle) < 1.0
    start = np.where(mild, angle, 0.0)
    t = start[..., None]*nodes
    cosine = np.cos(t)
    exponent = ((h*h + k*k)[..., None] - 2.0*(h*k)[..., None]*np.sin(t))/(cosine*cosine)
    near = half*other + 0.6366197723675814*start*(np.exp(-0.5*exponent)*weights).sum(-1)
    odd = np.where((h < 0.0) ^ (k < 0.0), -1.0, 1.0)
    tails = _of_two_tails(np.abs(h), np.abs(k), np.where(mild, 0.0, odd*x), np.where(mild, 1.0, y))
    return np.where(mild, near, odd*(4.0*tails - 1.0 + np.abs(half) + np.abs(other)))


def _two_signs(h, k, x, y):
    """The average of two signs, see _of_two_signs."""
    return _flat(_of_two_signs, 512, np.clip(h, -99.0, 99.0), np.clip(k, -99.0, 99.0), x, y)
'''

_PAIRS = tuple(combinations(range(4), 2))


def _others(place: int) -> tuple[int, ...]:
    """The opposite correlation of a pair (i, j) of four, then those of its first variable and of its second."""
    i, j = _PAIRS[place]
    k, m = (v for v in range(4) if v not in (i, j))
    wanted = ((k, m), (i, k), (i, m), (j, k), (j, m))
    return tuple(_PAIRS.index((min(p), max(p))) for p in wanted)


FOUR_SIGNS = f'''
_OTHERS = {tuple(map(_others, range(6)))}  # the opposite correlation of each, then its neighbours


def _given_two(t, r, kl, ik, il, jk, jl):
    """The sine of the angle of two variables, where two others of correlation t*r are 0; all correlations times t."""
    r, kl, ik, il, jk, jl = t*r, t*kl, t*ik, t*il, t*jk, t*jl
    rest = (1.0 - r)*(1.0 + r)
    covariance = kl*rest - ik*il - jk*jl + r*(ik*jl + il*jk)
    first, second = rest - ik*ik - jk*jk + 2.0*r*ik*jk, rest - il*il - jl*jl + 2.0*r*il*jl
    size = np.sqrt(np.clip(first, 1e-300, None))*np.sqrt(np.clip(second, 1e-300, None))
    return np.clip(covariance/size, -1.0, 1.0)


def _of_four_signs(*r):
    """<sgn(x1) sgn(x2) sgn(x3) sgn(x4)> of centred normal variables with correlations r12, r13, r14, r23, r24, r34."""
    nodes, weights = _gauss(r[0])
    path, weights = nodes*(2.0 - nodes), weights*(2.0 - 2.0*nodes)
    total = 0.0*r[0]
    for fixed, others in zip(r, _OTHERS):
        angle = np.arcsin(np.clip(fixed, -1.0, 1.0))
        sure = np.where(fixed == 0.0, 1.0, fixed)
        share = np.sin(angle[..., None]*path)/sure[..., None]
        inner = np.arcsin(_given_two(share, *[r[i][..., None] for i in (_OTHERS.index(others), *others)]))
        total = total + angle*(inner*weights).sum(-1)
    return 0.4052847345693511*total


def _four_signs(*r):
    """The average of four signs, see _of_four_signs; up to 4e-11 off close to linear dependence."""
    return _flat(_of_four_signs, 128, *r)
'''

EQUAL_SIGNS = '''
def _of_equal_signs(r):
    """The average of the product of the signs of four centred normal variables with equal correlations."""
    nodes, weights = _gauss(r)
    angle = np.arcsin(np.clip(r, -0.3333333333333333, 1.0))
    sine = np.sin(angle[..., None]*(nodes*(2.0 - nodes)))
    inner = np.arcsin(np.clip(sine/(1.0 + 2.0*sine), -1.0, 1.0))
    return 2.431708407416107*angle*(inner*(weights*(2.0 - 2.0*nodes))).sum(-1)


def _equal_signs(r):
    """The average of four signs of equal correlations, see _of_equal_signs."""
    return _flat(_of_equal_signs, 512, r)
'''

ALIKE = '''
def _alike(*values):
    """The arguments in their common shape; numbers become tensors."""
    like = next(v for v in values if isinstance(v, torch.Tensor))
    return torch.broadcast_tensors(*(torch.as_tensor(v, dtype=like.dtype, device=like.device) for v in values))
'''

_PLANE_SLOPES = '''

def _of_{name}_slopes(needed, h, k, x, y):
    """Its derivatives: densities at a jump, and Plackett's identity for the angle."""
    first, second = _legs(h, k, x, y)
    square = torch.clamp(x*x + y*y, min=1e-300)
    along_h = 0.3989422804014327*torch.exp(-0.5*h*h)*{first}
    along_k = 0.3989422804014327*torch.exp(-0.5*k*k)*{second}
    turn = {turn}*torch.exp(-0.5*(h*h + first*first))
    return along_h, along_k, -turn*y/square, turn*x/square
'''

SLOPES_TORCH = {
    "_two_signs": _PLANE_SLOPES.format(
        name="two_signs",
        first="2.0*torch.erf(0.7071067811865476*first)",
        second="2.0*torch.erf(0.7071067811865476*second)",
        turn="-0.6366197723675814",
    ),
    "_two_tails": _PLANE_SLOPES.format(
        name="two_tails",
        first="-0.5*torch.erfc(0.7071067811865476*first)",
        second="-0.5*torch.erfc(0.7071067811865476*second)",
        turn="-0.15915494309189535",
    ),
    "_four_signs": '''

def _of_four_signs_slopes(needed, *r):
    """Its derivatives: two variables at zero, and the signs of the others there."""
    slopes = []
    for fixed, others in zip(r, _OTHERS):
        inner = torch.arcsin(_given_two(1.0, fixed, *[r[i] for i in others]))
        rest = torch.clamp((1.0 - fixed)*(1.0 + fixed), min=1e-300)
        slopes.append(0.4052847345693511*inner/torch.sqrt(rest))
    return slopes
''',
    "_equal_signs": '''

def _of_equal_signs_slopes(needed, r):
    """Its derivative."""
    inner = torch.arcsin(torch.clamp(r/(1.0 + 2.0*r), -1.0, 1.0))
    return (2.431708407416107*inner/torch.sqrt(torch.clamp((1.0 - r)*(1.0 + r), min=1e-300)),)
''',
}

Helpers = dict[str, tuple[str, tuple[str, ...]]]


def gauss(name: str, nodes_and_weights: tuple[Sequence[float], Sequence[float]], torch: bool) -> str:
    """The text of a function that returns a rule on [0, 1], and of its tables."""
    table = name.upper()
    nodes, weights = (rows([numbers], 4)[0] for numbers in nodes_and_weights)
    text = (GAUSS_TORCH if torch else GAUSS_NUMPY).format(name=name, table=table)
    return f"{text}\n\n_{table}_NODES = {nodes}\n_{table}_WEIGHTS = {weights}\n"


def helpers(
    legendre: Callable[[int], tuple[list[float], list[float]]], spelled: Callable[[str], str], torch: bool
) -> Helpers:
    """The helper functions, and the names of those that each calls.

    Args:
        legendre: nodes and weights on [0, 1], from their number.
        spelled: a text in the names of the library.
        torch: whether there are derivatives.
    """
    found: Helpers = {
        "_gauss": (gauss("gauss", legendre(NODES), torch), ()),
        "_strip": (gauss("strip", legendre(STRIP), torch), ()),
        "_legs": (spelled(LEGS), ()),
        "_edge": (spelled(EDGE), ("_gauss",)),
        "_two_tails": (spelled(TWO_TAILS), ("_edge", "_legs", "_flat")),
        "_two_signs": (spelled(TWO_SIGNS), ("_two_tails", "_gauss", "_flat")),
        "_four_signs": (spelled(FOUR_SIGNS), ("_gauss", "_flat")),
        "_equal_signs": (spelled(EQUAL_SIGNS), ("_gauss", "_flat")),
    }
    if torch:
        found |= {name: (found[name][0] + slopes, found[name][1]) for name, slopes in SLOPES_TORCH.items()}
        found["_alike"] = (ALIKE, ())
    return found
