"""Results that are numbers: with errors, on several branches, as curves and responses of deep networks, in tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, TypeVar

import sympy as sp

from ..core.display import Fact, Shown
from ..core.errors import DeclarationError, SymresError
from ..core.scalars import Number, whole
from ..notation import latex
from ..numerics.deferred_numpy import Array
from .quantity import Quantity

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = (0.0, 0.5, 0.9)  # gamma of the rows that the curve shows of itself
OUTPUTS = 1  # n_L of the aspect ratios that are shown
Value: TypeAlias = "float | Array"
DataFrame: TypeAlias = "pd.DataFrame"


Estimated = TypeVar("Estimated", bound="float | Array")


class Estimates(list[Estimated]):
    """A list of numbers, or of arrays.

    Args:
        values: the numbers.
        errors: how far each may be from the truth, absolute.

    Attributes:
        errors: the same.
    """

    def __init__(self, values: Iterable[Estimated], errors: Iterable[Estimated]) -> None:
        super().__init__(values)
        self.errors = list(errors)


class AnnotatedNumber(float):
    """A number with what else is known of it: the annotated attributes of a subclass, in their order behind the value.

    Args:
        value: the number.
        facts: the attributes.
    """

    def __new__(cls, value: float, *facts: Any) -> Self:
        """The number with its attributes."""
        made = super().__new__(cls, value)
        vars(made).update(zip(cls.__annotations__, facts, strict=True))
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} of this number cannot be changed: ask for another one")

    def __getnewargs__(self) -> tuple[Any, ...]:  # copies are made again
        return float(self), *(getattr(self, name) for name in type(self).__annotations__)


class EstimatedNumber(AnnotatedNumber):
    """A number with its error.

    Attributes:
        error: how far it may be from the truth, absolute.
    """

    error: float


class Branches(tuple[float, ...]):
    """Numbers in increasing order; a single one is a number as well."""

    __slots__ = ()

    def __float__(self) -> float:
        """The only solution.

        Raises:
            DeclarationError: there are several.
        """
        if len(self) != 1:
            raise DeclarationError("one of several solutions", f"there are {len(self)}: {list(self)}", "choose one")
        return self[0]


class BranchScale(AnnotatedNumber):
    """The branch scale at which the output of a network responds most to the kernel of its input.

    Attributes:
        response: chi_out there, with its sign: it is largest in size.
        searched: between which scales the response was looked at.
    """

    response: float
    searched: tuple[float, float]


@dataclass(frozen=True, repr=False)
class DeepBranchScale(Shown):
    """The branch scale at which outputs of a deep network respond most to the kernel of their input.

    Args:
        condition: a function of the final kernel that is 0 at the optimum, whatever the input is.
        final_kernel: where it is.
        response: of the output there, chi_out, with its sign: it is largest in size.
        coefficient: c of the optimal scale ``c * depth**(-1/power)``.
        power: in which the branch's weight enters the kernel.
    """

    condition: Quantity
    final_kernel: float
    response: float
    coefficient: float
    power: int

    def at(self, depth: Number) -> float:
        """The scale at a depth; the exact one differs by a term that is smaller by a factor 1/depth."""
        return float(self.coefficient * whole(depth, "depth", 1) ** (-1 / self.power))

    def _title(self) -> str:
        return f"optimal branch scale {self.coefficient:.15g}*L^(-{sp.Rational(1, self.power)}) of L layers"

    def _facts(self) -> list[Fact]:
        return [
            Fact("condition", f"{self.condition.definition} = 0"),
            Fact("final kernel", f"{self.final_kernel:.15g}"),
            Fact("response", f"{self.response:.12g}, of the output's kernel to the input's"),
        ]


@dataclass(frozen=True)
class GrowthRow:
    """One weight of the skip connection.

    Args:
        gamma: the weight; None for a layer without one.
        nu: the growth of ``V/K^2`` for each layer.
        second: the same if, of what neurons remember, only the second Hermite component of the noise is kept, as in
            PDLT (B.26).
    """

    gamma: float | None
    nu: float
    second: float

    @property
    def aspect_ratio(self) -> float:
        """The optimal depth/width, for one output."""
        return 4 / ((20 + 3 * OUTPUTS) * self.nu)

    @property
    def published(self) -> float:
        """The optimal depth/width of the recursion that is published."""
        return 4 / ((20 + 3 * OUTPUTS) * self.second)


@dataclass(frozen=True, repr=False)
class GrowthCurve(Shown):
    """nu along the weight of the skip connection.

    Args:
        rows: by increasing gamma.
        edge: the first term of nu for gamma to 1, where it is known.
    """

    rows: tuple[GrowthRow, ...]
    edge: sp.Expr | None = None

    def _title(self) -> str:
        return "nu, the growth of V/K^2 for each layer at criticality"

    def _facts(self) -> list[Fact]:
        """Growth and optimal aspect ratio of some rows, and the limit."""
        facts = []
        for row in self.at(*_SHOWN):
            values = f"nu = {row.nu:.6g}, optimal depth/width {row.aspect_ratio:.6g}"
            facts.append(Fact("" if row.gamma is None else f"gamma = {row.gamma:g}", values))
        if self.edge is not None:
            facts.append(Fact("gamma to 1", f"nu ~ {self.edge}", rf"\nu \sim {latex(self.edge)}"))
        return facts

    def at(self, *gammas: float) -> Iterator[GrowthRow]:
        """The rows nearest to some gamma; the only one of a layer without gamma."""
        for gamma in gammas if self.rows[0].gamma is not None else (0.0,):
            yield min(self.rows, key=lambda row: abs((row.gamma or 0.0) - gamma))

    def weights_of(self, ratio: float) -> list[float]:
        """The skip weights at which a depth/width is optimal, between the rows by interpolation in 1/r*."""
        weights, wanted = [], 1 / ratio
        for one, other in pairwise(self.rows):
            low, high = 1 / one.aspect_ratio, 1 / other.aspect_ratio
            if one.gamma is not None and other.gamma is not None and min(low, high) <= wanted < max(low, high):
                weights.append(one.gamma + (other.gamma - one.gamma) * (wanted - low) / (high - low))
        return weights


@dataclass(frozen=True)
class VertexFormulas:
    """``P' = chi^2 P + N + 2 sum_k A_k M(K_k, K, C_k)``, ``G' = chi m^2 G + R``, ``V = P + 2 G``."""

    noise: sp.Expr  # N, the variance of what one neuron adds to n times the next kernel
    memory_noise: sp.Expr  # M, its covariance between an earlier layer and this one; 0 where neurons remember nothing
    stream_noise: sp.Expr  # R, its covariance with the square of the neuron's next stream
    weight: sp.Expr  # m, of a neuron in the next stream
    steps: tuple[tuple[sp.Symbol, sp.Expr], ...]  # (symbol, definition) of what stands inside of averages


@dataclass(frozen=True, repr=False)
class Response(Shown):
    """Derivatives in the kernel of the input, from layer to layer (Fischer, Dahmen, Helias (51) to (55)).

    Of one input numbers; of two inputs arrays of shape (3, 3): row and column are K11, K12 and K22.

    Args:
        eta: ``[1, eta^1, ..., eta^L]``, of what the layer adds to the stream's kernel, ``K^l - gamma^2 K^{l-1}``.
        chi: ``[1, chi^1, ..., chi^L]``, of the stream's kernel, ``dK^l/dK^0``.
        chi_out: of the kernel of the output, after the readout.
    """

    eta: list[Value]
    chi: list[Value]
    chi_out: Value

    @property
    def parts(self) -> tuple[list[Value], list[Value], Value]:
        """(eta, chi, chi_out)."""
        return self.eta, self.chi, self.chi_out

    def _title(self) -> str:
        return f"response of {len(self.chi) - 1} layers to the kernel of their input"

    def _facts(self) -> list[Fact]:
        rows = [
            ("eta", self.eta[-1], "of what the last layer adds to the kernel that its skip connection keeps"),
            ("chi", self.chi[-1], "of the kernel of the stream after the last layer"),
            ("chi_out", self.chi_out, "of the kernel of the output, after the readout"),
        ]
        facts = [fact for name, value, meaning in rows for fact in _explained(name, value, meaning)]
        is_single = isinstance(self.chi_out, float)
        return facts if is_single else [*facts, Fact("rows, columns", "K11, K12, K22 after and before")]


def _explained(name: str, value: Value, meaning: str) -> list[Fact]:
    """A number with its meaning behind it; a matrix row by row below."""
    if isinstance(value, float):
        return [Fact(name, f"{value:.12g}, {meaning}")]
    rows = (", ".join(f"{entry:.6g}" for entry in row) for row in value)
    return [Fact(name, meaning), *(Fact("", row) for row in rows)]


@dataclass(frozen=True, repr=False)
class ResponseDecay(Shown):
    """``eta^l ~ l**-exponent`` after many layers, whatever the kernel of the input is.

    Args:
        exponent: of eta.
        ratio: ``eta^l/chi^l ~ ratio*l**-order``.
        order: the power in that.
    """

    exponent: sp.Expr
    ratio: sp.Expr
    order: sp.Expr

    def _title(self) -> str:
        return "response after many layers l"

    def _facts(self) -> list[Fact]:
        depth = sp.Symbol("l", positive=True)
        return [
            Fact("", f"eta ~ {depth**-self.exponent}", rf"\eta \sim {latex(depth**-self.exponent)}"),
            Fact("", f"eta/chi ~ {self.ratio * depth**-self.order}"),
        ]


def data_frame(rows: Sequence[Mapping[str, object]], what: str, columns: Sequence[str] | None = None) -> DataFrame:
    """A table of pandas.

    Args:
        rows: numbers and words by the names of the columns.
        what: it is of, for the message.
        columns: in order; None: those of the first row.

    Raises:
        SymresError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise SymresError(f"the table of {what}", "pandas is missing", "pip install symres[torch]") from None
    return pd.DataFrame(rows, columns=columns)


def row_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass as a row of a table; behind a number that has one its error, in ``NAME_error``."""
    row: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        row[field.name] = float(value) if isinstance(value, float) else value
        if isinstance(value, EstimatedNumber):
            row[f"{field.name}_error"] = value.error
    return row
