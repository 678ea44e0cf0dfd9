"""Functions of restricted Python as parts of a generated module: without annotations, functions renamed."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Set


def renamed(tree: ast.FunctionDef, known: Set[str], prefix: str, constants: Mapping[str, object]) -> str:
    """The text of a scalar function whose callees have a prefix, but for known ones, and constants their values."""
    return ast.unparse(ast.fix_missing_locations(_Renamed(known, prefix, constants).visit(copy.deepcopy(tree))))


class _Renamed(ast.NodeTransformer):
    def __init__(self, known: Set[str], prefix: str, constants: Mapping[str, object]) -> None:
        self.known, self.prefix, self.constants = known, prefix, constants

    def _named(self, name: str) -> str:
        return name if name in self.known or name in ("range", "int") else f"{self.prefix}{name}"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Its own name too; of its docstring the first line."""
        node.name, node.returns = self._named(node.name), None
        for argument in node.args.args:
            argument.annotation = None
        about = ast.get_docstring(node)
        if about is not None:
            node.body[0] = ast.Expr(ast.Constant(about.splitlines()[0]))
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """A plain assignment."""
        assert node.value is not None
        return ast.copy_location(ast.Assign([node.target], self.visit(node.value)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """What is called; arguments may have the same name."""
        assert isinstance(node.func, ast.Name)
        arguments = [self.visit(a) for a in node.args]
        match node.func.id:
            case "room":
                return ast.Call(ast.Name("np.empty"), arguments, [])
            case "in_threads":
                return ast.Call(ast.Name("prange"), arguments[:1], [])
            case "present":
                return ast.Compare(ast.Attribute(arguments[0], "size"), [ast.Gt()], [ast.Constant(0)])
        return ast.Call(ast.Name(self._named(node.func.id)), arguments, node.keywords)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Constants become their values."""
        value = self.constants.get(node.id)
        return node if value is None else ast.parse(str(value), mode="eval").body
