"""The commands for PyTorch models of one's own, ``symres torch``; PyTorch is imported by the command that needs it."""

from __future__ import annotations

import importlib
import math
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import DeclarationError, SymresError
from ..report.text.console import Output, busy, complain
from .app import Json, Name, Settings, app, place, print_json
from .staging import places, staged

if TYPE_CHECKING:
    from ..torch import Measurement
    from ..torch.gains.gain_number import Gain
    from ..torch.models.call_arguments import Inputs

_LONGEST = 200  # characters of somebody else's message

torch_app = typer.Typer(
    name="torch",
    help="Theory and measurement of your PyTorch models.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(torch_app)


@torch_app.callback(invoke_without_command=True)
def _torch(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        Output().text(context.get_help())


@torch_app.command()
def measure(
    factory: Annotated[
        str, typer.Argument(metavar="MODULE:FUNCTION", help="A function without arguments that builds the model.")
    ],
    inputs: Annotated[
        str,
        typer.Option(
            "--inputs",
            metavar="SHAPE|MODULE:FUNCTION",
            help="A shape, 16,784 for 16 inputs of 784 normal numbers; or a function that returns inputs.",
        ),
    ],
    blocks: Annotated[
        list[str] | None,
        typer.Option("--blocks", metavar="PATTERN", help="Modules by name: 'h.*'; default: blocks. May be repeated."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Number of networks drawn.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Seed of random numbers.")] = 0,
    probes: Annotated[int, typer.Option("--probes", help="Random directions per Jacobian norm.")] = 8,
    start: Annotated[
        str | None, typer.Option("--start", metavar="PLACE", help="Place where forward Jacobians begin.")
    ] = None,
    mode: Annotated[str, typer.Option("--mode", help="Mode of the model: eval or train.")] = "eval",
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Write table, JSON and figure to a folder.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure kernels and Jacobian norms of a model, place by place.

    With --out: signals.csv, signals.json and signals.png, all of them or none.
    """
    folder = place(out, "a folder")
    st = importlib.import_module("symres.torch")
    build = _found(factory, "the model")
    if isinstance(build, importlib.import_module("torch").nn.Module):
        raise DeclarationError(f"the model {factory!r}", "it is a model already", "name a function that builds it")
    model = partial(_called, build, "the model", factory)
    samples = _inputs(inputs, seed)

    def measured() -> Measurement:
        import warnings

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            result: Measurement = st.measure(
                model, samples, blocks or None, seeds=seeds, seed=seed, probes=probes, start=start, mode=mode
            )
        for warning in caught:
            if str(warning.message) in result.notes:
                complain(f"warning: {warning.message}")
        return result

    with nullcontext() if folder is None else staged(folder) as path:
        result, output = measured(), Output()
        lines = [result.to_json()] if json else _table(result, output.width)
        if folder is not None and path is not None:
            _write(result, path)
            lines += [] if json else ["", *(f"wrote {file}" for file in places(path, folder))]
    output.text("\n".join(lines))


@torch_app.command()
def gain(
    activation: Name,
    convention: Annotated[
        str | None,
        typer.Option("--convention", metavar="NAME", help="critical, forward, backward, centred, torch; default: all."),
    ] = None,
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Print the gain of an activation in each convention, and why."""
    if find_spec("torch") is None:
        raise DeclarationError("symres torch", "PyTorch is not installed", "install it: pip install 'symres[torch]'")
    from ..torch.gains.gain import gain as gain_of
    from ..torch.gains.gain import require_convention
    from ..torch.gains.gain_number import gain_entries, gain_table
    from ..torch.gains.layer_averages import subject
    from .request import chosen

    if convention is not None:
        require_convention(convention)
    phi = subject(chosen(activation, settings or []), {}).activation
    gains: dict[str, Gain | str] = {}
    for name in (convention,) if convention is not None else ("critical", "forward", "backward", "centred", "torch"):
        with busy(f"the {name} gain of {phi.name}"):
            try:
                gains[name] = gain_of(phi, name)
            except DeclarationError as error:
                if convention is not None:
                    raise
                gains[name] = error.found
    entries = gain_entries(gains)
    if json:
        return print_json({"activation": phi.name, "gains": {name: entry.record for name, entry in entries.items()}})
    output = Output()
    output.lines(gain_table(phi.name, entries, output.width, output.unicode))


def _write(result: Measurement, folder: Path) -> None:
    from ..core.files import write_text
    from ..report.figures.style import METADATA

    write_text(folder / "signals.csv", result.frame().to_csv(index=False))
    write_text(folder / "signals.json", result.to_json() + "\n")
    result.plot().savefig(folder / "signals.png", dpi=150, metadata=METADATA[".png"])


def _table(result: Measurement, width: int) -> list[str]:
    """The main columns, with standard errors; places with long names have a line of their own."""
    head = ("kernel", "cosine", "J forward", "J backward")
    rows: list[tuple[str, tuple[str, ...]]] = [("place", head)]
    for signal in result.places:
        numbers = (signal.kernel, signal.cosine, signal.apjn_forward, signal.apjn_backward)
        rows.append((signal.name, tuple(_number(n, n.error) for n in numbers)))
    column = 2 + max(len(cell) for _, cells in rows for cell in cells)
    label = max(len(name) for name, _ in rows)
    fits = label + len(head) * column <= width
    lines = []
    for name, cells in rows:
        shown = "".join(f"{cell:>{column}s}" for cell in cells)
        lines += [f"{name:{label}s}{shown}"] if fits else [name, shown]
    networks = "1 network" if result.networks == 1 else f"{result.networks} networks"
    notes = [
        f"{networks}, {result.inputs} inputs, {result.mode} mode; +- is a standard error over {result.errors_over}",
        f"J forward: squared Jacobian norm from {result.start} to the place; {result.forward_method}",
        f"J backward: from the place to the output; {result.backward_method}",
    ]
    with suppress(DeclarationError):  # too few places for a fit
        fit = result.fit()
        length, rate = fit.correlation_length, float(fit.rate)
        notes.append(
            f"growth of J forward: {fit.verdict}; a factor {math.exp(rate):.4g} for each place, "
            f"correlation length {_number(length, length.error)} places"
        )
    return [*lines, "", *(row for note in notes for row in textwrap.wrap(note, width, subsequent_indent="  "))]


def _number(value: float, error: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.4g}" + ("" if math.isnan(error) else f" +- {error:.1g}")


def _inputs(text: str, seed: int) -> Inputs:
    """Normal numbers of a shape, or what a function of the user returns."""
    import torch

    words = text.split(",")
    if all(word.strip().isdigit() for word in words):
        shape = [int(word) for word in words]
        if 0 in shape:
            raise DeclarationError(f"--inputs {text}", "this shape is empty", "use numbers above 0")
        return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    made = _called(_found(text, "the inputs"), "the inputs", text)
    if isinstance(made, (torch.Tensor, tuple, dict)):
        return made
    found = f"it returned an object of the type {type(made).__name__}"
    raise DeclarationError(f"--inputs {text}", found, "return a tensor, tuple or dict")


def _found(path: str, what: str) -> Callable[[], object]:
    """The function that is named by ``package.module:function``, looked up from the folder where the user stands."""
    name, _, attribute = path.partition(":")
    if not name or not attribute:
        raise DeclarationError(f"{what} {path!r}", "it is not a function", "write package.module:function")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    with _users_code(f"{what} {path!r}", f"importing {name}", "name a module that can be imported here"):
        found: object = importlib.import_module(name)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise DeclarationError(f"{what} {path!r}", f"{name} has no function {attribute}", "check the name")
    return found


def _called(function: Callable[[], object], what: str, path: str) -> object:
    """What a function of the user returns."""
    with _users_code(f"{what} {path!r}", "calling it", "name a function that runs without arguments"):
        return function()


@contextmanager
def _users_code(asked: str, doing: str, remedy: str) -> Iterator[None]:
    """Around code of the user, whose errors become one line."""
    try:
        yield
    except SymresError:
        raise
    except Exception as error:  # whatever it raises
        line = f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}".rstrip(": ")
        raise DeclarationError(asked, f"{doing} raised {line}", remedy) from error
