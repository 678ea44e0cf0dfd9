"""What the command line asks for: an activation in a layer, with numbers for some parameters."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

from ..activations import catalogue
from ..activations.activation import RESERVED, Activation, file_stem, identifier
from ..activations.formula_parser import NAME, PARSED_FUNCTIONS, VARIABLE, nearest
from ..core.errors import DeclarationError
from ..core.scalars import parameter
from ..core.symbols import PARAMETERS, gamma, xi
from ..core.words import with_digest
from ..layers import architectures
from ..layers.equation_parser import builder, is_equation, names_node, options, words
from ..layers.layer import Layer
from ..layers.positions import Tokens

if TYPE_CHECKING:
    from ..results.observable import Observable
    from ..theory.theory import Theory

Axis = tuple[str, float, float]  # name and ends of its range
_POSITIVE = [1.0, math.inf]  # the ends of a range of positive numbers
ALONE = "mlp"  # the layer of an activation that is given alone
_TITLE = 72  # characters of a title
_VALUE = 16  # characters of a number in the name of a file


@dataclass(frozen=True)
class Request:
    """A declared layer and how it was asked for."""

    asked: str  # the activation as the user wrote it; empty if the user wrote a forward equation alone
    phi: Activation | None  # the activation; None if there is only the equation
    layer: Layer  # the layer built from it
    settings: dict[str, str]  # numbers for parameters, as the user wrote them
    positive: tuple[str, ...] = ()  # names of the formula that stay positive symbols
    tokens: str | None = None  # of each input, as the user wrote their number

    @property
    def positions(self) -> Tokens | None:
        """The tokens of each input.

        Raises:
            DeclarationError: that is not a number of them, or the layer does not mix tokens.
        """
        if self.tokens is not None and not self.layer.program.has_positions:
            found, remedy = "it treats every input by itself", "leave out --tokens, or take --layer transformer"
            raise DeclarationError(f"--tokens {self.tokens} for the layer {self.layer.name}", found, remedy)
        return None if self.tokens is None else Tokens(self.tokens)

    @property
    def title(self) -> str:
        """What a page is about: the name of the activation, or the formula as it was typed, shortened if long."""
        if self.phi is None:
            return ", ".join(formula.name for formula in self.layer.formulas) or "a linear layer"
        if self.phi.formula.label()[0] is not None:
            return self.phi.name
        text = " ".join(self.asked.split())
        return text if len(text) <= _TITLE else f"{text[: _TITLE - 3]}..."

    @property
    def subject(self) -> str:
        """The activation and the layer."""
        return f"{self.title} in the layer {self.layer.name}"

    @property
    def stem(self) -> str:
        """The activation in the name of a file."""
        return "equation" if self.phi is None else file_stem(self.phi.formula)

    @property
    def source(self) -> str:
        """Where the formula of the activation comes from."""
        return "" if self.phi is None else self.phi.source

    @property
    def layer_stem(self) -> str:
        """The layer in the name of a file; of a forward equation its words and a digest."""
        name = self.layer.name
        return identifier("".join(name.split())) if is_equation(name) else name

    @property
    def settings_stem(self) -> str:
        """The numbers that were set in the name of a file, ``gamma_1_2``, but for those that the activation's has."""
        named = () if self.phi is None else self.phi.formula.label()[1]
        shown = {text.partition("=")[0] for text in named}
        return "_".join(f"{key}_{in_a_file_name(value)}" for key, value in self.settings.items() if key not in shown)

    def command(self, verb: str, *options: str) -> str:
        """The command line that repeats the request."""
        words = ["symres", verb]
        words += [self.asked, "--layer", self.layer.name] if self.asked else [self.layer.name]
        for key, value in self.settings.items():
            words += ["--set", f"{key}={value}"]
        for name in self.positive:
            words += ["--positive", name]
        words += [] if self.tokens is None else ["--tokens", self.tokens]
        return shlex.join([*words, *options])


