"""A tensor whose entries are all one formula: what a module computes from it is the module's formula.

Python code, compiled code and custom autograd functions all end in operations of PyTorch's dispatcher, which hands
them to the tensor. Nothing is computed with numbers, so a branch on the values of the input cannot be taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy as sp
import torch
from torch.utils._pytree import tree_flatten

from ...core.errors import DeclarationError
from ...core.scalars import number
from .operations import OPERATIONS, RANDOM, SHAPES, Cut, name_of

_PROVE = "pass a function of one tensor made of elementwise operations, or its formula: sr.activation('z*tanh(z)')"


@dataclass
class Recording:
    """What a run of a module on a formula leaves besides the result.

    Args:
        module: what runs, for messages.
        tensors: names of the module's parameters and buffers by the address of their data.
        constants: every number that the module used.
        precision: the spacing of floating-point numbers at 1, of the coarsest type through which values went.
        cut: marks of approximations for large arguments that an operation contains.
    """

    module: str
    tensors: Mapping[int, str] = field(default_factory=dict)
    constants: list[sp.Expr] = field(default_factory=list)
    precision: float = torch.finfo(torch.float64).eps
    cut: Cut = field(default_factory=Cut)

    def refused(self, found: str, remedy: str = _PROVE) -> DeclarationError:
        """The error that names the module."""
        return DeclarationError(f"the activation {self.module}", found, remedy)

    def constant(self, value: int | float) -> sp.Expr:
        """The exact number behind a number in the code; a bound may be infinite."""
        if math.isnan(value):
            raise self.refused("one of its numbers is nan")
        if math.isinf(value):
            return sp.oo if value > 0 else -sp.oo
        exact = exact_constant(value)
        self.constants.append(exact)
        return exact

    def tensor(self, value: torch.Tensor) -> sp.Basic:
        """The exact number in a tensor that does not depend on the input: a parameter, a buffer, a constant.

        Raises:
            DeclarationError: its entries differ: units of the layer would have activations of their own.
        """
        entries = torch.unique(value.detach())
        if entries.numel() != 1:
            name = self.tensors.get(value.data_ptr(), "a tensor")
            shown = ", ".join(f"{entry:g}" for entry in entries[:3].tolist()) + ", ..." * (entries.numel() > 3)
            raise self.refused(
                f"{name} has {entries.numel()} different values: {shown}",
                "convert one unit at a time, or give all of them one value",
            )
        if entries.dtype == torch.bool:
            return sp.true if entries.item() else sp.false
        return self.constant(entries.item())


class SymbolicTensor(torch.Tensor):
    """A tensor without storage, whose every entry is the same formula of the same entry of the input.

    Args:
        formula: a real expression, or a condition where the type is bool.
        like: has its shape and type.
        recording: of the run.
    """

    formula: sp.Basic
    recording: Recording

    @staticmethod
    def __new__(cls, formula: sp.Basic, like: torch.Tensor, recording: Recording) -> SymbolicTensor:
        """Make a wrapper: PyTorch asks it for shape and type, and hands it every operation."""
        made = torch.Tensor._make_wrapper_subclass(cls, like.shape, dtype=like.dtype, device="cpu")
        made.formula, made.recording = formula, recording
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """One operation: shapes and types by PyTorch without data, the formula by the table."""
        schema = func._schema.arguments
        arguments = {argument.name: argument.default_value for argument in schema if not argument.is_out}
        arguments |= {argument.name: value for argument, value in zip(schema, args, strict=False)} | (kwargs or {})
        recording = next(leaf for leaf in tree_flatten(arguments)[0] if isinstance(leaf, SymbolicTensor)).recording
        name = name_of(func)
        in_place = name.endswith("_") and not name.endswith("__")
        name = name.removesuffix("_") if in_place else name
        if name == "_local_scalar_dense":
            raise recording.refused("it branches on the values of its input, or turns them into Python numbers")
        if name in RANDOM:
            raise recording.refused(f"it is random (the operation {name})", "call .eval() first, or remove the noise")
        if (name not in OPERATIONS and name not in SHAPES) or "out" in arguments:
            raise recording.refused(f"symres has no rule for the operation {name.strip('_').removeprefix('native_')}")
        if name == "_to_copy":
            _watch_precision(arguments, recording)
        formula = _applied(name, arguments, recording)
        if in_place:
            args[0].formula = formula
            return args[0]
        shapes = func(*map(_meta, args), **{key: _meta(value) for key, value in (kwargs or {}).items()})
        if isinstance(shapes, tuple):  # an operation that keeps something for its derivative
            return tuple(cls(formula, like, recording) for like in shapes)
        return cls(formula, shapes, recording)


def _applied(name: str, arguments: dict[str, Any], recording: Recording) -> sp.Basic:
    """The formula of what an operation of the dispatcher gives, by the table."""
    if name in SHAPES:
        return arguments["self"].formula
    try:
        return OPERATIONS[name](recording.cut, **{key: _exact(value, recording) for key, value in arguments.items()})
    except DeclarationError:
        raise
    except (TypeError, ValueError, NotImplementedError) as error:  # sympy compares no complex numbers, for instance
        raise recording.refused(f"symres has no rule for the operation {name} with these arguments ({error})") from None


def _exact(value: Any, recording: Recording) -> Any:
    if isinstance(value, SymbolicTensor):
        return value.formula
    if isinstance(value, torch.Tensor):
        return recording.tensor(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return recording.constant(value)
    return value


def _meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty(value.shape, dtype=value.dtype, device="meta")
    return value


def _watch_precision(arguments: dict[str, Any], recording: Recording) -> None:
    """Casts between floating-point types change no formula, but the digits to which a module follows it."""
    before, after = arguments["self"].dtype, arguments["dtype"]
    if after is None or before == after:
        return
    if before.is_floating_point and not after.is_floating_point:
        raise recording.refused(f"it converts its values to the type {after}".replace("torch.", ""))
    if after.is_floating_point:
        recording.precision = max(recording.precision, torch.finfo(after).eps)


_LONG = 15  # significant digits from which on a decimal is the rounding of some other number
_DENOMINATOR = 1000
# published with more digits than a double holds: Klambauer and others, arXiv:1706.02515
_PUBLISHED = tuple(map(sp.Rational, ("1.0507009873554804934193349852946", "1.6732632423543772848170429916717")))


def exact_constant(value: int | float) -> sp.Expr:
    """The number that a double in a formula stands for.

    Short decimals are taken as they are written. One that needs all digits of a double is a rounding: of a small
    fraction, of the root of one, possibly with powers of pi (``math.sqrt(2/math.pi)``), or of a published constant,
    if one of these differs from it by no more than a rounding error.

    Args:
        value: a finite number.

    Raises:
        DeclarationError: the number is not finite.
    """
    decimal = number(value, "a constant of the module")
    if isinstance(value, int) or len(repr(abs(value)).partition("e")[0].replace(".", "").strip("0")) < _LONG:
        return decimal
    for published in _PUBLISHED:
        if abs(float(published)) == abs(value):
            return published if value > 0 else -published
    candidates = [sp.Rational(Fraction(value).limit_denominator(_DENOMINATOR))]
    for power in (0, 1, -1, 2, -2):
        square = Fraction(value * value / math.pi**power).limit_denominator(_DENOMINATOR)
        candidates.append((-1 if value < 0 else 1) * sp.sqrt(sp.Rational(square) * sp.pi**power))
    for candidate in candidates:
        if candidate != 0 and abs(float(candidate) - value) <= math.ulp(value):
            return candidate
    return decimal
