"""The nodes of a forward equation. A new node is one class: how it lowers, how it is sampled, how it prints.

    argument_names             the names of its arguments; ("u",) if it has one
    lower(program, u, *rest)   its meaning in the instructions ``program.mean``, ``program.draw`` and ``program.batch``
    sample(net, u, *rest)      its meaning in a network: the definition that the oracles use, independent of ``lower``;
                               ``Node.sample`` says which functions it may use
    _latex(printer)            its notation

``u`` is the first argument (already lowered, or an array of shape (nets, n, inputs)), ``rest`` are the others
(expressions, or numbers).

The declaration of the class is all there is to do: it enters ``node_classes``, from which forward equations that are
written as text take their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol, Self, TypeVar

import sympy as sp
from sympy.core.symbol import Str
from sympy.printing.printer import Printer

from ..activations import catalogue
from ..activations.formula_parser import PARSED_FUNCTIONS, VARIABLE
from ..core.errors import DeclarationError, UnsupportedLayer
from ..core.scalars import Number, equation, scalar
from ..core.symbols import C_W, SHARED, C_b
from .across import HERE, Across

PHI = "phi"  # the activation of a layer that is written as text
_CONSTANTS = ("pi",)
_classes: dict[str, type[Node]] = {}
node_classes: Mapping[str, type[Node]] = MappingProxyType(_classes)  # every node that was declared, by name


class Neurons(Protocol):
    """Neurons of a network, an array of shape (nets, n, inputs) or anything with the arithmetic of one."""

    def __add__(self, other: Self | float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __mul__(self, other: Self | float, /) -> Self: ...
    def __truediv__(self, other: Self | float, /) -> Self: ...
    def __pow__(self, other: float, /) -> Self: ...


N = TypeVar("N", bound=Neurons)


class Averaging(Protocol[N]):
    """What programs and networks have in common: averages, of expressions or of arrays."""

    def mean(self, u: N, /) -> N:
        """Average over the neurons: one value per input; of arrays, shape (nets, 1, inputs)."""

    def batch(self, u: N, /) -> N:
        """Average over the inputs of a large batch: one value per neuron; of arrays, shape (nets, n, 1)."""


class Instructions(Averaging[sp.Expr], Protocol):
    """What a program offers to a node that lowers."""

    def mean(self, u: sp.Expr, over: str = "neuron", /) -> sp.Expr:
        """Average over the neurons; with "position" over those of all positions."""

    def draw(self, u: sp.Expr, C_W: sp.Expr, C_b: sp.Expr, width: sp.Expr, across: Across = HERE) -> sp.Expr:
        """Fresh Gaussian neurons with covariance ``C_b + C_W <u u'>``, or what a rule across positions makes of it."""

    def pool(self, u: sp.Expr) -> sp.Expr:
        """The average over all positions."""


class Scores(NamedTuple):
    """Of attention: queries and keys, whose products are scores, and the biases of what is weighted by them.

    Args:
        C_Q: fan_in * Var(weight) of queries.
        C_K: of keys.
        C_bQ: Var(bias) of queries.
        C_bV: Var(bias) of values.
        power: of 1/d in the scale of scores.
        is_tied: whether keys are the queries.
    """

    C_Q: float
    C_K: float
    C_bQ: float
    C_bV: float
    power: float
    is_tied: bool


class Net(Averaging[N], Protocol[N]):
    """A network that an oracle walks; inputs of its arrays are the positions of a sequence, then those of the next."""

    def dense(self, u: N, C_W: float, C_b: float, width: float, /) -> N:
        """A dense layer with fresh weights and biases applied to ``u``."""

    def attend(self, u: N, keys: N, C_W: float, C_b: float, scores: Scores, /) -> N:
        """Softmax attention of ``u`` to ``keys``, with many heads and a dense layer behind them."""

    def mix(self, u: N, C_W: float, C_b: float, /) -> N:
        """A dense layer over the positions, the same one for all neurons."""

    def shifted(self, u: N, distance: int, /) -> N:
        """The neurons so many positions further, on a ring."""

    def pool(self, u: N, /) -> N:
        """Average over the positions of each sequence, at all of them."""


