"""A walk over the forward equation itself: what the equation says is what the network does.

The program to which a layer is lowered is never read here, so a wrong lowering is found like any other error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, TypeAlias, TypeVar

import numpy as np
import sympy as sp

from ...activations.activation import Phi
from ...core.errors import UnsupportedLayer
from ...core.symbols import z
from ...layers.nodes import Net, Node
from ..formulas.numeric_formula import NumericFunction, activation_function

N = TypeVar("N")  # neurons, as the net makes them
Held: TypeAlias = list[Any]  # results of the steps so far: neurons, and numbers
Operation: TypeAlias = Callable[[Net, Held], Any]


class Forward:
    """A forward equation with numbers in the place of its symbols, ready to be applied to a network's stream.

    A node that occurs twice (the same object or an equal one) is one step, hence one draw.

    Args:
        forward: expression in ``z``, scalars, activations and nodes.
        values: exact numbers for every other free symbol.

    Raises:
        UnsupportedLayer: a symbol without a number, or a function that has no rule here.
    """

    def __init__(self, forward: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> None:
        self._values = dict(values)
        self._slots: dict[sp.Basic, int] = {z: 0}
        self._operations: list[Operation] = []
        self._functions: dict[sp.Basic, NumericFunction] = {}
        self._result = self._slot(forward)

    def __call__(self, net: Net, stream: N) -> N:
        """The next stream; ``net`` draws whatever the layer draws."""
        held = [stream]
        with np.errstate(all="ignore"):
            for operation in self._operations:
                held.append(operation(net, held))
        return held[self._result]

    def _slot(self, expr: sp.Basic) -> int:
        if expr not in self._slots:
            operation = self._operation(expr)
            self._slots[expr] = 1 + len(self._operations)
            self._operations.append(operation)
        return self._slots[expr]

    def _operation(self, expr: sp.Basic) -> Operation:
        if isinstance(expr, Node):
            arguments = expr.args  # a Dummy among them is a tag
            streams = (isinstance(a, sp.Expr) and not isinstance(a, sp.Dummy) for a in arguments)
            slots = [self._slot(a) if walked else None for a, walked in zip(arguments, streams, strict=True)]
            is_constant = not arguments[0].has(z, Node)

            def sample(net: Net, held: Held) -> Any:
                operands = [a if s is None else held[s] for a, s in zip(arguments, slots, strict=True)]
                if is_constant:  # Dense(2): neurons that all have this value
                    operands[0] = 0.0 * held[0] + operands[0]
                try:
                    return expr.sample(net, *operands)
                except (TypeError, AttributeError) as error:  # neurons are no numbers: math.exp, a shape
                    asked = f"the method sample of the node {type(expr).__name__}"
                    remedy = "use arithmetic, net.mean, net.batch, net.dense and elementwise functions of NumPy"
                    raise UnsupportedLayer(asked, str(error), remedy) from error

            return sample
        if not expr.has(z, Node):
            number = float(self._exact(expr))
            return lambda net, held: number
        if isinstance(expr, Phi):
            atom = Phi(expr.formula, z, sp.Integer(expr.order), *expr.args[3:])
            if atom not in self._functions:
                self._functions[atom] = activation_function(expr, self._values)
            return self._pointwise(self._functions[atom], expr.argument)
        if isinstance(expr, sp.Add | sp.Mul | sp.Max | sp.Min):
            combine = {sp.Add: np.add, sp.Mul: np.multiply, sp.Max: np.maximum, sp.Min: np.minimum}[expr.func]
            places = [self._slot(a) for a in expr.args]
            return lambda net, held: reduce(combine, (held[place] for place in places))
        varying = [a for a in expr.args if a.has(z, Node)]
        if len(varying) == 1:  # a power, or a function that was not declared
            (argument,) = varying
            others = {a: self._exact(a) for a in expr.args if a is not argument}
            formula = expr.func(*(others.get(a, z) for a in expr.args))
            return self._pointwise(NumericFunction(formula, z), argument)
        found = "the check has no rule for it"
        remedy = "write the forward equation with sums, products, activations and nodes"
        raise UnsupportedLayer(f"a network with {expr.func.__name__} of several streams", found, remedy)

    def _pointwise(self, function: NumericFunction, argument: sp.Expr) -> Operation:
        slot = self._slot(argument)
        return lambda net, held: function(held[slot])

    def _exact(self, expr: sp.Expr) -> sp.Expr:
        value = expr.subs(self._values).replace(lambda e: isinstance(e, Phi), lambda e: e.expanded)
        if value.free_symbols:
            found = f"{', '.join(sorted(map(str, value.free_symbols)))} has no value"
            raise UnsupportedLayer(f"numbers of {expr}", found, "give every parameter a number")
        return value
