"""The source of functions and networks in C, with their declarations at its head."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import sympy as sp

from ....core import files
from ...emission.emitter import argument, variable
from ...planning.module_plan import ModulePlan
from ...planning.network_plan import NetworkPlan
from ...planning.plan import Component
from ...scalar.descriptions import (
    SERIES,
    documented,
    head_lines,
    meaning,
    network_lines,
    parameter_lines,
    units_and_errors,
)
from ...scalar.functions import component_function, public_function
from ...scalar.library_source import Precision, called, library
from ...scalar.scalar_target import Parts, in_rows, is_public, parts_of_functions, parts_of_network
from ...scalar.spelling import standard_functions
from ...scalar.translate import DOUBLE, Names, translated
from ...wording import docstrings
from .declarations import KEYWORDS

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
REALS: Mapping[Precision, str] = {"double": "double", "single": "float"}
TITLE, PREFIX = "C", "symres_"
KNOWN = standard_functions()
HEAD = re.compile(r"^(void|int) SYMRES_NAME\((\w+)\)\((.*)\) {$", re.MULTILINE)
_ARGUMENTS = ("entries", "rows", "columns", "step", "out", "symmetric", "blank", "t", "s")
ABOUT = (
    "Functions of double and, with the letter f at the end of their name, of float. NAME takes arrays of ``entries`` "
    "numbers. NAME_matrix takes K1 of each row, K2 of each column, and row-major matrices whose rows are ``step`` "
    "numbers apart. "
    "Parameters are single numbers. Modules that share a program need different prefixes: --prefix, in Python prefix=."
)
OF_NETWORKS = (
    "Functions of double and, with the letter f at the end of their name, of float. The int that they return is 0, or "
    "1 if memory ran out: then C and Theta are not results. Matrices are row-major: the entry of row i and column j is "
    "at i*columns + j. Each parameter is an array of one number for every layer.",
    f"{docstrings.PARAMETRISATION} {docstrings.INPUTS}.",
    "Functions of float are for kernels of order 1: those below 1e-18 count as 0, powers of large ones overflow, in "
    "some layers from 1e9 on. Functions of double hold for all kernels in the range of double.",
)
MATRIX = (
    "K1, K2: kernels of the inputs of rows and of columns; >= 0, else nan.",
    "symmetric: 1 if rows and columns are the same inputs, so that half of the matrices is computed; 0 else.",
    "blank: 1 if Theta need not be read, as it is 0 before the first layer; 0 else.",
    "C: before the call the covariances x.x'/n0 of all pairs of inputs, on the diagonal of a symmetric matrix K1; "
    "replaced by those after the network.",
    "Theta: before the call the tangent kernels of the inputs, unless blank is 1; replaced by those after the network.",
)
ENTRIES = (
    "K1, K2: kernels of the inputs of each pair; >= 0, else nan.",
    "C, Theta: before the call the covariances x.x'/n0 and the tangent kernels of the inputs, which are 0 where no "
    "trained layer comes before; replaced by those after the network.",
    "every_C, every_Theta: those after each layer, one layer after the other; may be NULL.",
)

SEQUENCES = {
    "kernels": (
        "kernels: kernel of a token and covariance of two tokens behind all layers.",
        (
            "K, C: those before the layers; replaced by those after the network.",
            "every_K, every_C: those after each layer, one layer after the other; may be NULL.",
        ),
    ),
    "apjn": (
        "apjn: covariances of changes of a neuron behind all layers.",
        (
            "K, C: kernel of a token and covariance of two tokens before the layers.",
            "t, s: covariances of changes at one position and at two; replaced by those after the network. From (1, 0) "
            "on, t becomes the averaged partial Jacobian norm; from (1, 1) on that of tokens that are moved alike.",
            "every_t, every_s: those after each layer, one layer after the other; may be NULL.",
        ),
    ),
    "dual_kernel": (
        "dual_kernel: kernels and tangent kernels of pairs of sequences.",
        (
            "K1, P1, K2, P2: kernel of a token and covariance of two tokens of the first and of the second sequences.",
            "C, E: before the call covariances of two sequences at one position and at two; replaced by those after "
            "the network.",
            "Theta, Theta_E: the same of tangent kernels, which are 0 where no trained layer comes before.",
            "every_C, every_E, every_Theta, every_Theta_E: those after each layer; may be NULL.",
        ),
    ),
}
INPUTS = {
    "dual_kernel_matrix": ("dual_kernel_matrix: kernel and tangent kernel of all pairs of inputs.", MATRIX),
    "dual_kernel": ("dual_kernel: kernel and tangent kernel of pairs of inputs.", ENTRIES),
}


def module_text(plan: ModulePlan) -> str:
    """The source of some functions, their declarations at its head."""
    functions = [public_function(f) for f in plan.functions]
    about = head_lines([ABOUT, units_and_errors(plan.components, TITLE)], plan.missing, 3)
    described = {}
    for planned, function in zip(plan.functions, functions, strict=True):
        arguments = docstrings.argument_lines(planned.quantity, "array", "number", "")
        described[function.name] = meaning(planned, " * "), documented(planned, function.series, arguments, 3)
    head = {"title": plan.title, "command": plan.command, "about": about, "prefix": plan.prefix}
    parameters = [p for function in functions for p in function.parameters]
    return source(head, described, parts_of_functions(functions, plan.components), parameters)


def component_module(component: Component) -> str:
    """The source of a component alone."""
    function = component_function(component)
    head = {"title": component.name, "command": "", "about": [], "prefix": ""}
    parts = parts_of_functions([function], [component])
    return source(head, {function.name: (component.name, [])}, parts, function.parameters)


def network_text(plan: NetworkPlan) -> str:
    """The source of a network."""
    parts = parts_of_network(plan)
    about = [*OF_NETWORKS, *([SERIES] if parts.series else []), units_and_errors(plan.components, TITLE)]
    head = {
        "title": plan.title,
        "command": plan.command,
        "about": [*network_lines(plan), "", *head_lines(about, (), 3)],
        "prefix": plan.prefix,
        "depth": plan.depth,
    }
    own = parameter_lines(plan, "an array, one for each layer")
    documented = {
        name: (meaning, [*(line for text in texts for line in docstrings.wrapped(text, 3, 4)), *own])
        for name, (meaning, texts) in (SEQUENCES if plan.state.changes else INPUTS).items()
    }
    return source(head, documented, parts, plan.parameters)


def source(
    head: Mapping[str, Any],
    described: Mapping[str, tuple[str, Sequence[str]]],
    parts: Parts,
    parameters: Iterable[sp.Symbol],
) -> str:
    """A source.

    Args:
        head: what it says of itself.
        described: public functions, by name: what they compute, and further lines.
        parts: what it consists of.
        parameters: arguments of public functions, which declarations call by the user's names.
    """
    single, functions = library("single"), parts.functions("single")
    offered = [tree.name for tree in functions if is_public(tree.name)]
    mixed = [tree for tree in functions if is_public(tree.name) and f"{DOUBLE}{tree.name}" in called(tree)]
    double_inside = {tree.name for tree in mixed}
    narrow = single.program([name for name in offered if name not in double_inside], functions)
    whole = {t.name for t in narrow if all(a.annotation and ast.unparse(a.annotation) == "int" for a in t.args.args)}
    wide = [name.removeprefix(DOUBLE) for t in narrow for name in called(t) if name.startswith(DOUBLE)]
    wide += [*sorted(whole), *(name for tree in mixed for name in called(tree))]
    double = library("double").program([*wide, *offered], parts.functions("double"))
    explained = {tree.name for tree in double}
    narrow = tuple(_without_comment(t) if t.name in explained else t for t in narrow if t.name not in whole)
    precisions = [
        _precision("double", double, parts, whole),
        _precision("single", narrow, parts, whole, mixed),
    ]
    code = "\n".join(p["functions"] for p in precisions)
    names = {variable(p): public(p) for p in parameters}
    prototypes: dict[str, list[str]] = {name: [] for name in described}
    for kind, name, listed in HEAD.findall(code):
        owner = name if name in described else name.removesuffix("f")
        owner = owner if owner in described else owner.removesuffix("_matrix")
        arguments = re.sub(r"\w+", lambda word: names.get(word[0], word[0]), listed)
        prototypes[owner].append(f"{kind} {head['prefix']}{name}({arguments});")
    processor = machine(code)
    used = {"float": "_EPSILON", "stdint": "uint", "stdlib": "calloc("}
    values = {
        **{key: _plain(value) for key, value in head.items()},
        "documented": [
            {"meaning": _plain(about), "lines": list(map(_plain, lines)), "prototypes": prototypes[name]}
            for name, (about, lines) in described.items()
        ],
        "machine": processor,
        "headers": [name for name, word in used.items() if word in processor + code],
        "precisions": precisions,
    }
    return files.render("module.c.j2", {"depth": 0, **values}, TEMPLATES)


def _without_comment(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A function whose meaning stands above, where its like of double is."""
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    return ast.FunctionDef(tree.name, tree.args, body, [], tree.returns)