class Node(sp.Expr):
    """Base of everything in a forward equation that is not pointwise algebra.

    A subclass can be written in equations by its name. Of two classes with one name the later one is meant there, as
    everywhere in Python. Bases of several nodes are not registered: their name begins with an underscore, or they are
    declared with ``abstract=True``.

    Attributes:
        argument_names: of an equation as text, in order.
        words: {word: name of an argument} of what may be written for ``argument="word"``.
        elsewhere: {name: what to do instead} of arguments that a user may expect, and it does not have.

    Raises:
        DeclarationError: the class has the name of a function, an activation, a symbol or a node of symres; or a node
            has another number of arguments than names.

    Examples:
        A node that keeps the neurons and reverses their sign, in theories and in simulated networks alike:

        >>> class Reversed(sr.Node):
        ...     def lower(self, program, u):
        ...         return -u
        ...     def sample(self, net, u):
        ...         return u*(-1)
        >>> sr.layer("Reversed(z)/2 + Dense(z)").derive().kernel_map.expr
        C_W*K + C_b + K/4
    """

    argument_names: ClassVar[tuple[str, ...]] = ("u",)
    words: ClassVar[Mapping[str, str]] = MappingProxyType({})
    elsewhere: ClassVar[Mapping[str, str]] = MappingProxyType({})

    is_commutative = True
    is_extended_real = True
    is_real = True
    is_number = False  # also Dense(2, 1, 0), which has no free symbol: it is drawn

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        super().__init_subclass__()
        if abstract or cls.__name__.startswith("_"):
            return
        if taken := _meaning(cls.__name__, cls.__module__):
            raise DeclarationError(
                f"the node {cls.__name__}", f"the name is taken by {taken}", "give the class another name"
            )
        _classes[cls.__name__] = cls

    def __new__(cls, *arguments: Number) -> Node:
        """A node of an expression in the neurons and of scalars; numbers may be int, float, str, Fraction or sympy."""
        if len(arguments) != len(cls.argument_names):
            raise DeclarationError(
                f"the node {cls.__name__}",
                f"it takes {len(cls.argument_names)} arguments, not {len(arguments)}",
                f"write {cls.__name__}({', '.join(cls.argument_names)}); a class has defaults in a __new__ of its own",
            )
        u, *rest = arguments
        return super().__new__(
            cls,
            equation(u, f"the argument of a {cls.__name__}"),
            *(scalar(value, name) for name, value in zip(cls.argument_names[1:], rest, strict=True)),
        )

    def lower(self, program: Instructions, u: sp.Expr, *rest: sp.Expr) -> sp.Expr:
        """The node as an expression in sources and statistics of the program."""
        raise NotImplementedError(f"{type(self).__name__} must say how it lowers")

    def sample(self, net: Net[N], u: N, *rest: float) -> N:
        """The node's value in a network.

        The oracles call it with several kinds of neurons. All of them know arithmetic, ``net.mean``, ``net.batch``,
        ``net.dense`` and the elementary elementwise functions of NumPy, such as ``np.exp``; those of finite networks
        also matrices that act on positions, ``net.by_neuron(A @ net.by_position(u))`` with A of shape (positions,
        positions) and ``net.positions`` as their number. Functions of the module
        ``math`` refuse them, and so do infinitely wide networks shapes, indices and ``np.sort``: the rows of a check
        are INCONCLUSIVE then. So are those of quadrature where the argument of ``net.batch`` is not linear in the
        stream and in draws, or a product at two inputs has functions of more than four Gaussian variables.
        """
        raise NotImplementedError(f"{type(self).__name__} must say how it is sampled")

    def of_equal_positions(self) -> sp.Expr:
        """The node where all positions have the same neurons; a node that mixes positions says what it is there."""
        return self

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        raise UnsupportedLayer(
            f"the derivative of {self} with respect to {s}",
            "a node depends on the whole layer, not on one neuron",
            "derive the layer and differentiate its maps (kernel_map, covariance_map, chi_perp)",
        )


def of_equal_positions(forward: sp.Expr) -> sp.Expr:
    """An equation where all positions have the same neurons: what mixes them is dense, or does nothing."""
    return forward.replace(lambda e: isinstance(e, Node), lambda node: node.of_equal_positions())


def _meaning(name: str, module: str) -> str:
    """What a name stands for in equations already, if a class of this module must not take it; else empty."""
    if name in PARSED_FUNCTIONS or name in _CONSTANTS:
        return "formulas"
    if name in catalogue.activations:
        return "an activation"
    if name == PHI or name in VARIABLE or name in SHARED:
        return "a symbol of equations"
    registered = node_classes.get(name)
    rooms = f"{__name__.partition('.')[0]}."
    if registered is not None and registered.__module__.startswith(rooms) and registered.__module__ != module:
        return "a node of symres"
    return ""


