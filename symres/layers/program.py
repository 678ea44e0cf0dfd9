"""The canonical form of a layer: a straight-line program of three instructions and one output.

    Mean(s, h)                     s = (1/n) sum_i h(neuron i), an average over the neurons
    Draw(y, u, C_W, C_b, width)    y_i ~ N(0, C_b + C_W (1/n) sum_i u_i u'_i), a wide dense layer of u
    AxisMean(t, u, over)           t_i = average of u_i over the inputs of a large batch, or over all positions
    out                            the next stream, linear in the sources z, y1, y2, ... and the averages

u' is u at the second of two inputs. At infinite width statistics s are numbers, and sources y are jointly Gaussian.

Layers are equal if their programs are, and the hash of a layer is that of its program's text; neither comes from the
user's expression, whose draws carry tags that differ between two runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import sympy as sp

from ..activations.activation import Formula, Phi
from ..activations.validation import require_distinct
from ..core.errors import DeclarationError, SymresError, UnsupportedLayer
from ..core.symbols import KERNELS, at_place, shared, source, statistic, variance, z
from .across import HERE, Across, Pooled
from .nodes import Node


@dataclass(frozen=True)
class Mean:
    """``name = (1/n) sum_i integrand(neuron i)``, one value per input.

    Args:
        name: the statistic.
        integrand: a polynomial in neurons and activations.
        over: "neuron", or "position": neurons at all positions, one value for all.
        node: the node that asked for the average; messages name it.
    """

    name: sp.Symbol
    integrand: sp.Expr
    over: str = "neuron"
    node: Node | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.name} = mean({self.integrand}{', positions' if self.over == 'position' else ''})"


@dataclass(frozen=True)
class Draw:
    """Fresh Gaussian neurons ``name_i ~ N(0, C_b + C_W (1/n) sum_i u_i u'_i)``: a dense layer of wide fan-in.

    Args:
        name: the source, a neuron of the dense layer's output.
        u: the input of the dense layer, a polynomial in neurons and activations.
        C_W: fan_in * Var(weight).
        C_b: Var(bias).
        width: of the output, in units of the stream's width n.
        across: how positions are mixed.
    """

    name: sp.Symbol
    u: sp.Expr
    C_W: sp.Expr
    C_b: sp.Expr
    width: sp.Expr
    across: Across = HERE

    @property
    def arguments(self) -> tuple[sp.Expr, ...]:
        """All that it reads: u, and what the rule reads besides."""
        return (self.u, *self.across.arguments)

    def __str__(self) -> str:
        wide = "" if self.width == 1 else f", width {self.width}"
        mixed = "" if self.across == HERE else f", across {self.across}"
        return f"{self.name} ~ N(0, {self.C_b} + {self.C_W}*<u u'>), u = {self.u}{wide}{mixed}"


@dataclass(frozen=True)
class AxisMean:
    """``name_i = average of u_i``, for u linear in the sources.

    Args:
        name: what is the same for all members of the axis.
        u: what is averaged.
        over: "input", those of a large batch of exchangeable inputs; or "position".
    """

    name: sp.Symbol
    u: sp.Expr
    over: str = "input"

    def __str__(self) -> str:
        return f"{self.name} = {'batch' if self.over == 'input' else 'pool'}({self.u})"


Instruction = Mean | Draw | AxisMean


@dataclass(frozen=True)
class Program:
    """A lowered layer.

    Args:
        instructions: in order; each may use the names that earlier ones define.
        out: the next stream, expanded.
    """

    instructions: tuple[Instruction, ...]
    out: sp.Expr

    @cached_property
    def sources(self) -> tuple[sp.Symbol, ...]:
        """The Gaussian neurons: the stream z and every Draw."""
        return (z, *(draw.name for draw in self.draws))

    @cached_property
    def draws(self) -> tuple[Draw, ...]:
        """The dense layers."""
        return tuple(i for i in self.instructions if isinstance(i, Draw))

    @property
    def has_positions(self) -> bool:
        """Whether it mixes positions."""
        pools = any(not isinstance(i, Draw) and i.over == "position" for i in self.instructions)
        return pools or any(draw.across != HERE for draw in self.draws)

    @property
    def is_uncorrelated(self) -> bool:
        """Whether it is the law of positions without covariance."""
        return any(draw.across.is_uncorrelated for draw in self.draws)

    @cached_property
    def averages(self) -> dict[sp.Symbol, AxisMean]:
        """The averages over inputs or positions, by name."""
        return {i.name: i for i in self.instructions if isinstance(i, AxisMean)}

    @property
    def has_batch(self) -> bool:
        """Whether it averages over the inputs of a batch."""
        return any(average.over == "input" for average in self.averages.values())

    @cached_property
    def coefficients(self) -> dict[sp.Symbol, sp.Expr]:
        """The output as a linear form in the sources and averages."""
        return {s: self.out.diff(s) for s in (*self.sources, *self.averages) if self.out.has(s)}

    @cached_property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas of the activations, by name."""
        atoms = set().union(*(e.atoms(Formula) for e in self._expressions))
        return tuple(sorted(atoms, key=lambda f: (f.name, str(f.expr))))

    @cached_property
    def divisors(self) -> tuple[sp.Expr, ...]:
        """What the layer divides by that is made of averages over neurons: the work of normalisers."""
        powers = set().union(*(e.atoms(sp.Pow) for e in self._expressions))
        names = {i.name for i in self.instructions if isinstance(i, Mean)}
        bases = {p.base for p in powers if p.exp.could_extract_minus_sign() and p.base.free_symbols & names}
        return tuple(sorted(bases, key=sp.default_sort_key))

    @property
    def _expressions(self) -> tuple[sp.Expr, ...]:
        return (self.out, *(i.integrand if isinstance(i, Mean) else i.u for i in self.instructions))

    def width(self, u: sp.Expr) -> sp.Expr:
        """The number of neurons for which an expression has a value each, in units of the stream's width n."""
        widths = {draw.name: draw.width for draw in self.draws}
        return next((widths[s] for s in self.sources[1:] if u.has(s)), sp.Integer(1))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """One instruction a line."""
        return (*map(str, self.instructions), f"z' = {self.out}")

    @cached_property
    def text(self) -> str:
        """The canonical text; it also defines the activations."""
        return "\n".join((*(f"{f.name}: {f.expr}" for f in self.formulas), *self.lines))


class Builder:
    """Collects the instructions while a forward equation is lowered, and refuses what is not Gaussian.

    Nodes see it as ``Instructions``.
    """

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self._widths: dict[sp.Symbol, sp.Expr] = {z: sp.Integer(1)}
        self._pooled: dict[sp.Symbol, sp.Expr] = {}  # averages over positions of what is not linear
        self._centred: dict[sp.Symbol, sp.Expr] = {}  # statistics that vanish at infinite width, and that value
        self._node: sp.Expr = z  # that is being lowered

    def lower(self, node: Node, arguments: list[sp.Expr]) -> sp.Expr:
        """The node in sources and statistics, which know from now on what they belong to."""
        before, self._node = len(self.instructions), node
        try:
            lowered = node.lower(self, *arguments)
        except SymresError:
            raise
        except Exception as error:  # a mistake in the node's own code, whoever wrote it
            found = f"its lower() raised {type(error).__name__}: {error}"
            raise DeclarationError(f"the node {node}", found, "mend the class of the node") from error
        new = self.instructions[before:]
        self.instructions[before:] = [replace(i, node=node) if isinstance(i, Mean) else i for i in new]
        return lowered

    def mean(self, integrand: sp.Expr, over: str = "neuron") -> sp.Expr:
        """The average of a pointwise expression over the neurons; averaging the same twice is one statistic."""
        self._check(integrand)
        self._require_no_pool(integrand)
        means = {(i.integrand, i.over): i.name for i in self.instructions if isinstance(i, Mean)}
        if not integrand.free_symbols & self._widths.keys() or (integrand, over) in means:
            return means.get((integrand, over), integrand)
        name = statistic(1 + len(means))
        self.instructions.append(Mean(name, integrand, over))
        if self._is_linear(integrand) and self._constant(integrand) == 0:
            self._centred[name] = sp.Integer(0)
        return name

    def batch(self, u: sp.Expr) -> sp.Expr:
        """The average over the inputs of a large batch, for every neuron; averaging the same twice is one average."""
        if not self._is_linear(u):
            raise UnsupportedLayer(
                f"the node {self._node}",
                f"the average of {u} over the inputs is not that of Gaussian neurons: what follows an activation or a "
                f"product has batch statistics that differ from neuron to neuron{self._told(u)}",
                "normalise before the activation: phi(BatchNorm(Dense(...)))",
            )
        return self._average(u, "input")

    def pool(self, u: sp.Expr) -> sp.Expr:
        """The average over all positions; what is not linear stands for it until a draw reads it."""
        if self._is_linear(u):
            return self._average(u, "position")
        self._check(u)
        name = sp.Dummy("pooled", real=True)
        self._widths[name], self._pooled[name] = self._width(u), u
        return name

    def _average(self, u: sp.Expr, over: str) -> sp.Expr:
        """An average of what is linear in neurons; averaging the same twice is one average."""
        self._check(u)
        averages = {(i.u, i.over): i.name for i in self.instructions if isinstance(i, AxisMean)}
        if not u.free_symbols & self._widths.keys() or (u, over) in averages:
            return averages.get((u, over), u)
        name = shared(1 + len(averages))
        self._widths[name] = self._width(u)
        self.instructions.append(AxisMean(name, u, over))
        return name

    def _width(self, u: sp.Expr) -> sp.Expr:
        return next(self._widths[s] for s in u.free_symbols if s in self._widths)  # _check: all are equal

    def _is_linear(self, u: sp.Expr) -> bool:
        """Whether an expression is a linear combination of neurons, and a number."""
        neurons = self._widths.keys()
        return not any((u.diff(s)).free_symbols & neurons for s in u.free_symbols & neurons) and not u.has(Phi)

    def _constant(self, u: sp.Expr) -> sp.Expr:
        """What a linear combination has besides neurons, at infinite width."""
        return sp.expand(u.xreplace(dict.fromkeys(self._widths, sp.Integer(0))).xreplace(self._centred))

    def draw(self, u: sp.Expr, C_W: sp.Expr, C_b: sp.Expr, width: sp.Expr, across: Across = HERE) -> sp.Expr:
        """Fresh Gaussian neurons; every call is a source of its own."""
        if (pooled := self._pooled.keys() & u.free_symbols) and across == HERE:
            u, across = self._before_pool(u, pooled), Pooled()
        for argument in (u, *across.arguments):
            self._check(argument)
            self._require_no_pool(argument)
        self._check_variances(C_W, C_b, width)
        name = source(1 + sum(isinstance(i, Draw) for i in self.instructions))
        self._widths[name] = width
        self.instructions.append(Draw(name, u, C_W, C_b, width, across))
        return name

    def _before_pool(self, u: sp.Expr, pooled: set[sp.Symbol]) -> sp.Expr:
        """What is pooled in the argument of a draw that is nothing else."""
        before = sp.expand(u.xreplace({name: self._pooled[name] for name in pooled}))
        is_sum = (
            self._is_linear(u) and not u.xreplace(dict.fromkeys(pooled, sp.S.Zero)).free_symbols & self._widths.keys()
        )
        if not is_sum:
            self._require_no_pool(u)
        return before

    def _require_no_pool(self, u: sp.Expr) -> None:
        """Refuse averages over positions where no draw reads them alone.

        Raises:
            UnsupportedLayer: there is one.
        """
        if self._pooled.keys() & u.free_symbols:
            raise UnsupportedLayer(
                f"the node {self._node}",
                "the mean of activations over positions is not Gaussian, and needs as many variables as there are "
                "positions",
                "put a Dense around the average alone: Dense(Pool(phi(z)))",
            )

    def finish(self, out: sp.Expr) -> Program:
        """Check the output and freeze the program."""
        self._check(out)
        self._require_no_pool(out)
        self._check_names(out)
        out = sp.expand(out, deep=False, power_exp=False, power_base=False, log=False, multinomial=True, basic=False)
        program = Program(tuple(self.instructions), out)
        for s, coefficient in program.coefficients.items():
            if coefficient.free_symbols & self._widths.keys():
                raise UnsupportedLayer(
                    f"the layer z' = {out}",
                    f"it is not linear in {s}, so the next layer's preactivations are not Gaussian{self._told(out)}",
                    "put a Dense around the nonlinear part",
                )
        if (constant := self._constant(out)) != 0:
            raise UnsupportedLayer(
                f"the layer z' = {out}",
                f"it adds {constant} to every neuron, so that preactivations have a mean that is not 0",
                "leave out the constant; the biases of a Dense (C_b) have mean 0",
            )
        if any(self._widths[s] != 1 for s in program.coefficients):
            raise UnsupportedLayer(
                f"the layer z' = {out}", "its output and its input differ in width", "end the layer with width=1"
            )
        return program

    def _check(self, expression: sp.Expr) -> None:
        """Polynomials in neurons and activations: only an activation's formula is validated and knows its jumps."""
        self._check_width(expression)
        atoms = {phi: sp.Dummy() for phi in expression.atoms(Phi)}
        for inner in (expression, *(phi.argument for phi in atoms)):
            bare = inner.xreplace(atoms)
            neurons = [s for s in bare.free_symbols if s in self._widths or s in atoms.values()]
            if not bare.is_polynomial(*neurons):
                raise UnsupportedLayer(
                    f"the expression {inner} in a layer",
                    f"it is not a polynomial in neurons and activations{self._told(inner)}",
                    "write sums and products of them; any other function is an activation: phi = sr.activation(...), "
                    "then phi(z)",
                )
            if bare.has(sp.I):
                raise DeclarationError(f"the expression {inner} in a layer", "it is not real", "use real coefficients")
            if bare.has(sp.oo, sp.S.NegativeInfinity, sp.zoo, sp.nan):
                raise DeclarationError(f"the expression {inner} in a layer", "it is not finite", "use finite numbers")

    def _told(self, expression: sp.Expr) -> str:
        """What the names of sources and statistics in an expression stand for."""
        used = [i for i in self.instructions if expression.has(i.name)]
        nodes = dict.fromkeys(i.node for i in used if isinstance(i, Mean) and i.node is not None)
        names = {node: [str(i.name) for i in used if isinstance(i, Mean) and i.node == node] for node in nodes}
        draws = "".join(f"; {i.name} is the neuron of Dense({i.u})" for i in used if isinstance(i, Draw))
        return draws + "".join(
            f"; {' and '.join(own)} belong{'s' * (len(own) == 1)} to {node}" for node, own in names.items()
        )

    def _check_variances(self, C_W: sp.Expr, C_b: sp.Expr, width: sp.Expr) -> None:
        for name, value in (("C_W", C_W), ("C_b", C_b), ("width", width)):
            if (
                value.free_symbols & self._widths.keys()
                or value.is_negative
                or value.is_finite is False
                or value is sp.nan
                or (name == "width" and value.is_zero)
            ):
                least = "> 0" if name == "width" else ">= 0"
                raise DeclarationError(
                    f"a Dense with {name} = {value}", f"it is not a number or parameter {least}", f"pass {name} {least}"
                )

    def _check_names(self, out: sp.Expr) -> None:
        """Texts are keys: one name must not stand for two formulas."""
        by_name: dict[str, Formula] = {}
        for formula in Program(tuple(self.instructions), out).formulas:
            if by_name.setdefault(formula.name, formula) != formula:
                raise DeclarationError(
                    f"a layer with two activations called {formula.name}",
                    f"one is the formula {by_name[formula.name].expr}, the other {formula.expr}",
                    "give different formulas different names",
                )

    def _check_width(self, expression: sp.Expr) -> None:
        widths = {self._widths[s] for s in expression.free_symbols & self._widths.keys()}
        if len(widths) > 1:
            raise DeclarationError(
                f"the expression {expression}",
                f"it mixes neurons of layers with widths {', '.join(sorted(map(str, widths)))}",
                "give the Dense calls that meet in one expression the same width",
            )


def lower(forward: sp.Expr) -> tuple[Program, dict[sp.Expr, sp.Symbol]]:
    """Lower a forward equation to its program.

    Args:
        forward: expression in ``sr.z``, scalars, activations and nodes.

    Returns:
        The program, and the nodes that are sources of it, each with the name of the source, in their order.

    Raises:
        UnsupportedLayer: the next stream would not be a centred Gaussian of the same width.
        DeclarationError: an expression mixes neurons of different widths, or ``z`` does not occur.
    """
    if not forward.has(z):
        raise DeclarationError(f"the layer {forward}", "the forward equation does not contain z", "write it in sr.z")
    _check_symbols(forward)
    builder = Builder()
    parameters = forward.free_symbols - {z}
    lowered: dict[sp.Expr, sp.Expr] = {}
    shapes: dict[sp.Expr, str] = {}

    def shape(e: sp.Basic) -> str:
        """The expression's text without tags: draws are numbered in an order that no tag can influence."""
        if e not in shapes:
            children = [shape(a) for a in e.args if not isinstance(a, sp.Dummy)]
            if isinstance(e, sp.Add | sp.Mul):
                children.sort()
            head = type(e).__name__ if e.args else f"{e}:{getattr(e, 'expr', '')}"
            shapes[e] = f"{head}({','.join(children)})"
        return shapes[e]

    def visit(e: sp.Basic) -> sp.Basic:
        if e not in lowered:
            done = {a: visit(a) for a in sorted(e.args, key=shape)}
            arguments = [done[a] for a in e.args]
            if isinstance(e, Node):
                lowered[e] = builder.lower(e, arguments)
            else:
                lowered[e] = e.func(*arguments) if arguments else e
                if isinstance(e, Phi) and lowered[e].argument.free_symbols <= parameters:
                    lowered[e] = lowered[e].expanded  # phi(0) is a number
        return lowered[e]

    program = builder.finish(visit(forward))
    drawn = {e: name for e, name in lowered.items() if isinstance(e, Node) and name in program.sources}
    return program, drawn


def _check_symbols(forward: sp.Expr) -> None:
    """Parameters must not be taken for kernels, sources or each other: sympy compares names with assumptions."""
    sources = [source(i) for i in range(1, 100)]
    variances = {variance(s, index, index != "12") for s in sources for index in ("", "11", "22", "12")}
    statistics = {at_place(statistic(i), index) for i in range(1, 100) for index in ("", "1", "2")}
    taken = {*sources, *variances, *statistics, *(shared(i) for i in range(1, 100)), *KERNELS}
    for symbol in sorted(forward.free_symbols & taken, key=str):
        found = f"{symbol} is a kernel or a name of the program's own"
        raise DeclarationError(f"the layer {forward}", found, "rename the parameter")
    require_distinct(f"the layer {forward}", forward.free_symbols)


def phis(expression: sp.Expr) -> list[Phi]:
    """The activation atoms of an expression, in a deterministic order."""
    return sorted(expression.atoms(Phi), key=str)
