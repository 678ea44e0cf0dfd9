"""Helper functions of NumPy modules: operations without cancellation, and evaluation in blocks and tiles."""

from __future__ import annotations

SCALED_TAIL = '''
def _scaled_tail(u, v, w):
    """exp(u)*erfc(w) from v = u - w*w too: the tail is scaled where it is small."""
    small = w > 0.0
    return np.exp(np.where(small, v, u))*np.where(small, special.erfcx(np.clip(w, 0.0, None)), special.erfc(w))
'''

TWO_PRODUCT = '''
def _two_product(a, b):
    """The rounded product and its rounding error: their sum is a*b exactly (Dekker)."""
    product = a*b
    t = 134217729.0*a
    a_high = t - (t - a)
    a_low = a - a_high
    t = 134217729.0*b
    b_high = t - (t - b)
    b_low = b - b_high
    return product, ((a_high*b_high - product) + a_high*b_low + a_low*b_high) + a_low*b_low
'''

TWO_SQUARE = '''
def _two_square(a):
    """The rounded square and its rounding error: their sum is a**2 exactly (Dekker)."""
    square = a*a
    t = 134217729.0*a
    high = t - (t - a)
    low = a - high
    return square, ((high*high - square) + 2.0*high*low) + low*low
'''

DETERMINANT = '''
def _determinant(K1, K2, C):
    """K1*K2 - C**2 without cancellation; 0 where rounding made C a little too large."""
    p, p_error = _two_product(K1, K2)
    q, q_error = _two_square(C)
    return np.maximum((p - q) + (p_error - q_error), 0.0)
'''

CORRELATION = '''
def _correlation(K1, K2, C):
    """C/sqrt(K1*K2) and sqrt(1 - (C/sqrt(K1*K2))**2), without cancellation; 0 and 1 where a kernel vanishes."""
    size = np.sqrt(K1)*np.sqrt(K2)
    vanishes = size == 0.0
    size = np.where(vanishes, 1.0, size)
    ratio = np.where(vanishes, 0.0, np.clip(C/size, -1.0, 1.0))
    rest = np.sqrt(_determinant(K1, K2, C))/size
    rest = np.where(size > 1e-140, rest, np.sqrt((1.0 - ratio)*(1.0 + ratio)))  # products of the kernels are no floats
    return ratio, np.minimum(rest, 1.0)
'''

SEPARATION = '''
def _separation(K1, K2, C):
    """sqrt(K1*K2) - C without cancellation; 0 where rounding made C a little too large."""
    size = np.sqrt(K1)*np.sqrt(K2)
    both = size + np.abs(C)
    return np.where(C > 0.0, _determinant(K1, K2, C)/(both + (both == 0.0)), size - C)
'''

EXPSINH = '''
def _expsinh(a, b):
    """exp(a)*sinh(b), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    size = np.abs(b)
    return -np.copysign(0.5, b)*np.exp(a + size)*np.expm1(-2.0*size)
'''

EXPCOSH = '''
def _expcosh(a, b):
    """exp(a)*cosh(b), without overflow where a + abs(b) <= 0."""
    size = np.abs(b)
    return 0.5*np.exp(a + size)*(1.0 + np.exp(-2.0*size))
'''

EXPCOSHM1 = '''
def _expcoshm1(a, b):
    """exp(a)*(cosh(b) - 1), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    size = np.abs(b)
    half = np.expm1(-size)
    return 0.5*np.exp(a + size)*half*half
'''

SIGMOID = '''
def _sigmoid(u):
    """1/(1 + exp(-u)), without overflow."""
    small = np.exp(-np.abs(u))
    return np.where(u >= 0.0, 1.0, small)/(1.0 + small)
'''

