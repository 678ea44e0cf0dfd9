"""Tile code: one ufunc a line, into scratch arrays that stay in the cache.

A tile is a part of the broadcast result. What depends on one kernel alone is computed before, as ordinary text: for a
matrix, whose kernels come as a column and as a row, once for all tiles. All else takes one of few scratch arrays that
are used again as soon as their content is dead: no line allocates, and most write where they read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TypeAlias

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.sorting import default_sort_key

from ....functions.function_record import spelled_out
from ...emission.emitter import Dialect, Emitter, NoSpelling, Tile, constant_factor, is_constant

Operand: TypeAlias = int | sp.Expr  # an operation, or a formula of at most one kernel
UFUNCS = ("np.", "special.")  # how the templates of functions begin that take ``out``
COSTS = {"np.multiply": 1, "np.add": 1, "np.subtract": 1, "np.negative": 1, "np.divide": 3, "np.sqrt": 4}
FUNCTION = 6  # the cost of every other function; units of a multiplication in the cache, measured
COSTLY_OPERATIONS = 3  # an operation that costs so much hides the latency of memory that it writes


@dataclass(frozen=True)
class Precondition:
    """Where rounding does no harm.

    Args:
        test: a comparison with ``{0}``, ``{1}`` for the operands, true there.
        operands: formulas that are computed anyway.
        most: a function that never falls with the kernels, and a number: where the largest kernels of a tile do not
            bring it beyond that, the test holds for the whole tile. None if there is no such thing.
        bounds: whether no covariance beyond sqrt(K1*K2) passes the test.
    """

    test: str
    operands: tuple[sp.Expr, ...]
    most: tuple[sp.Expr, float] | None = None
    bounds: bool = False


@dataclass(frozen=True)
class FastPath:
    """One way of computing a function of two kernels and a covariance.

    Args:
        value: the result, in the arguments and in the names of steps.
        steps: name -> what it stands for.
        preconditions: where the path may be taken.
    """

    value: sp.Expr
    steps: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    preconditions: tuple[Precondition, ...] = ()


@dataclass
class _Op:
    """An operation on whole tiles; ``text`` has a place for each operand and, if it is written to scratch, one more."""

    text: str
    operands: tuple[Operand, ...]
    cost: int
    place: bool = True  # whether the result goes to a scratch array
    arrays: int = 0  # of the tile function that it calls
    name: str = ""  # an argument, or the variable of a result of its own


@dataclass
class Tiler:
    """Turns formulas of two kernels and a covariance into tile code.

    Args:
        dialect: the target language.
        names: symbol -> variable.
        axes: the symbols that vary along one axis of a matrix.
        whole: the symbols that vary along both.
        tiles: name of a function -> its tile.
    """

    dialect: Dialect
    names: Mapping[sp.Symbol, str]
    axes: Sequence[sp.Symbol]
    whole: Iterable[sp.Symbol]
    tiles: Mapping[str, Tile] = field(default_factory=dict)
    _ops: list[_Op] = field(default_factory=list)
    _known: dict[object, Operand] = field(default_factory=dict)
    _steps: dict[sp.Symbol, sp.Expr] = field(default_factory=dict)
    _shared: dict[sp.Expr, str] = field(default_factory=dict)
    _bounds: list[tuple[sp.Expr, float]] = field(default_factory=list)
    _inner: list[str] = field(default_factory=list)  # calls that prepare tile functions of others

    def tile(self, path: FastPath, leave: bool = False) -> Tile:
        """The code of a path.

        Args:
            path: what to compute.
            leave: whether a factor that takes a multiplication of its own is left to the caller.

        Raises:
            NoSpelling: a function that the language does not have.
        """
        self._steps = dict(path.steps)  # decides what is plain
        self._steps = {name: self._scaled(e) for name, e in self._steps.items()}
        factor, value = constant_factor(self._scaled(path.value))
        if not leave or self._is_plain(value) or any(self._is_plain(f) for f in sp.Mul.make_args(value)):
            factor, value = sp.Integer(1), factor * value
        root = self._visit(value)
        if not isinstance(root, int) or not self._ops[root].place:
            root = self._add("np.copyto({1}, {0})", (root,), 1)
        notes = [self._note(precondition) for precondition in path.preconditions]
        bounded = any(precondition.bounds for precondition in path.preconditions)
        return replace(self._written(root, notes), factor=factor, bounded=bounded)

    def _scaled(self, e: sp.Expr) -> sp.Expr:
        """An expression with the factors that tile functions leave to those who call them."""

        def is_tile(call: sp.Basic) -> bool:
            return isinstance(call, AppliedUndef) and call.func.__name__ in self.tiles and not self._is_plain(call)

        return e.replace(is_tile, lambda call: self.tiles[call.func.__name__].factor * call)

    def _note(self, precondition: Precondition) -> tuple[int, str, tuple[Operand, ...]]:
        """After which operation a precondition is to be tested, and its text."""
        operands = tuple(self._visit(e) for e in precondition.operands)
        text = f"fine.append({precondition.test})"
        if precondition.most is not None:
            self._bounds.append(precondition.most)
            text = f"if not safe{len(self._bounds)}:\n    {text}"
        return max(o for o in operands if isinstance(o, int)), text, operands

    # ---- from formulas to operations ---------------------------------------------------------------------------

    def _visit(self, e: sp.Expr) -> Operand:
        if e not in self._known:
            self._known[e] = self._lower(e)
        return self._known[e]

    def _support(self, e: sp.Expr) -> set[sp.Symbol | None]:
        """The axes along which a formula varies; None stands for all."""
        found: set[sp.Symbol | None] = set()
        for s in e.free_symbols:
            if s in self._steps:
                found |= self._support(self._steps[s])
            elif s in self.whole:
                found.add(None)
            elif s in self.axes:
                found.add(s)
        return found

    def _is_plain(self, e: sp.Expr) -> bool:
        support = self._support(e)
        return len(support) < 2 and None not in support

    def _lower(self, e: sp.Expr) -> Operand:
        if e in self._steps:
            return self._visit(self._steps[e])
        if self._is_plain(e):
            return self._unfolded(e)
        if isinstance(e, sp.Symbol):
            return self._add("", (), 0, place=False, name=self.names[e])
        if isinstance(e, sp.Add):
            return self._sum(e)
        if isinstance(e, sp.Mul):
            return self._product(e)
        if isinstance(e, sp.Pow):
            return self._power(e.base, e.exp)
        if isinstance(e, AppliedUndef):
            return self._call(e)
        template = self.dialect.functions.get(type(e))
        if template is None and (definition := spelled_out(e)) is not None:
            return self._visit(definition)
        if template is None:
            raise NoSpelling.of(self.dialect.name, e, type(e).__name__)
        if isinstance(e, sp.Max | sp.Min):
            operands = [self._visit(a) for a in sorted(e.args, key=default_sort_key)]
            return reduce(lambda total, operand: self._function(template, (total, operand)), operands)
        return self._function(template, tuple(self._visit(a) for a in e.args))

    def _unfolded(self, e: sp.Expr) -> sp.Expr:
        """A plain formula in the arguments alone."""
        while any(s in self._steps for s in e.free_symbols):
            e = e.xreplace(self._steps)
        return e

    def _function(self, template: str, operands: tuple[Operand, ...]) -> int:
        if template.startswith(UFUNCS):
            return self._add(f"{template[:-1]}, out={{{len(operands)}}})", operands, COSTS.get(template[:7], FUNCTION))
        return self._add(template, operands, FUNCTION, place=False)

    def _ufunc(self, name: str, *operands: Operand) -> int:
        places = ", ".join(f"{{{i}}}" for i in range(len(operands)))
        return self._add(f"{name}({places}, out={{{len(operands)}}})", operands, COSTS.get(name, FUNCTION))

    def _call(self, e: AppliedUndef) -> int:
        name = e.func.__name__
        operands = tuple(self._visit(a) for a in e.args)
        places = ", ".join(f"{{{i}}}" for i in range(len(operands)))
        if name not in self.tiles:
            return self._add(f"{name}({places})", operands, FUNCTION, place=False)
        tile, axes = self.tiles[name], f"{name}_axes({places})"
        if all(isinstance(a, sp.Symbol) and a in self.names and a not in self._steps for a in e.args):
            call = f"{name}_axes({', '.join(self.names[a] for a in e.args)})"
            if call not in self._inner:
                self._inner.append(call)
            axes = f"inner{self._inner.index(call) + 1}"
        text = f"{name}_tile({places}, {axes}, {{{len(operands)}}}, fine)"
        return self._add(text, operands, FUNCTION, arrays=tile.arrays)

    def _sum(self, e: sp.Add) -> Operand:
        size, e = self._common(e)
        if size != 1:
            return self._ufunc("np.multiply", self._visit(e), size)
        terms = [constant_factor(a) for a in sorted(e.args, key=default_sort_key)]
        groups: dict[frozenset, sp.Expr] = {}
        over: list[Operand] = []
        under: list[Operand] = []
        for c, rest in terms:
            term = c * rest
            if self._is_plain(term):
                axis = frozenset(self._support(term))
                groups[axis] = groups.get(axis, sp.Integer(0)) + term
            else:
                (over if c > 0 else under).append(self._visit(abs(c) * rest))
        plain = self._merged(groups, sp.Add)
        add, subtract = partial(self._ufunc, "np.add"), partial(self._ufunc, "np.subtract")
        if over or plain:
            total = reduce(add, over or plain[:1])
        else:
            total, *under = under
            total = self._ufunc("np.negative", total)
        return reduce(add, plain if over else plain[1:], reduce(subtract, under, total))

    def _common(self, e: sp.Add) -> tuple[sp.Expr, sp.Expr]:
        """A number and a sum whose product is the sum: 1, unless that saves multiplications."""
        terms = [constant_factor(a) for a in e.args]
        sizes = {abs(c) for c, _ in terms}
        bare = [rest for _, rest in terms if not any(self._is_plain(f) for f in sp.Mul.make_args(rest))]
        if len(sizes) > 1 or len(bare) < 2:
            return sp.Integer(1), e
        (size,) = sizes
        return size, sp.Add(*(sp.sign(c) * rest for c, rest in terms))

    def _merged(self, groups: dict[frozenset, sp.Expr], join: type) -> list[sp.Expr]:
        """Formulas of each axis in order, in the arguments alone; what varies along none is put to the first."""
        constant = groups.pop(frozenset(), None)
        plain = [groups[axis] for axis in sorted(groups, key=lambda axis: str(*axis))]
        if constant is not None and plain:
            plain[0] = join(constant, plain[0])
        return [self._unfolded(e) for e in plain or ([] if constant is None else [constant])]

    def _product(self, e: sp.Expr) -> Operand:
        coefficient, rest = constant_factor(e)
        groups: dict[frozenset, sp.Expr] = {}
        over, under = [], []
        for factor in sorted(sp.Mul.make_args(rest), key=default_sort_key):
            base, exponent = factor.as_base_exp()
            if self._is_plain(factor):
                axis = frozenset(self._support(factor))
                groups[axis] = groups.get(axis, sp.Integer(1)) * factor
            elif exponent.is_Rational and exponent < 0:
                under.append(self._visit(base**-exponent))
            else:
                size, inner = self._common(factor) if isinstance(factor, sp.Add) else (sp.Integer(1), factor)
                coefficient *= size
                over.append(self._visit(inner))
        if groups and coefficient != 1:
            groups[frozenset()] = coefficient * groups.get(frozenset(), sp.Integer(1))
            coefficient = sp.Integer(1)
        factors: list[Operand] = [*self._merged(groups, sp.Mul), *over]
        multiply = partial(self._ufunc, "np.multiply")
        total = reduce(multiply, factors) if factors else coefficient
        if under:
            total = self._ufunc("np.divide", total, reduce(multiply, under))
        if factors and coefficient == -1:
            return self._ufunc("np.negative", total)
        return self._ufunc("np.multiply", total, coefficient) if factors and coefficient != 1 else total

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Operand:
        if exponent.is_Rational and exponent < 0:
            return self._ufunc("np.divide", sp.Integer(1), self._visit(base**-exponent))
        if exponent.is_Integer and exponent <= 12:
            half = self._visit(base ** (exponent // 2))
            square = self._ufunc("np.multiply", half, half)
            return square if exponent % 2 == 0 else self._ufunc("np.multiply", square, self._visit(base))
        if exponent.is_Rational and exponent.q == 2 and exponent <= 12:
            root = self._ufunc("np.sqrt", self._visit(base))
            whole = exponent - sp.Rational(1, 2)
            return root if whole == 0 else self._ufunc("np.multiply", self._visit(base**whole), root)
        return self._ufunc("np.power", self._visit(base), self._visit(exponent))

    def _add(
        self, text: str, operands: tuple[Operand, ...], cost: int, place: bool = True, arrays: int = 0, name: str = ""
    ) -> int:
        key = (text, tuple((isinstance(o, int), o) for o in operands), name)  # operation 2 is not the number 2
        if key not in self._known:
            self._ops.append(_Op(text, operands, cost, place, arrays, name))
            self._known[key] = len(self._ops) - 1
        found = self._known[key]
        assert isinstance(found, int)
        return found

    # ---- from operations to lines ------------------------------------------------------------------------------

    def _written(self, root: int, notes: Sequence[tuple[int, str, tuple[Operand, ...]]]) -> Tile:
        """Lines in the order of the operations, each result in the scratch array that is free."""
        last = dict.fromkeys(range(len(self._ops)), -1) | {root: len(self._ops)}
        uses = [(i, op.operands) for i, op in enumerate(self._ops)]
        uses += [(after + 1, operands) for after, _, operands in notes]  # not written over before they are compared
        for i, operands in uses:
            last |= {o: max(last[o], i) for o in operands if isinstance(o, int)}
        direct = self._direct(root, last)
        places: dict[int, int] = {}
        body: list[str] = []
        arrays, results = 1, 0
        for i, op in enumerate(self._ops):
            alive = {places[o] for o in places if last[o] > i and o < i}
            if op.text:
                inner = [self._text(o, places) for o in op.operands]
                if not op.place:
                    op.name = f"r{results}"
                    results += 1
                    body.append(f"{op.name} = {op.text.format(*inner)}")
                else:
                    if op.arrays:
                        alive |= {places[o] for o in op.operands if isinstance(o, int) and o in places}
                    place = 0 if i in direct else next(k for k in range(1, len(places) + 2) if k not in alive)
                    places[i] = place
                    first = max(alive | {place}) + 1
                    arrays = max(arrays, first + max(op.arrays - 1, 0))
                    window = "scratch" if (place, first) == (0, 1) else f"[scratch[{place}], *scratch[{first}:]]"
                    body.append(op.text.format(*inner, window if op.arrays else f"scratch[{place}]"))
            for after, text, operands in notes:
                if after == i:
                    body += text.format(*(self._text(o, places) for o in operands)).split("\n")
        cost = sum(op.cost for op in self._ops) + len(notes)
        return self._prepared(body, arrays, cost)

    def _direct(self, root: int, last: Mapping[int, int]) -> set[int]:
        """The operations that write to the result: the last ones, back to a dear one."""
        chain = [root]
        while self._ops[chain[-1]].cost < COSTLY_OPERATIONS:
            inner = [
                o for o in self._ops[chain[-1]].operands
                if isinstance(o, int) and self._ops[o].place and last[o] == chain[-1]
            ]  # fmt: skip
            if not inner:
                return {root}
            chain.append(max(inner, key=lambda o: (self._peak(o, last), o)))
        return set(chain)

    def _peak(self, i: int, last: Mapping[int, int]) -> int:
        """The largest cost on the way back from an operation."""
        own = self._ops[i].cost
        if own >= COSTLY_OPERATIONS:
            return own
        inner = [o for o in self._ops[i].operands if isinstance(o, int) and self._ops[o].place and last[o] == i]
        return max([own, *(self._peak(o, last) for o in inner)])

    def _text(self, operand: Operand, places: Mapping[int, int]) -> str:
        if isinstance(operand, int):
            return self._ops[operand].name or f"scratch[{places[operand]}]"
        if isinstance(operand, sp.Symbol):
            return self.names[operand]
        if is_constant(operand):
            return Emitter(self.dialect, {}).function([("return", operand)])[-1].removeprefix("return ")
        return self._shared.setdefault(operand, f"a{len(self._shared)}")

    def _prepared(self, body: list[str], arrays: int, cost: int) -> Tile:
        """The lines of a tile, and before them what depends on one kernel alone."""
        same: dict[str, str] = {}

        def with_names(line: str) -> str:
            return re.sub(r"\ba\d+\b", lambda found: same.get(found[0], found[0]), line)

        head = []
        for line in Emitter(self.dialect, self.names).function([(name, e) for e, name in self._shared.items()]):
            name, value = with_names(line).split(" = ", 1)
            if value.isidentifier():
                same[name] = value
            else:
                head.append(f"{name} = {value}")
        body = [with_names(line) for line in body]
        largest = {s: f"largest{i}" for i, s in enumerate(self.axes, 1)}
        if self._bounds:
            head += [f"{name} = {self.names[s]}.max()" for s, name in largest.items()]
        for i, (bound, most) in enumerate(self._bounds, 1):
            *before, last = Emitter(self.dialect, largest).function([("return", bound)], prefix="u")
            head += [*before, f"safe{i} = {last.removeprefix('return ')} <= {most!r}"]
        head += [f"inner{i} = {call}" for i, call in enumerate(self._inner, 1)]
        text = "\n".join(body)
        kept = [name for name in (line.split(" = ", 1)[0] for line in head) if re.search(rf"\b{name}\b", text)]
        if not kept:
            return Tile(("return ()",), tuple(body), 0, arrays, cost)
        listed = f"{', '.join(kept)}{',' if len(kept) == 1 else ''}"
        return Tile((*head, f"return {listed}"), (f"{listed} = axes", *body), len(kept), arrays, cost)