def _plain(value: Any) -> Any:
    """Text that ends no comment."""
    return value.replace("*/", "* /") if isinstance(value, str) else value


def _precision(
    precision: Precision,
    trees: Sequence[ast.FunctionDef],
    parts: Parts,
    whole: Set[str],
    mixed: Sequence[ast.FunctionDef] = (),
) -> dict[str, Any]:
    """The functions of a precision, and those that compute in double what they take in it."""
    public = {name: name.removesuffix("_entries") for tree in (*trees, *mixed) if is_public(name := tree.name)}
    real, tables = REALS[precision], frozenset(parts.constants)
    names = Names(real, real, KNOWN, PREFIX, library(precision).constants, tables, public, whole)
    inner = replace(names, real="double", constants=library("double").constants)
    read = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    shown = [
        {"name": f"{name}{names.suffix}", "lines": in_rows([names.literal(n) for n in numbers])}
        for name, numbers in parts.constants.items()
        if name in read
    ]
    functions = [text for text in (translated(trees, names), translated(mixed, inner)) if text]
    return {"real": real, "tables": shown, "functions": "\n\n".join(functions)}


def machine(code: str | None = None) -> str:
    """What the processor does: all of it, or what some code needs."""
    text = (HERE / "runtime" / "machine.h").read_text("utf-8")
    parts = text.split("\n\n")
    return "\n\n".join(p for p in parts if code is None or any(name in code for name in re.findall(r"symres_\w+\(", p)))


def public(parameter: sp.Symbol) -> str:
    """The name of a parameter in declarations: the user's own, where that can be a name there."""
    name = argument(parameter)
    return variable(parameter) if _is_taken(name) or not name.isascii() else name


def in_python(name: str) -> str:
    """The name of a declared parameter in Python, where it is the user's own: as in the modules of other languages."""
    typed = name.removesuffix("_")
    return typed if _is_taken(typed) and argument(sp.Symbol(typed)) == typed else name


def _is_taken(name: str) -> bool:
    """Whether a name has a meaning in C: in capitals it may be a macro, and with the ending of a type one of those."""
    begins, ends = name.startswith(("step_", "every_", "SYMRES")), name.endswith("_t")
    return name in (*KEYWORDS, *_ARGUMENTS) or begins or ends or name.isupper()
