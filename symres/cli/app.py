"""The command line's parts that all commands share: the application, its options, its JSON documents."""

from __future__ import annotations

import gc
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..core.errors import DeclarationError
from ..report.text.console import Output

FORMAT = 1  # of JSON documents: raised when a key changes its meaning
_NEW_OBJECTS = 200_000  # before garbage is looked for: Python's own 700 make a seventh of a derivation, with few cycles

_EXAMPLES = """\b
Examples:
  symres derive gelu --layer residual
  symres derive "z*tanh(log(1 + exp(z)))" --out mish
  symres derive leaky_relu --set slope=0.01 --json
  symres export relu --quantity covariance_map --target torch --out relu.py
  symres check silu --layer residual
  symres solve swish --target K=1 --for beta

\b
Exit codes: 0 done, 1 a check refutes a result, 2 wrong use or bad input,
3 no closed form (export), inconclusive (check) or no solution (solve)."""

FORMULAS = """\b
A formula is made of z (or x), numbers, pi, + - * / ^ ( ) and |z|, the names
of activations as functions, such as gelu(z)*elu(z), and
  exp log ln sqrt abs sign step max min clip erf erfc Phi sigmoid softplus
  sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
  where(z > 0, a, b)   a where the comparison holds, b elsewhere; it nests

\b
Any other name is a parameter, and needs a number or stays a positive symbol:
  symres derive "where(z > 1, z - 1, where(z < -1, a*(z + 1), 0))" --set a=1/2
  symres derive "tanh(a*z)" --positive a"""

_ORDER = ("derive", "check", "export", "plot", "compare", "solve", "literature", "list", "show", "torch", "cache")


class _InOrder(TyperGroup):
    """Commands in the order in which people need them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=_ORDER.index)


app = typer.Typer(
    name="symres",
    cls=_InOrder,
    help="Derive the theory of deep networks from a formula: kernels, susceptibilities, criticality, code.",
    epilog=_EXAMPLES,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)
Name = Annotated[str, typer.Argument(metavar="ACTIVATION", help="A name ('symres list') or a formula: 'z*tanh(z)'.")]
Subject = Annotated[
    str,
    typer.Argument(
        metavar="ACTIVATION", help="A name ('symres list'), a formula: 'z*tanh(z)', or a layer: 'z + Dense(gelu(z))'."
    ),
]
_LAYER = typer.Option(
    "--layer",
    metavar="NAME",
    help="The layer of the activation ('symres list'), or its equation: 'z/2 + Dense(phi(LayerNorm(z)))'.",
)
LayerName = Annotated[str, _LAYER]
LayerNameOrNone = Annotated[str | None, _LAYER]  # of `LayerName | None` typer would not see the option
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A number for a parameter: gamma=1/2. May be repeated."),
]
Positive = Annotated[
    list[str] | None,
    typer.Option("--positive", metavar="NAME", help="Keep a parameter of the formula as a positive symbol."),
]
Tokens = Annotated[
    str | None, typer.Option("--tokens", metavar="NUMBER", help="Tokens of each input; else a symbol T, 16 in numbers.")
]
# as text: a path would turn an empty word into the folder where the user stands
OutFile = Annotated[str | None, typer.Option("--out", metavar="FILE", help="Write to a file.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
OutFolder = Annotated[
    str | None, typer.Option("--out", metavar="DIR", help="Write LaTeX, JSON, plots and modules to a folder.")
]

NO_CACHE = "--no-cache"  # taken out of the words before typer sees them, so that it may stand anywhere


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    no_cache: Annotated[
        bool, typer.Option(NO_CACHE, help="Neither use nor keep results on disk; may follow a command.")
    ] = False,
) -> None:
    if version:
        from .. import __version__

        Output().text(f"symres {__version__}")
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        Output().text(context.get_help())


def place(out: str | None, kind: str) -> Path | None:
    """Where to write, if anywhere.

    Raises:
        DeclarationError: an empty word.
    """
    if out is not None and not out.strip():
        raise DeclarationError("--out", "its value is empty", f"name {kind}")
    return None if out is None else Path(out)


def collect_seldom() -> None:
    """Look for cycles of unused objects less often: a process that ends after one command has little garbage."""
    gc.set_threshold(_NEW_OBJECTS, 20, 50)


def print_json(document: dict[str, Any]) -> None:
    """Print a JSON document, the number of its format in front."""
    Output().text(dumps({"format": FORMAT, **document}, indent=2, allow_nan=False, ensure_ascii=False))
