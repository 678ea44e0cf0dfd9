"""The names in a text of Python."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator


def python_names(text: str) -> list[str]:
    """The names that Python code defines at its top level, as often as it does, and those of Python that it calls."""
    tree = ast.parse(text)
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in vars(builtins)}
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {alias.asname or alias.name for node in imports for alias in node.names}
    return [*_defined(tree), *(called - imported)]  # math.pow is not the language's


def _defined(tree: ast.Module) -> Iterator[str]:
    """Every name that a module defines at its top level, as often as it does."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
