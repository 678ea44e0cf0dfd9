"""Averages of two variables at run time: the series in the correlation, and quadrature in the plane beside it.

F = sum_n a_n(K1) b_n(K2) rho**n with Hermite coefficients a_n, b_n, one-dimensional averages that are computed once for
each kernel of a matrix. What the terms so far leave is known exactly, by Bessel's inequality: an entry is taken from
the series where that bound says so, and integrated in the plane where not (correlations near 1 of large kernels and of
functions with kinks). One text serves NumPy and PyTorch: it uses functions that both libraries call by the same name.
"""

from __future__ import annotations

SERIES = '''
def _coefficients(f, K, parameters, terms):
    """The root of <f(z)**2>, and <f(z) h_n(z/sqrt(K))> with normalised Hermite polynomials h_n.

    With the longest steps that root is the size too, and few of the others will do.
    """
    parts, breaks, places, (scale, rate, load, wave), far, growth, *_, fine = f
    deviation = np.sqrt(np.clip(K, 1e-280, None))
    known, shift, wave = _within(2.0*rate*deviation, 2.0*load*deviation, 2.0*wave*deviation, 100.0)
    reach = max(13.0, _reach(2*growth)) + float(shift.max())
    longest = _longest(16.0/math.sqrt(terms), wave)
    width = np.clip(scale/deviation, 1e-8, 1e8)
    places = [place/deviation for place in places]
    if _at_zero(places):  # the same nodes for all kernels
        width, longest, places = width.min()[None], longest.min()[None], [place[:1] for place in places]
    x, mass = _panels(places, width, longest, reach, max(reach, far), fine)
    value = _whole(parts, breaks, deviation[..., None]*x, parameters)
    mass = mass*value
    root = np.sqrt((mass*value).sum(-1))[None]
    before, h, rows, some = 0.0*x, 0.0*x + 1.0, [], []
    for n in range(32 if fine == 0 else terms):
        some.append(h)
        before, h = h, (x*h - math.sqrt(n)*before)/math.sqrt(n + 1)
        if len(some) == 32:
            rows.append(_moments(some, mass))
            some = []
    return np.where(known, np.concatenate([root, *([root] if fine == 0 else []), *rows]), math.nan)


def _at_zero(places):
    """Whether functions change around 0 only, for every entry."""
    return all(float(np.abs(place).max()) == 0.0 for place in places)


def _moments(polynomials, mass):
    """Sums over the nodes, which are the same for all rows of the mass or each row's own."""
    if polynomials[0].shape[0] < mass.shape[0]:
        return np.concatenate(polynomials)@mass.T
    return np.stack([(h*mass).sum(-1) for h in polynomials])


def _expansion(f, K, parameters, terms):
    """The coefficients of every different kernel, the rest of the sum of their squares, the sum; where entries are."""
    others = [*f[1], *f[2], *f[3], *parameters]
    if all(float(o.min()) == float(o.max()) for o in others):
        kernels, place = np.unique(K, return_inverse=True)
    else:
        kernels, place = K, _count(K.shape[0], K)

    def part(fine, some):
        return _coefficients(_taken(f, some, fine), kernels[some], [p[some] for p in parameters], terms)

    steps, few = f[8] or _plain, 1024 if _at_zero(f[2]) else 64
    found = steps(part, few, kernels.shape[0], max(2, 4096//terms), K)
    total, rows = found[0]*found[0], found[1:]
    rest = np.maximum(total - (rows*rows).sum(0), 1e-15*total)  # rounding hides a smaller one
    return (rows, rest, total), place


def _series(f, g, K1, K2, rho, parameters, terms):
    """The first terms of the series in the correlation, and where they suffice."""
    if g is f:
        *groups, both = ([np.concatenate([p, p]) for p in group] for group in (*f[1:4], parameters))
        a, place = _expansion((f[0], *groups, *f[4:]), np.concatenate([K1, K2]), both, terms)
        b, first, second = a, place[:K1.shape[0]], place[K1.shape[0]:]
    else:
        a, first = _expansion(f, K1, parameters, terms)
        b, second = _expansion(g, K2, parameters, terms)

    def sums(i, j, r):
        largest = min(max(float(np.abs(r).max()), 1e-9), 1.0 - 1e-9)
        needed = min(terms, 4 + math.ceil(-40.0/math.log(largest)))
        total = 0.0*r
        for n in range(needed - 1, -1, -1):
            total = total*r + a[0][n].take(i)*b[0][n].take(j)
        return total

    value = np.concatenate(_few(sums, 16384, first, second, rho))
    rest = np.abs(rho)**terms*np.sqrt(a[1][first])*np.sqrt(b[1][second])  # the product itself may be no float
    return value, rest <= 4e-15*np.sqrt(a[2][first])*np.sqrt(b[2][second])


def _pair_average(rule, cost, few, f, g, K1, K2, C, *parameters):
    """<f(z1) g(z2)> for variances K1, K2 and covariance C, arrays of one axis.

    Where the series is too long a rule of quadrature, whose cost is known, takes a few entries at a time.
    """
    rho = np.clip(C/(np.sqrt(np.clip(K1, 1e-280, None))*np.sqrt(np.clip(K2, 1e-280, None))), -1.0, 1.0)
    out = 0.0*rho
    kinked, shared = bool(f[1] or g[1]), _at_zero((*f[2], *g[2]))
    line = (_determinant(K1, K2, C) == 0.0) & (np.abs(rho) > 0.999)
    left = np.argsort(np.abs(rho))
    left, line = left[~line[left]], left[line[left]]
    for terms in (64, 256, 1024, 4096, 16384, 65536):
        # with kinks the coefficients alone decay too slowly, unless the kernels are so small that none is met
        hopeful = np.abs(rho[left])**terms < (1e-10 if kinked and terms > 64 else 2.0)
        some = left[hopeful]
        if not _is_worth(terms, cost, shared, _kernels(f, g, K1[some], K2[some]), some.shape[0]):
            # at small correlations the series keeps digits that cancel in quadrature
            hopeful = hopeful & (np.abs(rho[left])**terms < (1e-30 if terms == 64 else 0.0))
            some = left[hopeful]
        if not some.shape[0]:
            continue
        h = _taken(f, some, f[8])
        k = h if g is f else _taken(g, some, g[8])
        value, good = _series(h, k, K1[some], K2[some], rho[some], [p[some] for p in parameters], terms)
        out[some[good]] = value[good]
        left = np.concatenate([some[~good], left[~hopeful]])
    left = left[np.argsort(K1[left])]
    for some, by, finest in ((line, _line_average, 64), (left, rule, 8)):
        if some.shape[0]:
            out[some] = _by_quadrature(by, few, f, g, some, K1, K2, C, parameters, finest)
    return out


def _kernels(f, g, K1, K2):
    """The number of different kernels for which coefficients are needed."""
    if g is f:
        return np.unique(np.concatenate([K1, K2])).shape[0]
    return np.unique(K1).shape[0] + np.unique(K2).shape[0]


def _is_worth(terms, cost, shared, kernels, entries):
    """Whether so many terms cost less than quadrature, in units of ten nanoseconds."""
    return kernels*(0.4 if shared else 5.0)*terms**1.5 + 0.1*entries*terms < entries*cost


def _by_quadrature(rule, few, f, g, some, K1, K2, C, parameters, finest):
    """A rule on a few of the entries at a time."""
    def part(fine, i):
        i = some[i]
        return rule(_taken(f, i, fine), _taken(g, i, fine), K1[i], K2[i], C[i], [p[i] for p in parameters])

    steps = f[8] or g[8] or _plain
    return steps(part, few, some.shape[0], finest, K1)[0]
'''

