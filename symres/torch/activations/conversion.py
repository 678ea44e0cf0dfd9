"""From a PyTorch module, or a function of one tensor, to an activation, under its name in the catalogue."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias, TypeGuard

import mpmath as mp
import numpy as np
import sympy as sp
import torch

from ...activations.activation import Activation, formula_name
from ...activations.catalogue import activations
from ...activations.piecewise import PiecewiseFunction, split
from ...core.errors import CheckRefuted, DeclarationError, SymresError
from ...core.symbols import z
from ..models.keeping import on_one_line
from .symbolic_tensor import Recording, SymbolicTensor

Pointwise = Callable[[torch.Tensor], torch.Tensor]
PointwiseModule: TypeAlias = torch.nn.Module | Pointwise

_COLUMNS = 2  # of the input, unless parameters have more entries
_CUTS = 4.0  # how much an average of squares may differ, in units of a relative difference of values
_LONGEST = 90  # characters of a name
_DIGITS = 45  # the constants of SELU have 32
_POINTS = tuple(map(sp.Rational, ("-1973/211", "-4001/1009", "-733/409", "-307/499", "-11/701", "13/907")))
_POINTS += tuple(map(sp.Rational, ("359/613", "1201/797", "2203/887", "4217/823", "6553/947", "11003/601")))
_MOST_NUMBERS = 8  # candidates for the values of parameters
# of a formula against the module
_WORKING_DIGITS = 30
_VALUES = 1e-12  # relative to the largest of 1, |z| and the formula's number
_GRADIENTS = 2.0**-23  # kernels of PyTorch have constants in float32, hardsigmoid's 1/6 for instance
_ROUNDINGS = 64  # of the coarsest floating-point type that a module uses
_OVERFLOW = 80.0  # |z| from which on exp overflows in float32, and a module need not be finite
_CLOSE = 1e-9  # relative distance from a breakpoint at which neither side is meant


@dataclass(frozen=True)
class Conversion:
    """What was read from a module.

    Args:
        activation: the formula, under the catalogue's name where it has one.
        pointwise: the module in float64 on the CPU, a copy.
        columns: the size of the last dimension that it takes.
        resolution: how well it follows the formula, relative: by the floating-point types that it uses inside, and by
            approximations of its own that the formula leaves out.
    """

    activation: Activation
    pointwise: Pointwise
    columns: int
    resolution: float


def is_pointwise_module(what: object) -> TypeGuard[PointwiseModule]:
    """Whether something may be read: a module or a function, and no activation of symres."""
    return callable(what) and not isinstance(what, Activation | sp.Basic)


def read(what: object) -> Activation:
    """The activation that a PyTorch module or function of one tensor computes.

    Args:
        what: an instance of a module, ``torch.nn.GELU()``; a function, ``torch.tanh``; a user's own of either kind,
            made of elementwise operations. Parameters and buffers count with their present values, the mode (training
            or not) as it is. The module itself is not touched.

    Returns:
        The catalogue's activation where it is the same function (``gelu``), else one named after the module. Decimals
        in the code are exact; those that need all digits of a double are taken as the root or the fraction which they
        round (``math.sqrt(2/math.pi)``). Softplus's switch to the linear function is left out where float32 could not
        show it.

    Raises:
        DeclarationError: an operation that cannot be read, a branch on values, parameters with different entries, a
            result of another shape, or a formula that is no activation.
        CheckRefuted: the formula does not have the module's values and gradients, on a grid in float64.
    """
    return conversion(what).activation


def conversion(what: object) -> Conversion:
    """As ``read``, with the module's copy in float64 and how well it follows the formula."""
    label = _label(what)
    if isinstance(what, type):
        remedy = f"pass {what.__name__}()" if issubclass(what, torch.nn.Module) else "pass a module or a function"
        raise DeclarationError(f"the activation {what.__name__}", "it is a class", remedy)
    if not is_pointwise_module(what):
        raise DeclarationError(f"the activation {label}", "it is not a function", "pass a module or a function")
    module, tensors = _prepared(what, label)
    columns = max([_COLUMNS, *(t.numel() for t in tensors.values())])
    recording = Recording(label, {t.data_ptr(): name for name, t in tensors.items()})
    formula = _run(module, columns, recording)
    read_formula = _declared(formula.subs(recording.cut.on, 0), what, label)
    as_computed = split(formula.subs(recording.cut.on, 1))
    places = [float(number) for number in dict.fromkeys(recording.constants)]
    try:
        require_agreement(label, module, as_computed, places, recording.precision, columns)
    except RuntimeError as error:  # of PyTorch
        raise _failed(label, "it fails on numbers in float64", error) from error
    catalogued = known_formula(read_formula, recording.constants)
    resolution = max(_ROUNDINGS * recording.precision, _CUTS * recording.cut.size)
    return Conversion(catalogued or read_formula, module, columns, resolution)


