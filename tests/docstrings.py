"""The examples in docstrings of symres, module by module, and which activations and layers they show."""

import ast
import doctest
import importlib
from collections import Counter
from functools import cache

from symres.core.errors import SymresError
from tests.house import PACKAGE

# what no example imports: index.md of the reference says so
COMMON = {"sr": "symres", "symres": "symres", "np": "numpy"}
IN_ROOMS = {
    "torch": {"st": "symres.torch", "torch": "torch"},
    "kernels": {"kernels": "symres.kernels", "torch": "torch"},
}
OPTIONS = doctest.NORMALIZE_WHITESPACE


def _documented(tree, name=""):
    """The docstrings of a module, of its classes and functions, with their qualified names and lines."""
    if isinstance(tree, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(tree)):
        yield name, text, tree.body[0].lineno
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _documented(child, f"{name}.{child.name}".lstrip("."))


@cache
def examples():
    """The examples by module (its path below the package): (name, text, line) of each docstring that has one."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if ">>> " not in source:
            continue
        key = path.relative_to(PACKAGE).as_posix()
        parts = [part for part in _documented(ast.parse(source)) if ">>> " in part[1]]
        if parts:
            found[key] = parts
    return found


def observables():
    """The examples of observables, which stand in their records: (name, text, line)."""
    from symres.theory.observables.layer_theory import Derived
    from symres.theory.theory import Theory

    attributes = {name: part for owner in reversed(Theory.__mro__) for name, part in vars(owner).items()}
    return [(name, part.__doc__, 0) for name, part in attributes.items() if isinstance(part, Derived)]


def parsed(text, name, room="", line=0):
    """The doctest of a docstring, with the names that examples take for granted."""
    names = {**COMMON, **IN_ROOMS.get(room, {})}
    globs = {name: importlib.import_module(module) for name, module in names.items()}
    return doctest.DocTestParser().get_doctest(text, globs, name, name, line)


def failures(text, name, room="", line=0):
    """What a docstring says and does not happen, as doctest reports it; empty where all of it happens."""
    report = []
    doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(parsed(text, name, room, line), out=report.append)
    return "".join(report)


def shown():
    """How many examples show each activation and each layer, by its formula."""
    texts = [text for parts in examples().values() for _, text, _ in parts]
    texts += [text for _, text, _ in observables()]
    counts = Counter()
    for text in texts:
        code = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
        counts.update({formula for text in _strings(code) if (formula := _formula(text))})
    return counts


def _strings(code):
    return {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant) and _is_text(node.value)}


def _is_text(value):
    return isinstance(value, str) and 0 < len(value) < 100


@cache
def _formula(text):
    """A string of an example as the activation or the layer that it stands for; empty for other strings."""
    import symres as sr

    if text in sr.architectures:
        return ""
    try:
        is_layer = any(node in text for node in ("Dense(", "Norm("))
        return sr.layer(text).text if is_layer else str(sr.activation(text).expr)
    except (SymresError, TypeError, SyntaxError, ValueError):
        return ""
