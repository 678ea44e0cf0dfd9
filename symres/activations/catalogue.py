"""The activations that symres knows by name. Adding one is one entry of the table at the end of this file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sympy as sp

from ..core.errors import DeclarationError
from ..core.foreign import reader
from ..core.scalars import parameter
from ..core.symbols import z
from .activation import Activation, formula_name
from .foreign_names import foreign_remedy
from .formula_parser import NAME, PARSED_FUNCTIONS, VARIABLE, Function, nearest, parse

# what stands for an activation: itself, a name, a formula, or a module or function of PyTorch
Declared: TypeAlias = Activation | sp.Expr | str | Callable[..., Any]

_CALLER = 4  # frames from the warning to the caller of ``activation``
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\((.*)\)", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class CatalogueEntry:
    """One line of the catalogue."""

    name: str  # of the activation
    formula: str  # text for ``parse``; it may use the names of earlier entries as functions
    source: str  # where the formula comes from
    # the symbols of the formula other than z, in the order in which a call gives their values
    parameters: tuple[sp.Symbol, ...] = ()


@dataclass(frozen=True)
class Alias:
    """Another name for an entry."""

    name: str  # the other name
    entry: str  # the name in the catalogue
    values: tuple[sp.Expr, ...] = ()  # of the entry's first parameters
    was: str = ""  # what the name meant in earlier releases, where that has changed


class Catalogue(Mapping[str, Activation]):
    """Activations by name, in the order of the table; read-only.

    An entry is parsed and validated when it is first asked for. Aliases can be asked for too, and are not listed.

    Args:
        entries: the table.
        aliases: other names of entries.

    Examples:
        >>> sr.activations["hard_sigmoid"].expr
        Min(6, Max(0, z + 3))/6
        >>> "logsigmoid" in sr.activations, "logsigmoid" in list(sr.activations)
        (True, False)
    """

    def __init__(self, entries: Sequence[CatalogueEntry], aliases: Sequence[Alias] = ()) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._aliases = {alias.name: alias for alias in aliases}
        self._built: dict[str, Activation] = {}
        names = [*(entry.name for entry in entries), *self._aliases]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            found = f"{', '.join(twice)} occurs twice"
            raise DeclarationError("a catalogue of activations", found, "give every activation its own name")

    def __getitem__(self, name: str) -> Activation:
        self._tell_change(name)
        return self._entry(name)

    def _tell_change(self, name: str) -> None:
        """Warn where a name does not mean what it meant."""
        alias = self._aliases.get(name)
        if alias is not None and alias.was:
            now = self._entry(alias.entry)
            notice = f"{name} is {alias.entry}, {now.expr}; in earlier releases it was {alias.was}"
            warnings.warn(notice, FutureWarning, stacklevel=_CALLER)

    def _entry(self, name: str) -> Activation:
        if name in self._aliases:
            alias = self._aliases[name]
            return self.called(alias.entry, *alias.values)
        if name not in self._built:
            entry = self._entries[name]
            earlier = list(self)[: list(self).index(name)]
            expr = parse(entry.formula, self.functions(earlier), {str(p): p for p in entry.parameters})
            self._built[name] = Activation(entry.name, expr, entry.parameters, entry.source)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._aliases

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Catalogue({', '.join(self)})"

    @property
    def entries(self) -> tuple[CatalogueEntry, ...]:
        """The lines of the table."""
        return tuple(self._entries.values())

    def extended(self, *entries: CatalogueEntry) -> Catalogue:
        """A catalogue with further entries; this one stays as it is.

        Examples:
            >>> more = sr.activations.extended(*sr.activations.entries[:0])
            >>> more.find("relu(z)^2").homogeneity
            2
        """
        return Catalogue([*self._entries.values(), *entries], tuple(self._aliases.values()))

    def find(self, what: Declared, /, **parameters: Any) -> Activation:
        """An activation from its name, its name with parameter values, or its formula, as ``sr.activation`` has it.

        Args:
            what: an activation of this catalogue, or anything else that stands for one.
            parameters: values of parameters; a sympy symbol declares a parameter of a formula.

        Raises:
            DeclarationError: an unknown name, a formula that cannot be read or validated, or an inadmissible value.

        Examples:
            >>> sr.activations.find("max(z, 0)*z").homogeneity
            2
        """
        if isinstance(what, Activation):
            return what.subs(**parameters)
        for key in sorted(VARIABLE & set(parameters)):
            found = f"{key} is the preactivation, the variable of the formula, not a parameter"
            raise DeclarationError(f"{key} = {parameters[key]}", found, "give numbers to parameters only")
        declared = {key: value for key, value in parameters.items() if isinstance(value, sp.Symbol)}
        values = {key: value for key, value in parameters.items() if key not in declared}
        if isinstance(what, sp.Expr):
            return Activation(formula_name(str(what)), what, tuple(declared.values())).subs(**values)
        if not isinstance(what, str):
            read = reader(what)
            activation = None if read is None else read(what)
            if isinstance(activation, Activation):
                return activation.subs(**parameters)
            several = isinstance(what, list | tuple)
            remedy = "pass them one by one" if several else "pass a name or a formula"
            raise DeclarationError(f"activation {what!r:.60}", "this is not an activation", remedy)
        text = what.strip()
        if text in self:
            return self[text].subs(**parameters)
        call = _CALL.fullmatch(text)
        if call and call[1] in self and not _mentions(call[2], *VARIABLE) and (named := self[call[1]]).parameters:
            return named.subs(**self._values(named, call[2]), **parameters)
        if NAME.fullmatch(text) and text not in (*VARIABLE, "pi"):
            raise self._unknown(text)
        return self._from_formula(text, declared, values)

    def _from_formula(self, text: str, declared: dict[str, sp.Symbol], values: dict[str, Any]) -> Activation:
        """Values of names in the text go in as numbers; the parameters of activations used as functions are added."""
        written = {key: parameter(value, key) for key, value in values.items() if _mentions(text, key)}
        expr = parse(text, self.functions(), {**written, **declared})
        of_entries = {p for entry in self._entries.values() for p in entry.parameters if expr.has(p)}
        parameters = sorted(of_entries | set(declared.values()), key=str)
        name = formula_name(_with_numbers(text, written))
        numbers = {key: value for key, value in values.items() if key not in written or key in map(str, of_entries)}
        return Activation(name, expr, tuple(parameters)).subs(**numbers)

    def _unknown(self, text: str) -> DeclarationError:
        if text in PARSED_FUNCTIONS:
            return DeclarationError(f"activation {text}", f"{text} is a function", f"write the formula: {text}(z)")
        if foreign := foreign_remedy(text):
            return DeclarationError(f"activation {text}", "unknown name", foreign)
        remedy = nearest(text, list(self)) or f"symres list activations shows all names: {', '.join(list(self)[:8])}..."
        advice = f"{remedy} A formula in z is welcome too, such as z*tanh(z)"
        return DeclarationError(f"activation {text:.60}", "unknown name", advice)

    def functions(self, names: Iterable[str] | None = None) -> Mapping[str, Function]:
        """Activations as functions of formulas: all, or those of some names."""
        chosen = (*self, *self._aliases) if names is None else names
        return {name: self._function(name) for name in chosen if name not in PARSED_FUNCTIONS}

    def _function(self, name: str) -> Function:
        def function(u: sp.Expr, *values: sp.Expr) -> sp.Expr:
            self._tell_change(name)
            formulas = {p: v for p, v in self._given(name, values).items() if not v.is_number}
            numbers = self.called(name, *(v if v.is_number else p for p, v in self._given(name, values).items()))
            return numbers.expr.subs({z: u, **formulas}, simultaneous=True)

        return function

    def _given(self, name: str, values: Sequence[sp.Expr]) -> dict[sp.Symbol, sp.Expr]:
        """The values in a call such as ``elu(z, 1/2)``, by parameter."""
        parameters = self._entry(name).parameters
        if len(values) > len(parameters):
            names = ", ".join(map(str, parameters))
            found = f"{len(values)} values were passed for {names}" if names else "it has no parameters"
            remedy = f"write {name}({', '.join(['z', *map(str, parameters)])})"
            raise DeclarationError(f"the function {name}", found, remedy)
        return dict(zip(parameters, values, strict=False))

    def called(self, name: str, *values: sp.Expr) -> Activation:
        """An activation with these values of its parameters, in their order; a parameter itself leaves it free.

        Raises:
            DeclarationError: more values than parameters, or one that is inadmissible.
        """
        return self._entry(name).subs(**{str(p): v for p, v in self._given(name, values).items() if v != p})

    def _values(self, activation: Activation, text: str) -> dict[str, str]:
        """The values in a call such as ``alpha=1`` or ``0.01``, by name."""
        names = [str(p) for p in activation.parameters]
        values: dict[str, str] = {}
        for position, argument in enumerate(text.split(",") if text.strip() else []):
            key, equals, value = argument.partition("=")
            if not equals:
                key, value = "".join(names[position : position + 1]), argument
            key = key.strip()
            if key in values or key not in names:
                reason = f"{argument.strip()} is not the value of a parameter"
                remedy = f"its parameters are: {', '.join(names) or 'none'}"
                raise DeclarationError(f"activation {activation.name}({text:.40})", reason, remedy)
            values[key] = value.strip()
        return values


def activation(what: Declared, /, **parameters: Any) -> Activation:
    """An activation from its name, its name with parameter values, or its formula.

    Args:
        what: ``"gelu"``; ``"elu(alpha=1)"`` or ``"leaky_relu(0.01)"``; a formula in z or x such as
            ``"z*tanh(log(1 + exp(z)))"``; an Activation, a sympy expression in ``sr.z``, or a PyTorch module or
            function of one tensor, such as ``torch.nn.GELU()``, with its parameters as they are now.
        parameters: values of parameters; a sympy symbol declares a parameter of a formula.

    Raises:
        DeclarationError: an unknown name, a formula that cannot be read or validated, or an inadmissible value.

    Examples:
        >>> phi = sr.activation("softshrink(1/2)")
        >>> round(sr.expect(phi(sr.z)**2)(K=1), 9)
        0.41927852
        >>> sr.activation("where(z > 0, z, exp(z) - 1)").breakpoints
        (0,)
    """
    return activations.find(what, **parameters)


def constant(text: object) -> sp.Expr:
    """The exact number that a formula without z stands for: ``1/sqrt(2)``, ``exp(-1)``, ``relu(3)``.

    Raises:
        DeclarationError: it cannot be read, or depends on z.
    """
    value = parse(str(text), activations.functions())
    if value.has(z):
        raise DeclarationError(f"the constant {text!s:.40}", "it depends on z", "write a number such as sqrt(2)")
    return value


def _with_numbers(text: str, numbers: Mapping[str, sp.Expr]) -> str:
    """A formula as it was typed, with numbers in the place of names."""

    def value(word: re.Match[str]) -> str:
        number = numbers.get(word[0])
        if number is None:
            return word[0]
        return str(number) if number.is_Integer and number >= 0 else f"({number})"

    return NAME.sub(value, text)


def _mentions(text: str, *names: str) -> bool:
    return bool(set(names) & set(NAME.findall(text)))


_slope = sp.Symbol("slope", real=True)
_a_plus, _a_minus = sp.Symbol("a_plus", real=True), sp.Symbol("a_minus", real=True)
_level, _value = sp.Symbol("level", real=True), sp.Symbol("value", real=True)
_threshold = sp.Symbol("threshold", positive=True)
_alpha, _beta = sp.Symbol("alpha", positive=True), sp.Symbol("beta", positive=True)

# as printed, and as every library has them: 31 digits of the solution of <selu> = 0, <selu^2> = 1 at K = 1
_SELU_SCALE, _SELU_ALPHA = "1.0507009873554804934193349852946", "1.6732632423543772848170429916717"

_TABLE = (
    CatalogueEntry("relu", "max(z, 0)", "Nair and Hinton, ICML 2010"),
    CatalogueEntry("leaky_relu", "where(z > 0, z, slope*z)", "Maas, Hannun and Ng, ICML 2013", (_slope,)),
    CatalogueEntry("scale_invariant", "where(z > 0, a_plus*z, a_minus*z)", "PDLT", (_a_plus, _a_minus)),
    CatalogueEntry("abs", "abs(z)", "PDLT"),
    CatalogueEntry("linear", "z", "deep linear networks"),
    CatalogueEntry("sign", "sign(z)", "perceptron with values -1 and 1"),
    CatalogueEntry("step", "step(z)", "perceptron with values 0 and 1"),
    CatalogueEntry("erf", "erf(z)", "Williams, NIPS 1996"),
    CatalogueEntry("gelu", "z*Phi(z)", "Hendrycks and Gimpel, arXiv:1606.08415"),
    CatalogueEntry(
        "gelu_tanh", "z*(1 + tanh(sqrt(2/pi)*(z + 0.044715*z^3)))/2", "Hendrycks and Gimpel, arXiv:1606.08415"
    ),
    CatalogueEntry("tanh", "tanh(z)", "LeCun, Bottou, Orr and Mueller, Efficient BackProp, 1998"),
    CatalogueEntry("sigmoid", "sigmoid(z)", "the logistic function"),
    CatalogueEntry("silu", "z*sigmoid(z)", "Elfwing, Uchibe and Doya, arXiv:1702.03118"),
    CatalogueEntry("swish", "z*sigmoid(beta*z)", "Ramachandran, Zoph and Le, arXiv:1710.05941", (_beta,)),
    CatalogueEntry("softplus", "softplus(z)", "Dugas, Bengio, Belisle, Nadeau and Garcia, NIPS 2000"),
    CatalogueEntry("log_sigmoid", "-softplus(-z)", "the logarithm of the logistic function"),
    CatalogueEntry("mish", "z*tanh(softplus(z))", "Misra, arXiv:1908.08681"),
    CatalogueEntry("elu", "where(z > 0, z, alpha*(exp(z) - 1))", "Clevert and others, arXiv:1511.07289", (_alpha,)),
    CatalogueEntry("selu", f"{_SELU_SCALE}*elu(z, {_SELU_ALPHA})", "Klambauer and others, arXiv:1706.02515"),
    CatalogueEntry("celu", "where(z > 0, z, alpha*(exp(z/alpha) - 1))", "Barron, arXiv:1704.07483", (_alpha,)),
    CatalogueEntry("sin", "sin(z)", "Sitzmann, Martel, Bergman, Lindell and Wetzstein, arXiv:2006.09661"),
    CatalogueEntry("cos", "cos(z)", "Rahimi and Recht, NIPS 2007"),
    CatalogueEntry("snake", "z + sin(z)^2", "Ziyin, Hartwig and Ueda, arXiv:2006.08195, with a = 1"),
    CatalogueEntry("gaussian_slope", "z*exp(-z^2/2)", "the derivative of the bell, up to a sign"),
    CatalogueEntry("bell", "exp(-z^2/2)", "radial basis functions"),
    CatalogueEntry("hard_tanh", "max(-1, min(1, z))", "Collobert, thesis, 2004"),
    CatalogueEntry("relu6", "min(max(z, 0), 6)", "Krizhevsky, Convolutional deep belief networks on CIFAR-10, 2010"),
    CatalogueEntry("hard_sigmoid", "relu6(z + 3)/6", "Howard and others, MobileNetV3, arXiv:1905.02244"),
    CatalogueEntry("hard_swish", "z*relu6(z + 3)/6", "Howard and others, MobileNetV3, arXiv:1905.02244"),
    CatalogueEntry(
        "hardshrink", "where(abs(z) > threshold, z, 0)", "Donoho and Johnstone, Biometrika 81, 1994", (_threshold,)
    ),
    CatalogueEntry(
        "softshrink",
        "where(z > threshold, z - threshold, where(z < -threshold, z + threshold, 0))",
        "Donoho, IEEE Transactions on Information Theory 41, 1995",
        (_threshold,),
    ),
    CatalogueEntry("tanhshrink", "z - tanh(z)", "PyTorch's Tanhshrink"),
    CatalogueEntry("threshold", "where(z > level, z, value)", "PyTorch's Threshold", (_level, _value)),
    CatalogueEntry("softsign", "z/(1 + abs(z))", "Bergstra and others, 2009; Glorot and Bengio, AISTATS 2010"),
    CatalogueEntry("square", "z^2", "polynomial networks"),
    CatalogueEntry("cube", "z^3", "polynomial networks"),
)

_ALIASES = (
    Alias("prelu", "leaky_relu"),
    Alias("rrelu", "leaky_relu", (sp.Rational(11, 48),)),  # the mean of slopes that are uniform in 1/8..1/3
    Alias("logsigmoid", "log_sigmoid"),
    Alias("gaussian", "bell", was="z*exp(-z^2/2), which is gaussian_slope now"),
)

activations = Catalogue(_TABLE, _ALIASES)
Activation.functions = activations.functions()