def in_a_file_name(value: str) -> str:
    """A number in the name of a file, ``1_2`` for 1/2; what is not a plain number or fraction has a digest."""
    words = re.sub(r"[^A-Za-z0-9.+-]+", "_", value).strip("_")
    if re.fullmatch(r"[-+]?[\w.]+(/[\w.]+)?", value, re.ASCII) and len(value) <= _VALUE:
        return words
    return with_digest(words[:_VALUE], value)


def find_activation(text: str, /, **numbers: sp.Expr) -> Activation:
    """The activation of a name or a formula; numbers stand for names in the formula."""
    name = text.strip()
    if name in architectures.architectures and name not in catalogue.activations:
        remedy = f"name an activation for it: symres derive gelu --layer {name}"
        raise DeclarationError(f"activation {name}", f"{name} is a layer", remedy)
    return catalogue.activations.find(name, **numbers)


def observable(theory: Theory, name: str) -> Observable:
    """The record of an observable that somebody has typed.

    Raises:
        DeclarationError: the theory has none of this name.
    """
    records: dict[str, Observable] = {**theory.observables, **theory.depth_observables}
    if name not in records:
        printed = next((key for key, record in records.items() if name in record.sign), None)
        guess = f"did you mean {printed}?" if printed else nearest(name, list(records))
        remedy = f"{guess} choose from {', '.join(records)}".strip()
        raise DeclarationError(f"--quantity {name}", "unknown quantity", remedy)
    return records[name]


def chosen(text: str, pairs: Sequence[str]) -> Activation:
    """The activation of a name or a formula, with numbers for parameters.

    Raises:
        DeclarationError: as ``make``.
    """
    return find_activation(text, **{key: parameter(value, key) for key, value in settings_of(pairs).items()})


def make(
    text: str, layer: str, pairs: Sequence[str], free: Iterable[Axis] = (), positive: Sequence[str] = ()
) -> Request:
    """Build what a command line describes.

    Args:
        text: an activation's name, or a formula; or a forward equation that needs none.
        layer: name of an architecture, or a forward equation.
        pairs: ``key=value`` for parameters of the activation and of the layer.
        free: parameters that get no number, not even their default, with the ends of their ranges; names in a formula
            become parameters with the sign that the range has.
        positive: names in the formula, or in the forward equation, that stay symbols, of positive numbers.

    Raises:
        DeclarationError: an unknown name, a formula that is refused, or a setting that is no number.
    """
    settings = settings_of(pairs)
    written_names = {*NAME.findall(text), *NAME.findall(layer)}
    for name in positive:
        _require_free(name, written_names, settings)
    spoken = words(architectures.architectures[layer], settings) if layer in architectures.architectures else {}
    numbers = {key: parameter(value, key) for key, value in settings.items() if key not in spoken}
    is_alone = names_node(text)
    if is_alone:
        if layer != ALONE:
            remedy = "name the activation first: symres derive gelu --layer 'z + Dense(phi(z))'"
            raise DeclarationError(f"--layer {layer} for {text}", "the first argument is a layer already", remedy)
        text, layer = "", text
    names = {*NAME.findall(text), *(NAME.findall(layer) if is_equation(layer) else ())}
    axes = {key: ends for key, *ends in free} | dict.fromkeys(positive, _POSITIVE)
    numbers |= {key: _within(key, *axes[key]) for key in (names & axes.keys()) - RESERVED - numbers.keys()}
    written = {key for key in numbers if key in NAME.findall(text)}
    for key in sorted((written & RESERVED) - VARIABLE):
        advice = "call the formula's parameter something else, for instance a"
        raise DeclarationError(f"--set {key}={settings[key]}", f"the name {key} is taken by symres", advice)
    inside = {key: numbers[key] for key in NAME.findall(layer) if key in numbers} if is_equation(layer) else {}
    inside = {key: value for key, value in inside.items() if key not in map(str, PARAMETERS)}  # those stay symbols
    build = builder(layer, inside, "--layer")
    phi = _found(text, settings, {key: numbers[key] for key in written}, build) if not is_alone else None
    phi_names = {str(p) for p in phi.parameters} if phi is not None else set[str]()
    if phi_names & set(numbers):
        phi = find_activation(text, **{key: numbers[key] for key in written | phi_names if key in numbers})
    phi_names |= written | inside.keys()
    choices = options(build)
    symbolic: dict[str, sp.Expr] = {s.name: s for s in (gamma, xi) if s.name in axes and s.name in choices}
    built = build(
        phi, **spoken | symbolic | {key: value for key, value in numbers.items() if key in choices - phi_names}
    )
    substituted = {key: value for key, value in numbers.items() if key not in phi_names | choices}
    accepted = phi_names | choices | {str(p) for p in built.parameters}
    for key in substituted:
        if key not in accepted:
            found = f"{f'{phi.name} in the layer' if phi else 'the layer'} {layer} has no parameter {key}"
            advice = nearest(key, sorted(accepted)) or f"its parameters are: {', '.join(sorted(accepted)) or 'none'}"
            raise DeclarationError(f"--set {key}={settings[key]}", found, advice)
    built = built.subs(**substituted) if substituted else built
    return Request(text.strip(), phi, built, settings, tuple(positive))


