"""The PyTorch dialect: spellings, and helper functions whose gradients are finite where the mathematics is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import sympy as sp

from ...symbols import K
from . import quadrature
from .angles import AngleForm
from .emit import Dialect, Emitter, Source, rows, variable
from .fit import SHARE, Fit
from .numpy import TWO_PRODUCT, with_origin
from .plan import Component, Function
from .stable import Atan2, Erfcx, ExpCosh, ExpCoshm1, Expm1, ExpSinh, Log1p, Sigmoid, Softplus, determinant

DETERMINANT = '''
class _Determinant(torch.autograd.Function):
    """K1*K2 - C**2 without cancellation; 0 where rounding made C a little too large.

    The derivative is that of the polynomial, on the boundary too: autograd through a clamp would give 0 there.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(K1, K2, C):
        wide = [v.to(torch.float64) for v in (K1, K2, C)]  # products of float32 numbers are exact in float64
        p, p_error = _two_product(wide[0], wide[1])
        q, q_error = _two_product(wide[2], wide[2])
        return torch.clamp((p - q) + (p_error - q_error), min=0.0).to(C.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        K1, K2, C = ctx.saved_tensors
        return gradient*K2, gradient*K1, -2.0*gradient*C
'''

ROOT = '''
def _root(x):
    """The square root; its derivative at 0, which is infinite, is given as 0."""
    positive = x > 0.0
    return torch.where(positive, torch.sqrt(torch.where(positive, x, 1.0)), 0.0)
'''

RATIO = '''
def _ratio(a, b):
    """a/b; 0 where b = 0."""
    nonzero = b != 0.0
    return torch.where(nonzero, a/torch.where(nonzero, b, 1.0), 0.0)
'''

EXPSINH = '''
class _ExpSinh(torch.autograd.Function):
    """exp(a)*sinh(b), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        size = torch.abs(b)
        return -0.5*torch.sign(b)*torch.exp(a + size)*torch.expm1(-2.0*size)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        return gradient*_ExpSinh.apply(a, b), gradient*_ExpCosh.apply(a, b)
'''

EXPCOSH = '''
class _ExpCosh(torch.autograd.Function):
    """exp(a)*cosh(b), without overflow where a + abs(b) <= 0."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        size = torch.abs(b)
        return 0.5*torch.exp(a + size)*(1.0 + torch.exp(-2.0*size))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        return gradient*_ExpCosh.apply(a, b), gradient*_ExpSinh.apply(a, b)
'''

EXPCOSHM1 = '''
class _ExpCoshm1(torch.autograd.Function):
    """exp(a)*(cosh(b) - 1), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a, b):
        size = torch.abs(b)
        half = torch.expm1(-size)
        return 0.5*torch.exp(a + size)*half*half

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        return gradient*_ExpCoshm1.apply(a, b), gradient*_ExpSinh.apply(a, b)
'''

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

AUTOGRAD = '''
class {name}(torch.autograd.Function):
    """{about}"""

    @staticmethod
    def forward({arguments}):
        {value}

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        {backward}

    @staticmethod
    def vmap(info, axes, *arguments):
        moved = [a if axis is None else a.movedim(axis, 0) for a, axis in zip(arguments, axes)]
        return {name}.apply(*moved), 0
'''

ALWAYS = ("_tensors(",)  # what every module calls

TORCH = Dialect(
    name="PyTorch",
    functions={
        sp.exp: "torch.exp({0})",
        sp.log: "torch.log({0})",
        sp.sin: "torch.sin({0})",
        sp.cos: "torch.cos({0})",
        sp.tan: "torch.tan({0})",
        sp.sinh: "torch.sinh({0})",
        sp.cosh: "torch.cosh({0})",
        sp.tanh: "torch.tanh({0})",
        sp.asin: "torch.asin({0})",
        sp.acos: "torch.acos({0})",
        sp.atan: "torch.atan({0})",
        sp.atan2: "torch.atan2({0}, {1})",
        sp.asinh: "torch.asinh({0})",
        sp.erf: "torch.erf({0})",
        sp.erfc: "torch.erfc({0})",
        sp.Abs: "torch.abs({0})",
        sp.sign: "torch.sign({0})",
        Atan2: "torch.atan2({0}, {1})",
        Expm1: "torch.expm1({0})",
        Log1p: "torch.log1p({0})",
        Erfcx: "torch.special.erfcx({0})",
        ExpSinh: "_ExpSinh.apply({0}, {1})",
        ExpCosh: "_ExpCosh.apply({0}, {1})",
        ExpCoshm1: "_ExpCoshm1.apply({0}, {1})",
        Sigmoid: "torch.sigmoid({0})",
        Softplus: "torch.nn.functional.softplus({0}, threshold=40.0)",
    },
    sqrt="torch.sqrt({0})",
    root="_root({0})",
    power="torch.pow({0}, {1})",
    infinity="math.inf",
    helpers={
        "_two_product": (TWO_PRODUCT, ()),
        "_Determinant": (DETERMINANT, ("_two_product",)),
        "_root": (ROOT, ()),
        "_ratio": (RATIO, ()),
        "_ExpSinh": (EXPSINH, ("_ExpCosh",)),
        "_ExpCosh": (EXPCOSH, ("_ExpSinh",)),
        "_ExpCoshm1": (EXPCOSHM1, ("_ExpSinh",)),
        "_piecewise": (PIECEWISE, ()),
        "_tensors": (TENSORS, ()),
        **quadrature.TORCH_HELPERS,
        "_shaped": (SHAPED, ()),
    },
)


# ---- sources -----------------------------------------------------------------------------------------------------
def component_source(component: Component) -> Source:
    """The function of a component, or the autograd function where its derivatives need care."""
    if isinstance(component.code, Fit):
        return _fit_source(component, component.code)
    if component.code is None:
        return _quadrature_source(component)
    if component.form is not None and component.form.vanishing:
        return _angle_source(component, component.form)
    return Source(tuple(_body(component, component.code)))


def function_source(function: Function) -> tuple[str, ...]:
    """The body of a public function, its arguments already tensors."""
    names = {symbol: variable(symbol) for symbol, _ in function.names}
    results = [(name if name == "return" else variable(sp.Symbol(name)), e) for name, e in function.lines]
    *before, last = Emitter(TORCH, names).function(results)
    if function.idle:
        last = f"return _shaped({', '.join([last.removeprefix('return '), *map(variable, function.idle)])})"
    return (*before, last)


def _body(component: Component, code: sp.Expr, dialect: Dialect = TORCH) -> list[str]:
    names, lines = {s: variable(s) for s in component.symbols}, []
    if code.has(determinant):
        lines.append("determinant = _Determinant.apply(K1, K2, C)")
        names[determinant] = "determinant"
    lines += Emitter(dialect, names).function([("value", code)])
    return with_origin(component, lines, "torch")


def _fit_source(component: Component, fit: Fit) -> Source:
    tag = component.name.upper()
    lines = [f"K = torch.clamp(K, min={fit.shape.floor!r})"] if fit.shape.floor else []
    lines += Emitter(TORCH, {K: "K", SHARE: str(SHARE)}).function(fit.shape.steps)
    value = f"scale*_piecewise(u, {tag}_EDGES, {tag}_TABLE)"
    if fit.sign:  # where rounding exceeds the value
        value = f"torch.clamp({value}, {'min' if fit.sign > 0 else 'max'}=0.0)"
    lines = with_origin(component, [*lines, f"value = {value}"], "torch")
    tables = (
        (f"{tag}_EDGES", rows([fit.edges])[0]),
        (f"{tag}_TABLE", "[\n" + "".join(f"    {row},\n" for row in rows(fit.table)) + "]"),
    )
    return Source(tuple(lines), tables)


def _angle_source(component: Component, form: AngleForm) -> Source:
    """Sqrt and atan2 have infinite derivatives at C**2 = K1*K2 that cancel: give the sum of both, cancelled."""
    K1, C, K2 = form.triple
    guarded = replace(TORCH, quotient="_ratio({0}, {1})")  # 0/0 at vanishing kernels
    slopes = {v: _body(component, form.diff(v).stable(), guarded) for v in (K1, K2, C)}
    listed = ", ".join(map(variable, component.symbols))
    functions, calls = [], {}
    for v, lines in slopes.items():
        calls[v] = f"{component.name}_d{v}({listed})"
        functions.append("\n".join([f"def {calls[v]}:", *(f"    {line}" for line in lines)]))
    return _autograd(component, _body(component, component.code), calls, functions)


def _quadrature_source(component: Component) -> Source:
    """Values and slopes are averages of the same kind; slopes of slopes are none."""
    value = quadrature.source(component.name, component.symbols, component.formula, TORCH)
    listed = ", ".join(map(variable, component.symbols))
    functions, calls, preamble = [], {}, list(value.preamble)
    for v, expr in quadrature.slopes(component.formula, component.symbols).items():
        name = f"{component.name}_d{variable(v)}"
        slope = quadrature.source(name, component.symbols, expr, TORCH)
        about = f"The derivative of {component.name} in {v}; it has none itself."
        stop = f'raise NotImplementedError("{component.name} has first derivatives only")'
        functions.append(_function(_class(name), about, component.symbols, slope.lines, [stop]))
        preamble += slope.preamble
        calls[v] = f"{_class(name)}.apply({listed})"
    text = _autograd(component, list(value.lines), calls, functions)
    return Source(text.lines, value.tables, (*preamble, *text.preamble))


def _autograd(
    component: Component, value: list[str], calls: Mapping[sp.Symbol, str], functions: Sequence[str]
) -> Source:
    """An autograd.Function with given code for the value and calls for the derivative in each argument."""
    listed = ", ".join(map(variable, component.symbols))
    comma = "," if len(component.symbols) == 1 else ""
    about = f"{component.name} with its own derivatives in {', '.join(map(str, calls))}."
    backward, slopes = [f"{listed}{comma} = ctx.saved_tensors"], []
    for i, s in enumerate(component.symbols):
        if s in calls:
            slopes.append(f"    gradient*{calls[s]} if ctx.needs_input_grad[{i}] else None,")
        else:
            slopes.append("    None,")
            backward.append(f"if ctx.needs_input_grad[{i}]:")
            backward.append(f'    raise NotImplementedError("{s} moves a jump: there is no derivative in it")')
    backward += ["return (", *slopes, ")"]
    text = _function(_class(component.name), about, component.symbols, value, backward)
    call = f"return {_class(component.name)}.apply({listed})"
    return Source((f"{listed}{comma} = torch.broadcast_tensors({listed})", call), (), (*functions, text))


def _function(
    name: str, about: str, symbols: Sequence[sp.Symbol], value: Sequence[str], backward: Sequence[str]
) -> str:
    indent = "\n        "
    return AUTOGRAD.format(
        name=name,
        about=about,
        arguments=", ".join(map(variable, symbols)),
        value=indent.join(value),
        backward=indent.join(backward),
    ).strip()


def _class(name: str) -> str:
    return "_" + name.title().replace("_", "")
