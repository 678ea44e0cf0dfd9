"""The structure of the house: which room may import which, and rules that no linter knows."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "symres"

WORDS = {"errors", "symbols", "proof", "scalars", "balls", "special", "quantity", "report"}

# room -> rooms it may import; words may only import the words listed before them
ALLOWED = {
    "errors": set(),
    "symbols": set(),
    "proof": {"errors"},
    "scalars": {"errors"},
    "balls": {"errors", "symbols"},
    "special": {"errors", "balls"},
    "notation": {"errors", "symbols"},
    "quantity": {"errors", "symbols", "proof", "scalars", "balls", "notation"},
    "report": {"quantity"},
    "declare": {"errors", "symbols", "scalars", "balls"},
    "gaussian": {"errors", "symbols", "scalars", "balls", "special", "proof", "quantity", "declare"},
    "theory": {
        "errors",
        "symbols",
        "notation",
        "scalars",
        "balls",
        "proof",
        "quantity",
        "report",
        "declare",
        "gaussian",
    },
    "export": {"errors", "symbols", "scalars", "balls", "special", "proof", "quantity", "report", "notation"},
    # the oracles share no code with what they judge: no gaussian, theory, balls, and not the program
    "check": {"errors", "symbols", "scalars", "quantity", "declare"},
    "api": {"errors", "symbols", "scalars", "quantity", "declare", "gaussian", "theory"},
}
FREE = {"cli", "__init__", "__main__"}  # the ends of the house may see every room

SHARED_SYMBOLS = {"z", "K", "K1", "K2", "C", "C_W", "C_b", "gamma", "xi", "n", "n_L", "r", "Theta"}


def modules():
    return sorted(p for p in PACKAGE.rglob("*.py") if "_templates" not in p.parts)


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path, text=None):
    """(room, full module) of every import from symres in a file, or in a text that would stand there."""
    package = ("symres", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text() if text is None else text)):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            full = (*base, *(node.module or "").split(".")) if node.module else base
            targets = [full] if node.module else [(*full, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            targets = [tuple(alias.name.split(".")) for alias in node.names]
        else:
            continue
        for target in targets:
            if target[0] == "symres" and len(target) > 1:
                yield target[1], ".".join(target[1:])


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    room = room_of(path)
    if room in FREE:
        return
    assert room in ALLOWED, f"a new room {room}: add it to the table"
    for target, full in imported(path):
        assert target == room or target in ALLOWED[room], f"{path.name} imports {full}"


def test_the_oracles_do_not_see_the_program():
    for path in modules():
        if room_of(path) == "check":
            seen = {full for _, full in imported(path)}
            assert not seen & {"declare.program", "declare.layer", "declare.architectures"}, path


@pytest.mark.parametrize(
    "line", ["from ..gaussian.exact import closed_form", "from symres.theory import walk", "import symres.balls"]
)
def test_the_table_catches_a_forbidden_import(line):
    targets = {room for room, _ in imported(PACKAGE / "check" / "imaginary.py", line)}
    assert targets
    assert not targets & (ALLOWED["check"] | {"check"})


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_shared_symbols_are_made_once(path):
    if path.name == "symbols.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "Symbol":
            first = node.args[0] if node.args else None
            assert not (isinstance(first, ast.Constant) and first.value in SHARED_SYMBOLS), f"{path}: {first.value}"


def test_import_symres_is_light():
    import subprocess
    import sys

    code = "import sys, symres; print([m for m in ('torch', 'matplotlib', 'jinja2') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