def _require_free(name: str, written: set[str], settings: dict[str, str]) -> None:
    """Make sure that a name can be that of a positive parameter.

    Raises:
        DeclarationError: it has another meaning, or a number, or does not occur.
    """
    asked = f"--positive {name}"
    if name in RESERVED or name in PARSED_FUNCTIONS or name in catalogue.activations:
        raise DeclarationError(asked, "formulas use this name already", "rename the parameter")
    if name in settings:
        raise DeclarationError(asked, f"it has a number, --set {name}={settings[name]}", "leave one out")
    if name not in written:
        raise DeclarationError(asked, "the formula does not contain it", "name a parameter of the formula")


def _within(name: str, low: float, high: float) -> sp.Symbol:
    """A parameter of a formula that runs over a range: what is refused for a sign that it never has is no obstacle."""
    signs = {"positive": low > 0, "nonnegative": low == 0, "negative": high < 0, "nonpositive": high == 0}
    return sp.Symbol(name, real=True, **{sign: True for sign, has in signs.items() if has})


def axis(text: str | None) -> Axis | None:
    """An axis of a figure, ``C_W=0:4``.

    Raises:
        DeclarationError: it is not of that form.
    """
    if text is None:
        return None
    name, equals, ends = (part.strip() for part in text.partition("="))
    low, colon, high = ends.partition(":")
    if not (name and equals and colon):
        raise DeclarationError(f"the axis {text}", "it is not of the form name=low:high", "write C_W=0:4")
    return name, float(parameter(low.strip(), name)), float(parameter(high.strip(), name))


def _found(text: str, settings: dict[str, str], written: dict[str, sp.Expr], build: Callable[..., Layer]) -> Activation:
    """The activation; if it is refused, settings that belong to nothing are named too: one may be a slip of the pen."""
    try:
        return find_activation(text, **written)
    except DeclarationError as error:
        meant = {str(p) for entry in catalogue.activations.entries for p in entry.parameters}
        meant |= {*written, *options(build), *map(str, PARAMETERS)}
        idle = [key for key in settings if key not in meant]
        if not idle:
            raise
        shown = " ".join(f"--set {key}={settings[key]}" for key in idle)
        found = f"{error.found}; it does not contain {' and '.join(idle)} either ({shown})"
        raise DeclarationError(error.asked, found, error.remedy) from None


def settings_of(pairs: Sequence[str], option: str = "--set") -> dict[str, str]:
    """The values of ``--set key=value``, or of another option, as they were written, by key.

    Raises:
        DeclarationError: a pair of another form, or a key that is set twice.
    """
    settings: dict[str, str] = {}
    for pair in pairs:
        parts = re.split(r"[,;\s]+", pair)
        if len(parts) > 1 and all("=" in part for part in parts):
            remedy = f"repeat the option: {' '.join(f'{option} {part}' for part in parts)}"
            raise DeclarationError(f"{option} {pair}", "it sets more than one parameter", remedy)
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or not value or "=" in value:
            raise DeclarationError(f"{option} {pair}", "it is not of the form key=value", f"write {option} gamma=1/2")
        if key in settings:
            raise DeclarationError(f"{option} {pair}", f"{key} is set twice", "give every parameter one value")
        settings[key] = value
    return settings