LINE = '''
def _both(f, g, first, second, most):
    """What two functions share, see _within, and the smaller scale, per standard deviation of each."""
    scale, rate, load, wave = zip(f[3], g[3])
    shift, wave = (p*first + q*second for p, q in (rate, wave))
    known, shift, wave = _within(shift, np.maximum(load[0]*first, load[1]*second), wave, most)
    return known, shift, wave, np.minimum(scale[0]/first, scale[1]/second)


def _line_average(f, g, K1, K2, C, parameters):
    """<f(z1) g(z2)> where z2 is a multiple of z1."""
    first, second = np.sqrt(np.clip(K1, 1e-280, None)), np.sqrt(np.clip(K2, 1e-280, None))
    second = np.where(C < 0.0, -second, second)
    known, shift, wave, scale = _both(f, g, first, np.abs(second), 300.0)
    width, reach = np.clip(scale, 1e-8, 1e8), _reach(f[5] + g[5]) + float(shift.max())
    places, longest = [p/first for p in f[2]] + [q/second for q in g[2]], _longest(3.0, wave)
    x, mass = _panels(places, width, longest, reach, max(reach, f[4], g[4]), f[8])
    product = _whole(f[0], f[1], first[..., None]*x, parameters)*_whole(g[0], g[1], second[..., None]*x, parameters)
    return np.where(known, (_sized(product, f[8])*mass).sum(-1), math.nan)
'''

