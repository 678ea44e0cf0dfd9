"""The modules that a user means: by type, by patterns of their names, by a function; or else residual blocks.

And what modules are called in messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, TypeAlias

from torch import nn

from ...activations.formula_parser import nearest
from ...core.errors import DeclarationError

_LISTED = 8  # names in a message
_CONTAINERS = (nn.ModuleList, nn.Sequential)
_DENSE = (nn.Linear, nn.Bilinear, nn.modules.conv._ConvNd)


@dataclass(frozen=True)
class ChosenModules:
    """Modules to be observed.

    Args:
        modules: by qualified name, in the order of declaration.
        entered: names of those whose input is observed too, where it does not leave another one of them.
        left: names of those whose output is observed; None for all.
    """

    modules: dict[str, nn.Module]
    entered: frozenset[str] = frozenset()
    left: frozenset[str] | None = None


ModuleChoice: TypeAlias = (
    type[nn.Module]
    | tuple[type[nn.Module], ...]
    | str
    | Sequence[str]
    | Callable[[str, nn.Module], bool]
    | ChosenModules
    | None
)


def chosen_places(model: nn.Module, modules: ModuleChoice, blocks: ModuleChoice) -> ChosenModules:
    """The modules at whose outputs a model is observed, or its blocks, and then also what enters these.

    Raises:
        DeclarationError: both are given; or as ``choose_modules``.
    """
    if modules is not None and blocks is not None:
        raise DeclarationError("modules and blocks", "only one is allowed", "pass blocks= to observe inputs, too")
    chosen = choose_modules(model, modules if blocks is None else blocks)
    return chosen if blocks is None else replace(chosen, entered=frozenset(chosen.modules))


def choose_modules(model: nn.Module, choice: ModuleChoice = None) -> ChosenModules:
    """The modules of a model that are meant.

    Args:
        model: the model.
        choice: a type or a tuple of types; a pattern of qualified names ("h.*", "*.mlp"), or a list of patterns; a
            function of name and module; modules that were chosen before; or None: the residual blocks and what enters
            them, in a model without repeated blocks its dense and convolutional layers, and in one without these the
            model itself.

    Returns:
        At least one module. In a pattern ``*`` stands for anything but a dot, ``**`` for any number of levels; one that
        matches no whole name may match the end of a name: "h.*" the modules "transformer.h.0", "transformer.h.1".

    Raises:
        DeclarationError: no module is meant, with the nearest names.
    """
    if isinstance(choice, ChosenModules):
        return choice
    named = dict(model.named_modules())
    if choice is None:
        blocks = residual_blocks(model)
        return ChosenModules(blocks or dense_layers(model) or {"model": model}, frozenset(blocks))
    is_type = isinstance(choice, type) or (isinstance(choice, tuple) and all(isinstance(c, type) for c in choice))
    if isinstance(choice, (str, Sequence)) and not is_type:
        return ChosenModules(_matching(named, [choice] if isinstance(choice, str) else choice))
    if not is_type and not callable(choice):
        asked, remedy = f"modules={choice!r}", "pass types, patterns, a function of name and module"
        raise DeclarationError(asked, "it is not a choice of modules", remedy)
    kind: Any = choice
    fits = (lambda name, module: isinstance(module, kind)) if is_type else kind
    chosen = {name or "model": module for name, module in named.items() if fits(name, module)}
    if not chosen:
        asked = "modules chosen by a function"
        if is_type:
            asked = f"modules of the type {getattr(choice, '__name__', choice)}"
        types = sorted({type(module).__name__ for module in named.values()})
        raise DeclarationError(asked, "the model has none of them", f"its types are {some_of(types, _LISTED)}")
    return ChosenModules(chosen)


def _matching(named: dict[str, nn.Module], patterns: Sequence[object]) -> dict[str, nn.Module]:
    """The modules whose whole names match, or else whose ends do."""
    chosen: dict[str, nn.Module] = {}
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise DeclarationError(f"modules={patterns!r}", f"{pattern!r} is not text", "pass patterns of names")
        names = [name for name in named if name]
        matches = [name for name in names if matches_name(name, pattern)]
        matches = matches or [name for name in names if matches_name(name, f"**.{pattern}")]
        if not matches:
            guess = nearest(pattern.replace("*", ""), names)
            remedy = f"{guess} its modules are {some_of(names, _LISTED)}".strip()
            raise DeclarationError(f"modules {pattern!r}", "no name of a module matches", remedy)
        chosen |= {name: named[name] for name in matches}
    return {name: module for name, module in named.items() if name in chosen}


def matches_name(name: str, pattern: str) -> bool:
    """Whether a qualified name matches a pattern, level by level; ``**`` matches any number of levels."""

    def match(levels: list[str], patterns: list[str]) -> bool:
        if not patterns:
            return not levels
        if patterns[0] == "**":
            return any(match(levels[skipped:], patterns[1:]) for skipped in range(len(levels) + 1))
        return bool(levels) and fnmatchcase(levels[0], patterns[0]) and match(levels[1:], patterns[1:])

    return match(name.split("."), pattern.split("."))


def residual_blocks(model: nn.Module) -> dict[str, nn.Module]:
    """The repeated blocks of a model, by qualified name, in the order of declaration.

    Blocks are children of a ``ModuleList`` or ``Sequential`` that have children themselves and whose type occurs at
    least twice among such children. Of nested ones the outermost counts, but a plain container whose children are
    blocks (the stage of a ResNet) is opened.

    Returns:
        Empty where nothing is repeated.
    """
    blocks = _outermost_blocks(model, "")
    counts = Counter(map(type, blocks.values()))
    return {name: module for name, module in blocks.items() if counts[type(module)] > 1}


def block_finder(model: nn.Module) -> Callable[[str], str]:
    """A function that gives the repeated block in which a module is, by its name; empty for none."""
    blocks = residual_blocks(model)
    return lambda name: next((block for block in blocks if f"{name}.".startswith(f"{block}.")), "")


def _outermost_blocks(module: nn.Module, prefix: str) -> dict[str, nn.Module]:
    """Children of containers that have children themselves; nested ones count once."""
    blocks: dict[str, nn.Module] = {}
    for name, child in module.named_children():
        path = f"{prefix}{name}"
        is_block = isinstance(module, _CONTAINERS) and any(True for _ in child.children())
        inner: dict[str, nn.Module] = {}
        if not is_block or isinstance(child, _CONTAINERS):
            inner = _outermost_blocks(child, f"{path}.")
        blocks |= {path: child} if is_block and not inner else inner
    return blocks


def dense_layers(model: nn.Module) -> dict[str, nn.Module]:
    """The dense and convolutional layers of a model, by qualified name, in the order of declaration."""
    return {name: module for name, module in model.named_modules() if isinstance(module, _DENSE)}


def module_in_words(name: str, module: nn.Module) -> str:
    """A module by its qualified name, if it has one, and its type."""
    return f"{name} ({type(module).__name__})" if name else type(module).__name__


def some_of(names: Sequence[str], most: int = 4) -> str:
    """Names, the first of them if there are many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def enclosing_module(names: Sequence[str]) -> str:
    """The innermost module that has all modules of these names; the names themselves if that is the model."""
    levels = zip(*(name.split(".") for name in names), strict=False)
    shared = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]
    return ".".join(shared) or ", ".join(dict.fromkeys(names))
