"""Wrong versions of claims: of the printed formula, of its abbreviations, and of the call that derives it."""

import ast
import copy
from collections.abc import Iterator

_SWAPPED = {"C_W": "C_b", "C_b": "C_W", "sigma_w": "sigma_b", "sigma_b": "sigma_w", "K1": "K2", "gamma": "C_W"}
_QUANTITIES = {
    "kernel_map": "chi_perp",
    "covariance_map": "kernel_map",
    "chi_perp": "kernel_map",
    "chi_parallel": "chi_perp",
    "residual(": "mlp(",
    "pre_ln(": "ln_act(",
    "ln_act(": "pre_ln(",
    "mlp(": "residual(",
}


def mutants(text: str) -> Iterator[str]:
    """One change each: a term dropped, a sign turned, an integer plus 1, an exponent plus 1/2, another symbol."""
    whole = ast.parse(text.replace("^", "**"), mode="eval")
    for position, node in enumerate(ast.walk(whole)):
        for change in _changes(node):
            changed = copy.deepcopy(whole)
            _replace(changed, position, change)
            yield ast.unparse(changed).replace("**", "^")


def mutants_of_path(text: str) -> Iterator[str]:
    """Another layer, or another quantity."""
    for word, other in _QUANTITIES.items():
        if word in text:
            yield text.replace(word, other)


def _changes(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (left, right, ast.BinOp(left, ast.Sub(), right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield from (left, ast.UnaryOp(ast.USub(), right), ast.BinOp(left, ast.Add(), right))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            half = ast.BinOp(ast.Constant(1), ast.Div(), ast.Constant(2))
            yield ast.BinOp(left, ast.Pow(), ast.BinOp(right, ast.Add(), half))
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(round(value * 1.01 + 10.0 ** -len(str(value)), len(str(value))))
        case ast.Name(id=name) if name in _SWAPPED:
            yield ast.Name(_SWAPPED[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield operand


def _replace(whole: ast.Expression, position: int, change: ast.expr) -> None:
    target = list(ast.walk(whole))[position]
    for parent in ast.walk(whole):
        for name, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, name, change)
            elif isinstance(value, list) and target in value:
                value[value.index(target)] = change
