"""The PyTorch dialect: spellings, and helper functions whose gradients are finite where the mathematics is."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from ..symbols import K
from . import quadrature
from .angles import AngleForm
from .emit import Dialect, Emitter, Source, rows, variable
from .fit import Fit
from .numpy import with_origin
from .plan import Component, Function
from .stable import Atan2, Erfcx, ExpCosh, ExpCoshm1, Expm1, ExpSinh, Log1p, Sigmoid, Softplus, determinant

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
def _shaped(value, *arguments):
    """A result in the broadcast shape of the arguments, though it may not depend on all of them."""
    value = torch.as_tensor(value, dtype=arguments[0].dtype, device=arguments[0].device)
    return torch.broadcast_tensors(value, *arguments)[0]
'''

AUTOGRAD = '''
class _{name}(torch.autograd.Function):
    """{about}"""

    generate_vmap_rule = True

    @staticmethod
    def forward({arguments}):
        {value}

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        {unpacked} = ctx.saved_tensors
        return (
            {slopes},
        )
'''

ALWAYS = ("_tensors(", "_shaped(")  # what every module calls

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
    return tuple(Emitter(TORCH, names).function(results))


def _body(component: Component, code: sp.Expr, dialect: Dialect = TORCH) -> list[str]:
    names, lines = {s: variable(s) for s in component.symbols}, []
    if code.has(determinant):
        lines.append("determinant = _Determinant.apply(K1, K2, C)")
        names[determinant] = "determinant"
    lines += Emitter(dialect, names).function([("value", code)])
    return with_origin(component, lines, "torch")


def _fit_source(component: Component, fit: Fit) -> Source:
    tag = component.name.upper()
    lines = Emitter(TORCH, {K: "K"}).function([("u", fit.map), ("scale", fit.scale)])
    lines = with_origin(component, [*lines, f"value = scale*_piecewise(u, {tag}_EDGES, {tag}_TABLE)"], "torch")
    tables = (
        (f"{tag}_EDGES", rows([fit.edges])[0]),
        (f"{tag}_TABLE", "[\n" + "".join(f"    {row},\n" for row in rows(fit.table)) + "]"),
    )
    return Source(tuple(lines), tables)


def _angle_source(component: Component, form: AngleForm) -> Source:
    """Sqrt and atan2 have infinite derivatives at C**2 = K1*K2 that cancel: give the sum of both, cancelled."""
    K1, C, K2 = form.triple
    guarded = replace(TORCH, quotient="_ratio({0}, {1})")  # 0/0 at vanishing kernels
    slopes = [_body(component, form.diff(v).stable(), guarded) for v in (K1, K2, C)]
    return _autograd(component, _body(component, component.code), slopes)


def _quadrature_source(component: Component) -> Source:
    node, symbols = component.formula, component.symbols
    value = quadrature.source(component.name, symbols, node, TORCH)
    if not component.is_pair:
        slopes = [quadrature.source(component.name + "_slope", symbols, node.diff(K), TORCH)]
    else:
        named = {
            "_slope_1": quadrature.variance_slope(node, True),
            "_slope_2": quadrature.variance_slope(node, False),
            "_slope_c": quadrature.covariance_slope(node),
        }
        slopes = [quadrature.source(component.name + tag, symbols, e, TORCH) for tag, e in named.items()]
    text = _autograd(component, list(value.lines), [list(s.lines) for s in slopes])
    preamble = (*value.preamble, *(p for s in slopes for p in s.preamble))
    return Source(text.lines, value.tables, (*preamble, *text.preamble))


def _autograd(component: Component, value: list[str], slopes: list[list[str]]) -> Source:
    """An autograd.Function with given code for the value and for the derivative in each kernel."""
    arguments = [variable(s) for s in component.symbols]
    listed, name = ", ".join(arguments), component.name.title().replace("_", "")
    unpacked = listed + ("," if len(arguments) == 1 else "")
    kernels, parameters = arguments[: len(slopes)], arguments[len(slopes) :]
    functions = [
        "\n".join([f"def {component.name}_d{k}({listed}):", *(f"    {line}" for line in body)])
        for k, body in zip(kernels, slopes, strict=True)
    ]
    calls = [f"gradient*{component.name}_d{k}({listed})" for k in kernels] + ["None" for _ in parameters]
    text = AUTOGRAD.format(
        name=name,
        about=f"{component.name} with its own derivatives in {', '.join(kernels)}.",
        arguments=listed,
        unpacked=unpacked,
        value="\n        ".join(value),
        slopes=",\n            ".join(calls),
    )
    call = f"return _{name}.apply({listed})"
    return Source((f"{unpacked} = torch.broadcast_tensors({listed})", call), (), (*functions, text.strip()))