PIECEWISE = '''
def _piecewise(u, edges, table):
    """The piecewise Chebyshev polynomial of u with the given inner and outer edges (Clenshaw's recursion)."""
    u = np.minimum(u, edges[-1])
    piece = np.searchsorted(edges[1:-1], u, side="right")
    left, right = edges[piece], edges[piece + 1]
    t = (2.0*u - (left + right))/(right - left)
    high, low = np.zeros_like(t), np.zeros_like(t)
    for row in table[:0:-1]:
        high, low = row[piece] + 2.0*t*high - low, high
    return table[0][piece] + t*high - low
'''

KERNEL = '''
def _valid(K):
    """Kernels, nan where they are negative."""
    negative = np.less(K, 0.0)
    return np.where(negative, math.nan, K) if negative.any() else K
'''

DIRECTED = '''
def _directed(K):
    """Kernels, nan where they are 0 or negative: a normaliser divides by the size of an input."""
    return np.where(np.greater(K, 0.0), K, math.nan)
'''

BLOCKS = '''
def _blocks(function, arguments, out, size):
    """Evaluate elementwise in blocks of so many elements; scalars are passed on as they are."""
    arguments = [np.asarray(a, dtype=np.float64) for a in arguments]
    if out is None:
        out = np.empty(np.broadcast_shapes(*(a.shape for a in arguments)))
    varying = [i for i, a in enumerate(arguments) if a.size != 1]
    values = [float(a.reshape(())) if a.size == 1 else None for a in arguments]
    with np.errstate(over="ignore", under="ignore"):
        if not varying:
            out[...] = np.reshape(function(*(np.full(1, value) for value in values)), ())
            return out[()]
        blocks = np.nditer(
            [*(arguments[i] for i in varying), out],
            flags=["external_loop", "buffered", "zerosize_ok", "copy_if_overlap", "delay_bufalloc"],
            op_flags=[["readonly"]]*len(varying) + [["writeonly", "no_broadcast"]],
            op_dtypes=[np.float64]*(len(varying) + 1),
            casting="same_kind",
            buffersize=size,
        )
        with blocks:
            blocks.reset()
            for *chunks, target in blocks:
                for i, chunk in zip(varying, chunks):
                    values[i] = chunk
                target[...] = function(*values)
    return out
'''

MENDED = '''
def _mended(closed, doubt, other, *arguments):
    """A closed form; by the other function where rounding may have cost more than 1e-12 of it.

    That is worse where it is farther off than rounding can have been.
    """
    with np.errstate(all="ignore"):
        value, error = closed(*arguments), 1.1e-16*doubt(*arguments)
        value, error, *arguments = np.broadcast_arrays(value, error, *arguments)
        poor = ~(error <= 1e-12*np.abs(value))
        if poor.any():
            value, first, error = value.copy(), value[poor], error[poor]
            found = other(*(a[poor] for a in arguments))
            worse = (np.abs(found - first) > 4.0*error) | (np.isnan(found) & (error <= 1e-6*np.abs(first)))
            value[poor] = np.where(worse, first, found)
    return value
'''

PARTS = '''
def _parts(shape, size):
    """Cuts of the first axes into parts of at most so many elements, whole along the other axes."""
    inner = math.prod(shape[1:])
    step = max(size//max(inner, 1), 1)
    for start in range(0, shape[0], step):
        cut = slice(start, start + step)
        if inner > size:
            for rest in _parts(shape[1:], size):
                yield cut, *rest
        else:
            yield (cut,)
'''

CHUNK = '''
def _chunk(a, part):
    """A part of a broadcast array, as long as the array itself where it is broadcast; of a tuple that of each entry."""
    if isinstance(a, tuple):
        return tuple([_chunk(entry, part) for entry in a])
    if np.ndim(a) == 0 or len(part) == 1 == len(a):
        return a
    return a[tuple([slice(None) if n == 1 else cut for n, cut in zip(a.shape, part)])]
'''

