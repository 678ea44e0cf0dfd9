"""Random formulas as trees: their text for symres, their values by mpmath, which share no code with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import mpmath as mp

Real = mp.mpf


def _step(u: Real) -> Real:
    return mp.mpf(1 if u > 0 else 0) if u != 0 else mp.mpf(1) / 2


# grammar's name: the function, by mpmath
FUNCTIONS: dict[str, Callable[..., Real]] = {
    "exp": mp.exp, "log": mp.log, "ln": mp.log, "sqrt": mp.sqrt, "abs": abs, "sign": mp.sign, "step": _step,
    "max": max, "min": min, "erf": mp.erf, "erfc": mp.erfc, "Phi": mp.ncdf,
    "sigmoid": lambda u: 1 / (1 + mp.exp(-u)), "softplus": lambda u: mp.log1p(mp.exp(u)),
    "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "asin": mp.asin, "acos": mp.acos, "atan": mp.atan,
    "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "asinh": mp.asinh,
    "relu": lambda u: max(u, mp.mpf(0)), "gelu": lambda u: u * mp.ncdf(u), "silu": lambda u: u / (1 + mp.exp(-u)),
}  # fmt: skip
_OPERATIONS: dict[str, Callable[..., Real]] = {
    "+": lambda u, v: u + v,
    "-": lambda u, v: u - v,
    "*": lambda u, v: u * v,
    "/": lambda u, v: u / v,
    "^": lambda u, v: u**v,
    "negative": lambda u: -u,
    "where": lambda left, right, then, otherwise: then if left > right else otherwise,
}
# constants as users type them
CONSTANTS = (
    "0", "1", "2", "3", "1/2", "2/3", "0.1", "1.702", "-1", "sqrt(2)", "1/sqrt(2)", "2^(-1/2)", "pi", "1/pi",
    "sqrt(2/pi)", "exp(-1)", "log(2)", "erf(1)", "cos(0.3)", "1e-3", "1e3", "10", "Phi(1)", "tanh(1)", "1e20", "1e-20",
)  # fmt: skip
# what makes the argument of a function real, and which functions need it
_SAFE = {
    "log": "1 + ({})^2", "ln": "1 + abs({})", "sqrt": "1 + ({})^2", "asin": "tanh({})", "acos": "tanh({})",
    "tan": "atan({})", "exp": "-abs({})", "sinh": "tanh({})", "cosh": "tanh({})",
}  # fmt: skip


@dataclass(frozen=True)
class Tree:
    """A formula: ``head`` is z, a constant, a function of the grammar or an operation.

    Args:
        head: a name of ``FUNCTIONS`` or ``_OPERATIONS``, ``z``, or a number.
        parts: the arguments.
    """

    head: str
    parts: tuple[Tree, ...] = ()

    def __str__(self) -> str:
        shown = [str(part) for part in self.parts]
        if self.head == "negative":
            return f"(-{shown[0]})"
        if self.head == "where":
            return f"where({shown[0]} > {shown[1]}, {shown[2]}, {shown[3]})"
        if self.head in _OPERATIONS:
            return f"({self.head.join(shown)})"
        return f"{self.head}({', '.join(shown)})" if shown else self.head

    def __call__(self, z: Real) -> Real:
        """The value at z; complex or an error of mpmath where it is not real."""
        if self.head == "z":
            return z
        function = FUNCTIONS.get(self.head) or _OPERATIONS.get(self.head)
        values = [part(z) for part in self.parts]
        if any(isinstance(value, mp.mpc) and value.imag for value in values):
            raise ValueError("not real")
        return mp.mpf(self.head) if function is None else function(*values)

    @property
    def depends(self) -> bool:
        """Whether z occurs."""
        return self.head == "z" or any(part.depends for part in self.parts)


def tree(text: str) -> Tree:
    """The tree of a text in Python's notation with ^ as the power: what this module prints, and constants."""
    import ast

    symbols = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^"}

    def read(node: ast.expr) -> Tree:
        if isinstance(node, ast.BinOp):
            return Tree(symbols[type(node.op)], (read(node.left), read(node.right)))
        if isinstance(node, ast.UnaryOp):
            return Tree("negative", (read(node.operand),))
        if isinstance(node, ast.Constant):
            return Tree(ast.unparse(node))
        if isinstance(node, ast.Name):
            return Tree(node.id)
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == "where":
            condition, *branches = node.args
            assert isinstance(condition, ast.Compare) and isinstance(condition.ops[0], ast.Gt)
            sides = [condition.left, condition.comparators[0], *branches]
            return Tree("where", tuple(read(side) for side in sides))
        return Tree(node.func.id, tuple(read(argument) for argument in node.args))

    return read(ast.parse(text.replace("^", "**"), mode="eval").body)


FUNCTIONS["pi"] = lambda: +mp.pi  # a name without arguments


def random_formula(generator: Random) -> Tree:
    """A formula in z of two to four levels; about two in three are real and finite for every real z."""
    while True:
        found = _random(generator, generator.choice((2, 2, 3, 3, 4)), careful=generator.random() < 0.8)
        if found.depends:
            return found


def _random(generator: Random, depth: int, careful: bool) -> Tree:
    if depth == 0:
        return Tree("z") if generator.random() < 0.7 else tree(generator.choice(CONSTANTS))
    kind = generator.random()

    def part(levels: int = 1) -> Tree:
        return _random(generator, depth - levels, careful)

    if kind < 0.5:
        name = generator.choice([name for name in FUNCTIONS if name != "pi"])
        if name in ("max", "min"):
            return Tree(name, (part(), part()))
        if careful and name in _SAFE:
            return Tree(name, (tree(_SAFE[name].format(part())),))
        return Tree(name, (part(),))
    if kind < 0.75:
        return Tree(generator.choice("+-*"), (part(), part()))
    if kind < 0.85:
        below = part()
        return Tree("/", (part(), tree(f"1 + ({below})^2") if careful else below))
    if kind < 0.9:
        return Tree("^", (part(), Tree(generator.choice(("2", "3")))))
    if kind < 0.95:
        base = Tree(generator.choice(("2", "1/2", "pi", "10", "0.3")))
        base = tree(base.head)
        power = part()
        return Tree("^", (base, tree(f"-({power})^2") if careful and depth > 1 else power))
    return Tree("where", (Tree("z"), tree(generator.choice(CONSTANTS[:10])), part(), part()))
