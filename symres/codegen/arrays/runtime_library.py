"""Definitions of real source files, as generated modules contain them: read, never imported.

Whatever a file defines at its top level is known by its name, and what it needs in turn by the names that it uses.
Annotations are left out, docstrings and comments stay as they are written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from ...core.errors import SymresError


@dataclass(frozen=True)
class RuntimeLibrary:
    """The functions, classes and constants of some folders, by their names, in the order of their files.

    Args:
        texts: name -> text.
    """

    texts: Mapping[str, str]

    @classmethod
    def read(cls, *places: Path) -> RuntimeLibrary:
        """The definitions of files and of all files of folders; those of later ones take the place of earlier ones.

        Raises:
            SymresError: a file does at its top level what is no definition of one name, or a folder defines one twice.
        """
        texts: dict[str, str] = {}
        for place in places:
            own: dict[str, str] = {}
            for path in sorted(place.glob("*.py")) if place.is_dir() else [place]:
                found = _definitions(path)
                if twice := sorted(own.keys() & found.keys()):
                    raise SymresError(f"reading {path.name}", f"{twice[0]} is defined twice", "rename it")
                own |= found
            texts = {name: text for name, text in texts.items() if name not in own} | own
        return cls(texts)

    @cached_property
    def _uses(self) -> dict[str, frozenset[str]]:
        """The other definitions that each one names."""
        return {name: frozenset(self._named(text)) - {name} for name, text in self.texts.items()}

    def _named(self, text: str) -> Iterable[str]:
        return (node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and node.id in self.texts)

    def needed(self, *code: str) -> tuple[str, ...]:
        """The names of the definitions that some code calls, and of those that they need, in the order of the files."""
        found: set[str] = set()
        stack = [word for text in code for word in re.findall(r"\w+", text) if word in self.texts]
        while stack:
            name = stack.pop()
            if name not in found:
                found.add(name)
                stack.extend(self._uses[name])
        return tuple(name for name in self.texts if name in found)

    def definitions(self, *code: str) -> list[str]:
        """The texts of what some code calls, and of what that needs."""
        return [self.texts[name] for name in self.needed(*code)]


@lru_cache(maxsize=256)
def _definitions(path: Path) -> dict[str, str]:
    """The definitions of a file, without imports, its docstring and aliases of types."""
    text = path.read_text(encoding="utf-8")
    lines, found = text.splitlines(), {}
    for node in ast.parse(text).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_alias(node) or is_docstring:
            continue
        name = _defined(node)
        if name is None:
            raise SymresError(
                f"reading line {node.lineno} of {path.name}",
                "it is not a definition of one name",
                "put it into a function",
            )
        found[name] = _without_annotations(lines, node)
    return found


def _is_alias(node: ast.stmt) -> bool:
    """Whether a statement gives a type a name."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func) == "TypeVar"
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"


def _defined(node: ast.stmt) -> str | None:
    """The name that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return names[0] if len(names) == len(targets) == 1 else None


def _without_annotations(lines: list[str], node: ast.stmt) -> str:
    """The lines of a statement, and of the comments that stand right above it, without the types in them."""
    kept = {number: line.split("  # type: ignore")[0] for number, line in enumerate(lines, 1)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef):
            head = f"{' ' * inner.col_offset}def {inner.name}({ast.unparse(_untyped(inner.args))}):"
            for number in range(inner.lineno, inner.body[0].lineno):
                kept.pop(number)
            kept[inner.lineno] = head
        elif isinstance(inner, ast.AnnAssign) and inner.value is not None:
            line = lines[inner.lineno - 1]
            kept[inner.lineno] = line[: inner.target.end_col_offset] + " =" + line[inner.value.col_offset - 1 :]
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    while lines[first - 2].startswith("#"):
        first -= 1
    return "\n".join(kept[number] for number in range(first, (node.end_lineno or first) + 1) if number in kept)


def _untyped(arguments: ast.arguments) -> ast.arguments:
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    return arguments