MEND = '''
def _mend(exact, arguments, target, pending):
    """Compute the entries of the parts that wait for it, all at once."""
    starts = [[cut.start for cut in part] + [0]*target.ndim for part, _ in pending]
    places = tuple(
        np.concatenate([start[axis] + found[axis] for start, (_, found) in zip(starts, pending)])
        for axis in range(target.ndim)
    )
    entries = [a if a.ndim == 0 else a[tuple(p*(n > 1) for p, n in zip(places, a.shape))] for a in arguments]
    target[places] = exact(*entries)
    pending.clear()
'''

ALIGNED = '''
def _aligned(count, size):
    """Scratch arrays that begin where a line of the cache does, no two of them at the same place of a page."""
    pitch = size//8*8 + 72
    room = np.empty(count*pitch + 8)
    start = -(room.__array_interface__["data"][0]//8) % 8
    return [room[k*pitch + start:k*pitch + start + size] for k in range(count)]
'''

BROADCAST = '''
def _broadcast(arguments, out):
    """The result, a view of it whose last axis is the densest, and the arguments along the axes of that view."""
    arguments = [np.asarray(a, dtype=np.float64) for a in arguments]
    shape = np.broadcast_shapes(*(a.shape for a in arguments), *(() if out is None else (out.shape,)))
    result = np.empty(shape) if out is None else out
    if result.shape != shape:
        raise ValueError(f"out has shape {result.shape}, the arguments broadcast to {shape}")
    view = np.atleast_1d(result)
    order = sorted(range(view.ndim), key=lambda axis: -abs(view.strides[axis]))
    arguments = [a.copy() if np.may_share_memory(a, result) else a for a in arguments]
    arguments = [
        a.reshape((1,)*(view.ndim - a.ndim) + a.shape).transpose(order) if a.size != 1 else a.reshape(())[()]
        for a in arguments
    ]
    return result, view.transpose(order), arguments
'''

TILES = '''
def _tiles(tile, axes, exact, arguments, matrices, out, arrays):
    """Evaluate elementwise, in tiles whose scratch arrays stay in the cache; ``exact`` where a tile loses digits."""
    result, target, arguments = _broadcast(arguments, out)
    if target.size == 0:
        return result
    size, direct = min(_SCRATCH//arrays, target.size), target.dtype == np.float64
    rows, scratch = _aligned(arrays - direct, size), []
    few = 8*sum(a.size for i, a in enumerate(arguments) if i not in matrices) <= target.size  # rows and columns
    caller, pending, waiting = np.geterr() | {"over": "ignore", "under": "ignore"}, [], 0
    with np.errstate(all="ignore"):
        if target.shape[-1] >= 512:  # rows and columns are not copied to buffers; leaving errstate undoes it
            np.setbufsize(512)
        prepared = axes(*arguments) if few else None
        for part in _parts(target.shape, size):
            goal, chunks, fine = target[part], [_chunk(a, part) for a in arguments], []
            if not scratch or scratch[-1].shape != goal.shape:
                scratch = [goal]*direct + [row[:goal.size].reshape(goal.shape) for row in rows]
            if direct:
                scratch[0] = goal
            tile(*chunks, _chunk(prepared, part) if few else axes(*chunks), scratch, fine)
            if not direct:
                np.copyto(goal, scratch[0], casting="same_kind")
            if not fine:
                continue
            poor = ~functools.reduce(np.logical_and, fine)
            found = np.flatnonzero(poor)
            if 4*found.size > goal.size:
                with np.errstate(**caller):
                    for inner in _parts(goal.shape, 8192):
                        values = exact(*[_chunk(c, inner) for c in chunks])
                        np.copyto(goal[inner], values, casting="same_kind", where=poor[inner])
            elif found.size:
                pending.append((part, np.unravel_index(found, goal.shape)))
                waiting += found.size
            if waiting > 8192:
                with np.errstate(**caller):
                    _mend(exact, arguments, target, pending)
                waiting = 0
    if pending:
        with np.errstate(**caller):
            _mend(exact, arguments, target, pending)
    return result if out is not None else result[()]
'''