class Drawn(Node, abstract=True):
    """A node that draws weights: every call has its own, also with the same arguments.

    Its arguments are those of ``settings``, in order, and a tag, the identity of the draw.

    Attributes:
        settings: the arguments behind u, with what they are in the shortest text.
    """

    settings: ClassVar[Mapping[str, sp.Basic]]

    def __new__(cls, u: Number, *values: sp.Basic, tag: sp.Dummy | None = None) -> Self:
        """A new draw; subclasses say which numbers they take."""
        # A Dummy, because its index survives pickling and copies without colliding with the tags of later calls.
        tag = values[-1] if values and isinstance(values[-1], sp.Dummy) else tag or sp.Dummy("draw")
        values = values[: len(cls.settings)]
        return sp.Expr.__new__(cls, equation(u, f"the argument of a {cls.__name__}"), *values, tag)

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """Symbols of the arguments; the tag is no parameter."""
        return set().union(*(a.free_symbols for a in self.args[:-1]))

    def setting(self, name: str) -> sp.Basic:
        """An argument by its name."""
        return self.args[1 + list(self.settings).index(name)]

    def _marks(self, printer: Printer) -> list[str]:
        """The settings that are not those of the shortest text."""
        pairs = zip(self.settings.items(), self.args[1:-1], strict=True)
        return [f"{name}={_shown(printer, value)}" for (name, usual), value in pairs if value != usual]

    def _sympystr(self, printer: Printer) -> str:
        return f"{type(self).__name__}({', '.join([printer._print(self.args[0]), *self._marks(printer)])})"

    def _latex(self, printer: Printer) -> str:
        marks = ",".join(self._marks(printer))
        below = f"_{{{marks}}}" if marks else ""
        return rf"\operatorname{{{type(self).__name__}}}{below}\left({printer._print(self.args[0])}\right)"


def _shown(printer: Printer, value: sp.Basic) -> str:
    """A setting in print; lists as lists, and what is no name as a string, so that texts can be read again."""
    if isinstance(value, sp.Tuple):
        return f"[{', '.join(_shown(printer, part) for part in value)}]"
    is_string = isinstance(value, Str) and not value.name.isidentifier() and printer.printmethod == "_sympystr"
    return f'"{value}"' if is_string else printer._print(value)


class Dense(Drawn):
    """A wide dense layer: ``y_i = b_i + sum_j W_ij u_j`` with ``Var W = C_W / fan_in`` and ``Var b = C_b``.

    Every call draws weights of its own, also with the same ``u``; bind the result to a name to use one draw twice:
    ``h = Dense(z); phi(h)*h`` has one source, ``phi(Dense(z))*Dense(z)`` has two.

    Args:
        u: what enters, an expression in the neurons.
        C_W: fan_in * Var(weight).
        C_b: Var(bias).
        width: width of the output, in units of the stream's width n.
        tag: the identity of this draw; made by the call.

    Examples:
        >>> phi = sr.activation("relu")
        >>> h = sr.Dense(sr.z, C_W=1, C_b=0)
        >>> one = sr.Layer(sr.Dense(phi(h)*h, C_W=1, C_b=0))  # one draw: <relu(h)^2 h^2> = 3 K^2/2
        >>> two = sr.Layer(sr.Dense(phi(h)*sr.Dense(sr.z, C_W=1, C_b=0), C_W=1, C_b=0))  # K/2 times K
        >>> one.derive().kernel_map.expr, two.derive().kernel_map.expr
        (3*K**2/2, K**2/2)
    """

    argument_names = ("u", "C_W", "C_b")  # a width and a tag have no text
    settings: ClassVar = {"C_W": C_W, "C_b": C_b, "width": sp.Integer(1)}

    def __new__(
        cls, u: Number, C_W: Number = C_W, C_b: Number = C_b, width: Number = 1, tag: sp.Dummy | None = None
    ) -> Self:
        """A new draw; numbers may be int, float, str, Fraction or sympy."""
        return super().__new__(cls, u, scalar(C_W, "C_W"), scalar(C_b, "C_b"), scalar(width, "width"), tag=tag)

    def lower(self, program: Instructions, u: sp.Expr, *rest: sp.Expr) -> sp.Expr:
        """One instruction ``Draw``."""
        weight_variance, bias_variance, width, _ = rest
        return program.draw(u, weight_variance, bias_variance, width)

    def sample(self, net: Net[N], u: N, *rest: float) -> N:
        """A dense layer with fresh weights and biases."""
        weight_variance, bias_variance, width = rest[:3]
        return net.dense(u, weight_variance, bias_variance, width)

    def _latex(self, printer: Printer) -> str:
        return super()._latex(printer).replace("width=", "n=")
