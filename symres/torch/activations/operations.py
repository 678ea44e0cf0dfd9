"""What elementwise operations of PyTorch do to a formula; the names are those of its dispatcher (aten).

Adding one is one entry of the table at the end: a function of the operation's arguments by name, tensors and numbers
being expressions. Its definition is that of PyTorch's documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import sympy as sp

from ...activations.formula_parser import PARSED_FUNCTIONS
from ...core.errors import DeclarationError

Operation = Callable[..., sp.Basic]

# the formula of an entry stays: copies, views that keep the order of entries, and types
SHAPES = frozenset(
    {"alias", "clone", "contiguous", "detach", "expand", "lift_fresh", "reshape", "squeeze", "unsqueeze", "view"}
    | {"_unsafe_view", "_reshape_alias"}
)
RANDOM = frozenset({"bernoulli", "native_dropout", "normal", "rand_like", "randn_like", "uniform"})
_NEGLIGIBLE = sp.Rational(1, 10**7)  # half the spacing of float32 at 1


@dataclass
class Cut:
    """The mark of approximations that PyTorch makes where they are below the resolution of float32.

    Args:
        on: a symbol: with 1 in its place a formula has the approximations, with 0 it is what they approximate.
        size: of the largest one, relative.
    """

    on: sp.Symbol = field(default_factory=lambda: sp.Dummy("cut", nonnegative=True))
    size: float = 0.0


def name_of(func: Any) -> str:
    """The name of an operation of the dispatcher without its overload."""
    return str(func._schema.name).rpartition("::")[2]


def _where(condition: sp.Basic, then: sp.Expr, otherwise: sp.Expr) -> sp.Expr:
    if condition in (sp.true, sp.false):
        return then if condition == sp.true else otherwise
    if condition.has(sp.Piecewise):  # sympy would multiply out all combinations of the branches
        chosen = _indicator(condition)
        return chosen * then + (1 - chosen) * otherwise
    return sp.Piecewise((then, condition), (otherwise, True))


def _indicator(condition: sp.Basic) -> sp.Expr:
    """1 where a condition holds, 0 where it does not; on single points anything."""
    if condition in (sp.true, sp.false):
        return sp.Integer(condition == sp.true)
    if isinstance(condition, sp.Not):
        return 1 - _indicator(condition.args[0])
    if isinstance(condition, sp.And):
        return sp.Mul(*map(_indicator, condition.args))
    if isinstance(condition, sp.Or):
        return 1 - sp.Mul(*(1 - _indicator(part) for part in condition.args))
    if isinstance(condition, sp.Gt | sp.Ge | sp.Lt | sp.Le):
        return sp.Heaviside(condition.gts - condition.lts)
    return sp.Integer(isinstance(condition, sp.Ne))


def _number(u: sp.Basic) -> sp.Expr:
    """A condition as 0 and 1, where arithmetic is done with it."""
    return u if isinstance(u, sp.Expr) else _where(u, sp.Integer(1), sp.Integer(0))


def _function(function: Callable[[sp.Expr], sp.Expr]) -> Operation:
    """An operation of one tensor without parameters."""
    return lambda cut, self, **rest: function(_number(self))


def _compared(relation: Callable[[sp.Expr, sp.Expr], sp.Basic]) -> Operation:
    return lambda cut, self, other: relation(_number(self), _number(other))


def _joined(operation: Callable[..., sp.Basic]) -> Operation:
    """An operation of two conditions, or of two numbers; sympy refuses the other kind."""
    return lambda cut, self, other: operation(self, other)


def _normal_distribution(u: sp.Expr) -> sp.Expr:
    return (1 + sp.erf(u / sp.sqrt(2))) / 2


def _relu6(u: sp.Expr) -> sp.Expr:
    return sp.Min(sp.Max(u, 0), 6)


def _add(cut: Cut, self: sp.Expr, other: sp.Expr, alpha: sp.Expr) -> sp.Expr:
    return _number(self) + alpha * _number(other)


def _divide(cut: Cut, self: sp.Expr, other: sp.Expr, rounding_mode: str | None = None) -> sp.Expr:
    if rounding_mode is not None:
        raise DeclarationError("an activation", f"it divides with rounding ({rounding_mode})", "write it smoothly")
    return _number(self) / _number(other)


def _clamp(cut: Cut, self: sp.Expr, min: sp.Expr | None = None, max: sp.Expr | None = None) -> sp.Expr:
    inner = _number(self) if min is None else sp.Max(_number(self), min)
    return inner if max is None else sp.Min(inner, max)


def _gelu(cut: Cut, self: sp.Expr, approximate: str) -> sp.Expr:
    if approximate == "tanh":
        return self * (1 + sp.tanh(sp.sqrt(2 / sp.pi) * (self + sp.Rational("0.044715") * self**3))) / 2
    return self * _normal_distribution(self)


def _elu(cut: Cut, self: sp.Expr, alpha: sp.Expr, scale: sp.Expr, input_scale: sp.Expr) -> sp.Expr:
    return _where(self > 0, scale * self, scale * alpha * (sp.exp(input_scale * self) - 1))


def _leaky(slope: sp.Expr, u: sp.Expr) -> sp.Expr:
    return _where(u > 0, u, slope * u)


def _random_leaky(cut: Cut, self: sp.Expr, lower: sp.Expr, upper: sp.Expr, training: bool, **rest: Any) -> sp.Expr:
    if training:
        raise DeclarationError("the activation RReLU", "it is random in training mode", "call .eval() first")
    return _leaky((lower + upper) / 2, self)


def _softplus(cut: Cut, self: sp.Expr, beta: sp.Expr, threshold: sp.Expr) -> sp.Expr:
    """``log(1 + exp(beta*z))/beta``, and z above the threshold: an approximation if the jump there cannot be seen."""
    smooth = sp.log(1 + sp.exp(beta * self)) / beta
    jump = float(sp.exp(-threshold))
    if jump < _NEGLIGIBLE * threshold:
        cut.size = max(cut.size, jump)
        return smooth + cut.on * sp.Heaviside(beta * self - threshold) * (self - smooth)
    return _where(beta * self > threshold, self, smooth)


def _shrink(cut: Cut, self: sp.Expr, lambd: sp.Expr, soft: bool) -> sp.Expr:
    shift = lambd if soft else 0
    return sp.Piecewise((self - shift, self > lambd), (self + shift, self < -lambd), (0, True))


_SMOOTH = {
    **{name: function for name, (function, least, _) in PARSED_FUNCTIONS.items() if least == 1},
    "neg": lambda u: -u,
    "sgn": sp.sign,
    "expm1": lambda u: sp.exp(u) - 1,
    "exp2": lambda u: 2**u,
    "log1p": lambda u: sp.log(1 + u),
    "log2": lambda u: sp.log(u) / sp.log(2),
    "log10": lambda u: sp.log(u) / sp.log(10),
    "rsqrt": lambda u: 1 / sp.sqrt(u),
    "square": lambda u: u**2,
    "reciprocal": lambda u: 1 / u,
    "relu": lambda u: sp.Max(u, 0),
    "relu6": _relu6,
    "silu": lambda u: u / (1 + sp.exp(-u)),
    "mish": lambda u: u * sp.tanh(sp.log(1 + sp.exp(u))),
    "hardswish": lambda u: u * _relu6(u + 3) / 6,
    "hardsigmoid": lambda u: _relu6(u + 3) / 6,
    "log_sigmoid_forward": lambda u: -sp.log(1 + sp.exp(-u)),
    "special_ndtr": _normal_distribution,
    "zeros_like": lambda u: sp.Integer(0),
    "ones_like": lambda u: sp.Integer(1),
    "empty_like": lambda u: sp.nan,  # must not be used: a formula with it is refused
}
_RELATIONS = {"gt": sp.Gt, "ge": sp.Ge, "lt": sp.Lt, "le": sp.Le, "eq": sp.Eq, "ne": sp.Ne}
_LOGIC = {"and": sp.And, "or": sp.Or}

OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        **{name: _function(function) for name, function in _SMOOTH.items()},
        **{name: _compared(relation) for name, relation in _RELATIONS.items()},
        **{f"{kind}_{name}": _joined(f) for name, f in _LOGIC.items() for kind in ("bitwise", "logical")},
        **dict.fromkeys(("bitwise_not", "logical_not"), lambda cut, self: sp.Not(self)),
        **dict.fromkeys(("maximum", "fmax"), _joined(sp.Max)),
        **dict.fromkeys(("minimum", "fmin"), _joined(sp.Min)),
        **dict.fromkeys(("clamp", "clamp_min", "clamp_max"), _clamp),
        "_to_copy": lambda cut, self, dtype=None, **rest: self if dtype is None else _number(self),
        "add": _add,
        "sub": lambda cut, self, other, alpha: _add(cut, self, other, -alpha),
        "rsub": lambda cut, self, other, alpha: _add(cut, other, self, -alpha),
        "mul": lambda cut, self, other: _number(self) * _number(other),
        "div": _divide,
        "pow": lambda cut, self, exponent: _number(self) ** _number(exponent),
        "addcmul": lambda cut, self, tensor1, tensor2, value: self + value * tensor1 * tensor2,
        "addcdiv": lambda cut, self, tensor1, tensor2, value: self + value * tensor1 / tensor2,
        "lerp": lambda cut, self, end, weight: self + weight * (end - self),
        "logaddexp": lambda cut, self, other: sp.log(sp.exp(self) + sp.exp(other)),
        "hardtanh": lambda cut, self, min_val, max_val: _clamp(cut, self, min_val, max_val),
        "where": lambda cut, condition, self, other: _where(condition, _number(self), _number(other)),
        "masked_fill": lambda cut, self, mask, value: _where(mask, _number(value), _number(self)),
        "heaviside": lambda cut, self, values: sp.Heaviside(self),
        "threshold": lambda cut, self, threshold, value: _where(self > threshold, self, value),
        "full_like": lambda cut, self, fill_value, **rest: fill_value,
        "fill": lambda cut, self, value: value,
        "zero": lambda cut, self: sp.Integer(0),
        "copy": lambda cut, self, src, **rest: _number(src),
        "gelu": _gelu,
        "elu": _elu,
        "celu": lambda cut, self, alpha: _elu(cut, self, alpha, sp.Integer(1), 1 / alpha),
        "leaky_relu": lambda cut, self, negative_slope: _leaky(negative_slope, self),
        "_prelu_kernel": lambda cut, self, weight: _leaky(weight, self),
        "rrelu_with_noise": _random_leaky,
        "softplus": _softplus,
        "softshrink": lambda cut, self, lambd: _shrink(cut, self, lambd, soft=True),
        "hardshrink": lambda cut, self, lambd: _shrink(cut, self, lambd, soft=False),
    }
)
