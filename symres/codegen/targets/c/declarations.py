"""The declarations of a source in C, which are its header, and what they say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_BEGIN, _END = "/* ==== declarations: the header ==== */\n", "/* ==== end of the declarations ==== */\n"
KEYWORDS = (
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "main", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
    # of C23 and C++, which read headers too, of cffi, and what compilers define besides the standard
    "alignas", "alignof", "and", "and_eq", "asm", "bitand", "bitor", "bool", "catch", "class", "compl", "concept",
    "const_cast", "consteval", "constexpr", "constinit", "decltype", "delete", "dynamic_cast", "explicit", "export",
    "false", "friend", "i386", "linux", "math_errhandling", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "nullptr", "offsetof", "operator", "or", "or_eq", "private", "protected", "public", "reinterpret_cast", "requires",
    "static_assert", "static_cast", "template", "this", "thread_local", "throw", "true", "try", "typeid", "typename",
    "typeof", "typeof_unqual", "unix", "using", "virtual", "xor", "xor_eq",
)  # fmt: skip
PROTOTYPE = re.compile(r"^(void|int) (\w+)\(([^)]*)\);$", re.MULTILINE)
_PREFIX = re.compile(r"^#define SYMRES_NAME\(name\) (?:(\w+)##)?name ", re.MULTILINE)
_UNUSED = re.compile(r"\(void\)(\w+)")
_GUARD = re.compile(r"^#ifndef SYMRES_\w+_H$", re.MULTILINE)
_ENTRY = re.compile(r"^static inline double symres_(\w+)_entry\([^)]*\)\n{\n(.*?)^}$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Declared:
    """A function of entries, as it is for double.

    Args:
        name: of the function.
        inputs: its arguments that are arrays.
        parameters: those that are numbers.
        has_matrix: whether there is NAME_matrix.
        idle: parameters on which the value does not depend.
    """

    name: str
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    has_matrix: bool
    idle: frozenset[str]

    @property
    def arguments(self) -> tuple[str, ...]:
        """All of them, in order."""
        return (*self.inputs, *self.parameters)


def declarations_of(text: str) -> str:
    """The declarations of a source."""
    return text.split(_BEGIN)[1].split(_END)[0]


def prefix_of(text: str) -> str:
    """What the names of the public functions of a source begin with."""
    prefix = _PREFIX.search(text)
    return "" if prefix is None else prefix[1] or ""


def header_of(text: str, stem: str) -> str:
    """The header of a source: its first comment and its declarations, which a program reads once.

    Args:
        text: the source.
        stem: the name of the header's file without its ending. With what the names begin with it is that of the guard:
            in folders of their own two modules may have files of one name.
    """
    parts = dict.fromkeys((prefix_of(text).rstrip("_"), stem))
    guard = re.sub(r"\W", "_", "_".join(["SYMRES", *filter(None, parts), "H"]), flags=re.ASCII)
    head = text.split(_BEGIN)[0].rstrip()
    return f"{head}\n\n#ifndef {guard}\n#define {guard}\n\n{declarations_of(text)}\n#endif\n"


def is_header(text: str) -> bool:
    """Whether a text is a header of this target."""
    return _GUARD.search(text) is not None


def declared(text: str) -> tuple[Declared, ...]:
    """The functions of entries that a source declares."""
    found = _prototypes(text)
    bodies = dict(_ENTRY.findall(text))

    def of(name: str, arguments: Sequence[str]) -> Declared:
        inputs = tuple(a.split("*")[1] for a in arguments if a.startswith("const"))
        numbers = tuple(a.split()[1] for a in arguments if a.startswith("double ") and "*" not in a)
        body = bodies.get(name)
        idle = frozenset() if body is None else frozenset(numbers).intersection(_UNUSED.findall(body))
        return Declared(name, inputs, numbers, f"{name}_matrix" in found, idle)

    return tuple(
        of(name, arguments)
        for name, arguments in found.items()
        if arguments[-1] == "double *out" and arguments[0] == "size_t entries"
    )


def _prototypes(text: str) -> dict[str, list[str]]:
    """The arguments of the public functions, by their names without what all of them begin with."""
    found = PROTOTYPE.findall(declarations_of(text))
    return {name.removeprefix(prefix_of(text)): arguments.split(", ") for _, name, arguments in found}


def declared_network(text: str) -> tuple[tuple[str, ...], int] | None:
    """The arguments of which each layer of a network has one, and their number; None if a source has no network."""
    arguments = _prototypes(text).get("dual_kernel")
    depth = re.search(r"^#define SYMRES_DEPTH (\d+)$", text, re.MULTILINE)
    if arguments is None or depth is None:
        return None
    names = (a.split("*")[1] for a in arguments if a.startswith("const"))
    return tuple(name for name in names if name not in ("K1", "K2")), int(depth[1])