def _prepared(what: PointwiseModule, label: str) -> tuple[Pointwise, dict[str, torch.Tensor]]:
    """A copy in float64 on the CPU, and its parameters and buffers."""
    if not isinstance(what, torch.nn.Module):
        return what, {}
    what = dict(what.named_children()).get("_orig_mod", what)  # of torch.compile, which would compile the formula
    try:
        module = copy.deepcopy(what).to(device="cpu", dtype=torch.float64)
    except Exception as error:
        raise _failed(label, "it cannot be copied", error) from error
    return module, {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _run(module: Pointwise, columns: int, recording: Recording) -> sp.Expr:
    """Run a module on a formula."""
    entries = SymbolicTensor(z, torch.empty(2, columns, dtype=torch.float64, device="meta"), recording)
    try:
        with torch.no_grad():
            result = module(entries)
    except SymresError:
        raise
    except Exception as error:  # whatever the user's code raises
        raise _failed(recording.module, f"it fails on a tensor of shape (2, {columns})", error) from error
    if not isinstance(result, torch.Tensor):
        kind = type(result).__name__
        raise recording.refused(f"it returns a{'n' * (kind[0].lower() in 'aeiou')} {kind}")
    if result.shape != entries.shape:
        raise recording.refused(f"it changes the shape from {tuple(entries.shape)} to {tuple(result.shape)}")
    if not isinstance(result, SymbolicTensor):
        raise recording.refused("its result does not depend on its input")
    if result.dtype == torch.bool or not isinstance(result.formula, sp.Expr):
        raise recording.refused("it returns truth values, not numbers")
    if result.formula.has(sp.nan):
        raise recording.refused("it uses a tensor whose entries were never set")
    return result.formula


def _declared(formula: sp.Expr, what: PointwiseModule, label: str) -> Activation:
    """The formula as an activation, named after the module."""
    named = isinstance(what, torch.nn.Module) or "<lambda>" not in label
    try:
        return Activation(label if named else formula_name(str(formula)), formula)
    except DeclarationError as error:
        about = "" if label in error.asked else f"{error.asked}: "
        raise DeclarationError(f"the activation {label}", f"{about}{error.found}", error.remedy) from None


def _label(what: object) -> str:
    """The module as it shows itself, on one line; the name of a function."""
    if isinstance(what, functools.partial):
        values = [*(f"{v}" for v in what.args), *(f"{key}={v}" for key, v in what.keywords.items())]
        text = f"{_label(what.func)}({', '.join(values)})"
    elif isinstance(what, torch.nn.Module):
        text = " ".join(repr(what).split()).removesuffix("()")
    else:
        text = str(getattr(what, "__name__", type(what).__name__))
    text = text.encode("ascii", "replace").decode()
    return text if 0 < len(text) <= _LONGEST else type(what).__name__[:_LONGEST]


def _failed(label: str, problem: str, error: Exception) -> DeclarationError:
    remedy = "pass a pointwise function of one tensor"
    return DeclarationError(f"the activation {label}", f"{problem} ({on_one_line(error, 160)})", remedy)


def known_formula(phi: Activation, numbers: Iterable[sp.Expr]) -> Activation | None:
    """The activation of the catalogue that is the same function, with its name and source.

    Two formulas are taken to be the same if they agree to 40 digits at twelve points of no special kind, some in each
    of the ranges where activations of the catalogue differ, and break at the same places.

    Args:
        phi: without free parameters.
        numbers: values that parameters of the catalogue's formulas may have, besides those in the formula.
    """
    with mp.workdps(_DIGITS):
        values = list(_values(phi))
        written = sorted(phi.expr.atoms(sp.Rational), key=sp.default_sort_key)
        candidates = [n for n in dict.fromkeys([*numbers, *written, sp.Integer(1)]) if n.is_number][:_MOST_NUMBERS]
        for entry in sorted(activations.values(), key=lambda entry: len(entry.parameters)):
            for choice in product(candidates, repeat=len(entry.parameters)):
                candidate = _specialised(entry, choice, values)
                if candidate is not None and set(candidate.breakpoints) == set(phi.breakpoints):
                    return candidate
    return None


def _specialised(entry: Activation, numbers: Sequence[sp.Expr], values: Sequence[mp.mpf]) -> Activation | None:
    """The entry with numbers, if it has the values; None too for numbers that its parameters do not admit."""
    try:
        special = entry.subs(**{str(p): value for p, value in zip(entry.parameters, numbers, strict=True)})
    except DeclarationError:
        return None
    pairs = zip(_values(special), values, strict=True)
    is_same = all(abs(one - other) <= mp.mpf(10) ** -40 * (1 + abs(other)) for one, other in pairs)  # not of nan either
    return special if is_same else None


def _values(phi: Activation) -> Iterator[mp.mpf]:
    for x in _POINTS:
        yield sp.lambdify((), phi.pieces.part_at(x).subs(z, x), "mpmath")() + mp.mpf(0)


def require_agreement(
    name: str, module: Pointwise, pieces: PiecewiseFunction, places: Sequence[float], precision: float, columns: int
) -> None:
    """Compare values and gradients on a grid: the bulk, both tails up to 1000, and both sides of special places.

    Args:
        name: of the module, for messages.
        module: of tensors in float64.
        pieces: the formula.
        places: arguments near which the module may change its rule.
        precision: spacing at 1 of the coarsest floating-point type that the module uses.
        columns: the size of the last dimension of the module's input.

    Raises:
        CheckRefuted: values or gradients differ by more than rounding errors.
    """
    points = _grid([*places, *(float(b) for b in pieces.breaks)], columns)
    values, gradients = values_and_gradients(module, points.reshape(-1, columns))
    breaks = np.array([float(b) for b in pieces.breaks])
    away = np.all(np.abs(points[:, None] - breaks) > _CLOSE * (1 + np.abs(breaks)), axis=1)
    for kind, computed, formula, tolerance in (
        ("value", values, pieces, max(_VALUES, _ROUNDINGS * precision)),
        ("gradient", gradients, pieces.diff(), max(_GRADIENTS, _ROUNDINGS * precision)),
    ):
        if computed is None:
            continue
        flat = computed.reshape(-1)
        expected = evaluate(formula, points)
        scale = np.maximum(np.maximum(1, np.abs(points)), np.abs(expected))
        with np.errstate(invalid="ignore"):
            deviation = np.abs(flat - expected) / scale
        is_known = np.isfinite(flat) & np.isfinite(expected)
        deviation = np.where(is_known | (np.abs(points) < _OVERFLOW), deviation, 0)
        compared = np.where(away, np.nan_to_num(deviation, nan=np.inf), 0)
        place = int(np.argmax(compared))
        if compared[place] > tolerance:
            raise _refuted(name, kind, points[place], flat[place], expected[place])


def values_and_gradients(module: Pointwise, points: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """What PyTorch computes in float64, entry by entry, at points in the shape that the module takes.

    Returns:
        Values and gradients in that shape; no gradients where an operation has none.
    """
    with torch.enable_grad():
        leaf = torch.tensor(points, dtype=torch.float64, requires_grad=True)
        result = module(leaf.clone())  # the module may change it in place
        values = result.detach().to(torch.float64).numpy().copy()
        if not result.requires_grad:
            return values, np.zeros_like(values)
        try:
            (gradient,) = torch.autograd.grad(result.sum(), leaf, allow_unused=True)
        except RuntimeError:  # an operation without derivative
            return values, None
    return values, np.zeros_like(values) if gradient is None else gradient.numpy(force=True).copy()


def evaluate(pieces: PiecewiseFunction, points: np.ndarray) -> np.ndarray:
    """A formula without free parameters at some points, each to 30 digits, then rounded to floats."""
    parts = [sp.lambdify(z, part, "mpmath") for part in pieces.parts]
    places = np.searchsorted(np.array([float(b) for b in pieces.breaks]), points, side="right")
    return np.array([_number(parts[i], float(x)) for i, x in zip(places, points, strict=True)])


def _number(formula: Callable[[mp.mpf], mp.mpf], point: float) -> float:
    """The value to 30 digits; to 600 where fewer lose all, as in the derivative of ``sqrt(log(1 + exp(-99)))``."""
    for digits in (_WORKING_DIGITS, 20 * _WORKING_DIGITS):
        with mp.workdps(digits):
            try:
                return float(formula(mp.mpf(point)))
            except ZeroDivisionError:
                continue
    return float("nan")


def _grid(places: Sequence[float], columns: int) -> np.ndarray:
    """Points in an order without symmetry, so many that they fill whole rows."""
    tails = np.geomspace(1e-8, 1e3, 34)
    steps = np.array([-0.5, -1e-3, -1e-6, 0.0, 1e-6, 1e-3, 0.5])
    special = [sign * place + steps for place in places for sign in (1, -1) if abs(place) <= 1e3]
    points = np.unique(np.concatenate([np.linspace(-9, 9, 109), tails, -tails, *special]))
    points = np.concatenate([points, points[-1] + np.arange(1, 1 + (-len(points)) % columns)])
    return np.random.default_rng(0).permutation(points)


def _refuted(name: str, kind: str, point: float, computed: float, expected: float) -> CheckRefuted:
    """The error that says where module and formula differ, and what that means for the user."""
    remedy = (
        "it is not a function of each entry alone, or uses operations in a way that cannot be read; pass its formula"
        if kind == "value"
        else "its backward pass is not the derivative of its forward pass; pass the formula that you mean"
    )
    return CheckRefuted(
        f"the activation {name}",
        f"at z = {point:.6g} its {kind} is {computed:.15g}, but the formula read from it gives {expected:.15g}",
        remedy,
    )