SMOOTH = '''
def _smooth_plane(f, g, K1, K2, C, parameters):
    """<f(z1) g(z2)> of smooth functions: the average over z2 given z1, then that over z1."""
    K1 = np.clip(K1, 1e-280, None)
    deviation = np.sqrt(K1)
    known, shift, wave, _ = _both(f, g, deviation, np.sqrt(np.clip(K2, 1e-280, None)), 40.0)
    reach = _reach(f[5] + g[5]) + float(shift.max())
    slope = C/deviation  # of the mean of z2, per standard deviation of z1
    spread = np.clip(np.sqrt(_determinant(K1, K2, C)/K1), 1e-280, None)
    scale = g[3][0]
    steepest = np.clip(np.maximum(np.abs(slope)/scale, deviation/f[3][0]), 1e-140, None)
    x, mass = _line(0.0*K1, np.clip(1.0/steepest, 1e-9, 8.0), reach, shift, wave, f[8])
    mean, spread = slope[..., None]*x, spread[..., None] + 0.0*x
    own = [np.where(known, g[3][k], 0.0)[..., None]*spread for k in (1, 3)]
    y, weight = _line(-mean/spread, np.clip(scale[..., None]/spread, 1e-8, 8.0), reach, *own, f[8])
    inner = _whole(g[0], g[1], mean[..., None] + spread[..., None]*y, parameters)
    value = _sized(_whole(f[0], f[1], deviation[..., None]*x, parameters), f[8])
    return np.where(known, (value*(_sized(inner, f[8])*weight).sum(-1)*mass).sum(-1), math.nan)
'''

KINKED = '''
def _kinked_plane(f, g, K1, K2, C, parameters):
    """<f(z1) g(z2)> of functions with kinks: z1/s1 and z2/s2 are c*u + d*v and c*u - d*v with independent u, v.

    The average over u, between the lines on which either function has a kink, is smooth in v but where two of the
    lines meet. Neither places nor widths become small as the correlation, here made positive, tends to one.
    """
    first, second = np.sqrt(np.clip(K1, 1e-280, None)), np.sqrt(np.clip(K2, 1e-280, None))
    sign = np.where(C < 0.0, -1.0, 1.0)
    size = first*second
    gap = _determinant(K1, K2, C)/np.clip(size*(size + np.abs(C)), 1e-280, None)  # 1 - abs(correlation)
    gap = np.clip(np.where(size < 1e-140, 1.0 - np.abs(C)/size, gap), 0.0, 1.0)
    c, d = np.sqrt(1.0 - 0.5*gap), np.sqrt(0.5*gap)
    known, shift, wave, scale = _both(f, g, first, second, 25.0)
    p, q = [place/first for place in f[2]], [sign*place/second for place in g[2]]
    narrow, reach = np.clip(d, 1e-140, None), _reach(f[5] + g[5]) + float(shift.max())
    far, longest = max(reach, f[4], g[4]), _longest(3.0, wave)
    meet = [0.5*(a - b)/narrow for a in p for b in q]
    v, mass = _panels(meet, np.clip(scale/narrow, 1e-8, 1e8), longest, reach, far, f[8])
    c, d = c[..., None], d[..., None]
    lines = [(a[..., None] - d*v)/c for a in p] + [(b[..., None] + d*v)/c for b in q]
    u, weight = _panels(lines, np.clip(scale[..., None]/c + 0.0*v, 1e-8, 1e8), longest[..., None], reach, far, f[8])
    c, d, v = c[..., None], d[..., None], v[..., None]
    z1, z2 = first[..., None, None]*(c*u + d*v), (sign*second)[..., None, None]*(c*u - d*v)
    product = _whole(f[0], f[1], z1, parameters)*_whole(g[0], g[1], z2, parameters)
    return np.where(known, ((_sized(product, f[8])*weight).sum(-1)*mass).sum(-1), math.nan)
'''

BESIDE = '''
def _beside(f, mean, variance, *parameters):
    """<f(z)> for z of that law; where it is narrow, its mean is on neither side of a place that it meets."""
    parts, breaks, places, (scale, rate, load, wave), far, growth, *_, fine = f
    deviation = _deviation(mean, variance)
    known, shift, wave = _within(rate*deviation, load*(deviation + np.abs(mean)), wave*deviation, 300.0)
    reach = _reach(growth) + float(shift.max())
    width, places = np.clip(scale/deviation, 1e-8, 1e8), [(place - mean)/deviation for place in places]
    y, mass = _panels(places, width, _longest(3.0, wave), reach, max(reach, far), fine)
    value = _sized(_whole(parts, breaks, mean[..., None] + deviation[..., None]*y, parameters), fine)
    return np.where(known, (value*mass).sum(-1), math.nan)


def _deviation(mean, variance):
    """The root of a variance, not less than the rounding of the mean."""
    return np.maximum(np.sqrt(np.clip(variance, 1e-280, None)), 1e-9*np.abs(mean))
'''

PIECES_BESIDE = '''
def _pieces_beside(f, mean, variance, *parameters):
    """<f(z)> for z of that law, likewise, for a piecewise polynomial in closed form."""
    return _averaged(f, mean, _deviation(mean, variance), parameters)
'''
