"""Neurons of an infinitely wide network as random variables: affine forms in sources, and functions of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeGuard, Union

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...core.errors import SymresError
from ..formulas.numeric_formula import Elementwise, NumericFunction

Place: TypeAlias = tuple["Operand", int]  # a field or a number at one of the inputs
Leaf: TypeAlias = tuple["Affine", int]
Operand: TypeAlias = Union["RandomField", np.ndarray, float]  # a number for all inputs, or one for each
Term: TypeAlias = tuple[np.ndarray | float, tuple["RandomField", ...]]  # a number (per input) times fields
Held: TypeAlias = dict[tuple[int, int], np.ndarray | float]  # values of fields, by identity and input

_POWERS = (1, 2, 3, 4)  # of fields, that are products of them


class OracleLimit(SymresError):
    """A limit of this oracle: the check is inconclusive, the claim not wrong."""


class RandomField(NDArrayOperatorsMixin, Elementwise):
    """The value of a neuron, as a random variable per input; only elementwise operations exist.

    Reductions, indexing and shapes are refused on purpose: an average over the neurons of an infinitely wide
    network is ``net.mean`` and nothing else.
    """

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Operand, **options: object) -> RandomField:
        if method != "__call__" or options:
            return NotImplemented
        return combine(ufunc, tuple(_operand(a, self.inputs) for a in args))

    def __array_function__(
        self,
        function: Callable[..., np.ndarray],
        types: Collection[type],
        args: tuple[Operand, ...],
        options: Mapping[str, object],
    ) -> RandomField:
        if function is np.where and len(args) == 3 and not options:
            return Applied(np.where, tuple(_operand(a, self.inputs) for a in args))
        raise TypeError(f"{function.__name__} of a neuron in an infinitely wide network")

    def apply(self, function: NumericFunction) -> RandomField:
        """A function of one variable, elementwise."""
        base, exponent = function.expr.as_base_exp()
        if base == function.variable and exponent in _POWERS:
            return combine(np.power, (self, float(exponent)))
        return Applied(function, (self,))


class Affine(RandomField):
    """sum over sources of coefficient * source, plus a constant; everything may differ between inputs.

    Args:
        coefficients: source number -> array (inputs,).
        constant: array (inputs,).
    """

    def __init__(self, coefficients: dict[int, np.ndarray], constant: np.ndarray) -> None:
        super().__init__(len(constant))
        self.coefficients = coefficients
        self.constant = constant

    def scaled(self, factor: np.ndarray | float) -> Affine:
        """The form times a number per input."""
        return Affine({s: c * factor for s, c in self.coefficients.items()}, self.constant * factor)

    def plus(self, other: Affine | np.ndarray | float) -> Affine:
        """The sum of two forms, or of a form and a number per input."""
        if not isinstance(other, Affine):
            return Affine(self.coefficients, self.constant + other)
        zero = np.zeros(self.inputs)
        sources = {**self.coefficients, **other.coefficients}
        return Affine(
            {s: self.coefficients.get(s, zero) + other.coefficients.get(s, zero) for s in sources},
            self.constant + other.constant,
        )


class Applied(RandomField):
    """A function of fields and numbers per input.

    Args:
        function: takes arrays, elementwise.
        arguments: fields or arrays (inputs,).
    """

    def __init__(self, function: Callable[..., np.ndarray], arguments: tuple[Operand, ...]) -> None:
        super().__init__(next(a.inputs for a in arguments if isinstance(a, RandomField)))
        self.function = function
        self.arguments = arguments


def combine(ufunc: np.ufunc, args: tuple[Operand, ...]) -> RandomField:
    """An operation on fields: affine forms stay affine, sums and products stay sums and products of fields."""
    if ufunc is np.subtract:
        return combine(np.add, (args[0], -args[1]))
    if ufunc is np.negative:
        return combine(np.multiply, (args[0], np.array(-1.0)))
    if ufunc is np.positive and isinstance(args[0], RandomField):
        return args[0]
    if ufunc is np.divide and _is_number(args[1]):
        return combine(np.multiply, (args[0], 1.0 / np.asarray(args[1], dtype=float)))
    if ufunc is np.square:
        return combine(np.power, (args[0], 2.0))
    if ufunc is np.power and isinstance(args[0], RandomField) and _is_number(args[1]):
        power, exponent = args[0], args[1]
        if np.ndim(exponent) == 0 and exponent in _POWERS:
            for _ in range(int(exponent) - 1):
                power = Applied(np.multiply, (power, args[0]))
            return power
    if ufunc in (np.add, np.multiply):
        form, other = (args[1], args[0]) if _is_number(args[0]) else args
        if ufunc is np.add and isinstance(form, Affine) and (isinstance(other, Affine) or _is_number(other)):
            return form.plus(other)
        if ufunc is np.multiply and isinstance(form, Affine) and _is_number(other):
            return form.scaled(other)
    return Applied(ufunc, args)


def _is_number(operand: Operand) -> TypeGuard[np.ndarray | float]:
    return not isinstance(operand, RandomField)


def at_input(number: np.ndarray | float, a: int) -> np.ndarray | float:
    """What a number for all inputs, or one for each, is at one of them."""
    return number[a] if isinstance(number, np.ndarray) and number.ndim else number


def expanded(operand: Operand) -> list[Term]:
    """A field or a number as a sum of (number per input) * (product of fields)."""
    if not isinstance(operand, RandomField):
        return [(operand, ())]
    if isinstance(operand, Applied):
        if operand.function is np.add:
            terms = [term for a in operand.arguments for term in expanded(a)]
            return [term for term in terms if np.any(term[0])] or terms[:1]
        if operand.function is np.multiply:
            first, second = map(expanded, operand.arguments)
            if len(first) * len(second) <= 16:
                return [(c * d, f + g) for c, f in first for d, g in second]
    return [(1.0, (operand,))]


def is_same_function(operand: Operand, a: int, b: int) -> bool:
    """Whether an operand is the same function of the sources at two inputs."""
    if isinstance(operand, Affine):
        parts = [operand.constant, *operand.coefficients.values()]
        return all(part[a] == part[b] for part in parts)
    if isinstance(operand, Applied):
        return all(is_same_function(argument, a, b) for argument in operand.arguments)
    return not isinstance(operand, RandomField) and bool(at_input(operand, a) == at_input(operand, b))


def _parts(places: Iterable[Place]) -> Iterator[Place]:
    """Fields and numbers, and all that they are functions of, each once."""
    stack, seen = list(places), set()
    while stack:
        field, a = stack.pop()
        if (id(field), a) not in seen:
            seen.add((id(field), a))
            yield field, a
            if isinstance(field, Applied):
                stack.extend((argument, a) for argument in field.arguments)


def leaves(places: Iterable[Place]) -> dict[tuple[int, int], Leaf]:
    """The Gaussian variables in some fields: their largest affine parts, by identity."""
    forms = {(id(field), a): (field, a) for field, a in _parts(places) if isinstance(field, Affine)}
    return dict(sorted(forms.items(), key=lambda item: item[0][1]))


def kinks(places: Iterable[Place]) -> dict[tuple[int, int], list[float]]:
    """Where declared functions switch, for every leaf that is the argument of one."""
    switches: dict[tuple[int, int], list[float]] = {}
    for function, argument, a in declared(places):
        switches.setdefault((id(argument), a), []).extend(map(float, function.breaks))
    return switches


def declared(places: Iterable[Place]) -> Iterator[tuple[NumericFunction, Affine, int]]:
    """The declared functions of leaves in some fields, each with its argument and the input."""
    for field, a in _parts(places):
        if isinstance(field, Applied) and isinstance(field.function, NumericFunction):
            argument = field.arguments[0]
            if isinstance(argument, Affine):
                yield field.function, argument, a


def value(field: Operand, a: int, held: Held) -> np.ndarray | float:
    """The field at input ``a``, given the values of the leaves (in ``held``, which also collects what is computed)."""
    if not isinstance(field, RandomField):
        return at_input(field, a)
    key = (id(field), a)
    if key not in held:
        assert isinstance(field, Applied)  # leaves are given
        held[key] = field.function(*(value(argument, a, held) for argument in field.arguments))
    return held[key]


def straight_line(places: Iterable[Place], leaf_keys: Sequence[tuple[int, int]]) -> tuple[Hashable, ...]:
    """What fields do with leaves, as hashable data: equal data are equal functions of the leaves.

    Leaves are given by identity and input, in their order (see ``leaves``).
    """
    slots: dict[tuple[int, int], int] = {key: slot for slot, key in enumerate(leaf_keys)}
    steps: list[Hashable] = []

    def visit(operand: Operand, a: int) -> Hashable:
        if not isinstance(operand, RandomField):
            return float(at_input(operand, a))
        key = (id(operand), a)
        if key not in slots:
            assert isinstance(operand, Applied)  # leaves are given
            steps.append((operand.function, *(visit(argument, a) for argument in operand.arguments)))
            slots[key] = len(leaf_keys) + len(steps) - 1
        return (slots[key],)

    return tuple(visit(field, a) for field, a in places), tuple(steps)


def _operand(argument: Operand, inputs: int) -> Operand:
    if isinstance(argument, RandomField):
        return argument
    array = np.asarray(argument, dtype=float)
    if array.ndim and array.shape[-1] not in (1, inputs):
        raise TypeError(f"an array of shape {array.shape} next to a neuron of an infinitely wide network")
    return array if array.ndim == 0 else np.broadcast_to(array.reshape(array.shape[-1]), (inputs,))
