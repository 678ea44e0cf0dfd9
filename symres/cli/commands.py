"""The commands. Everything heavy is imported by the command that needs it, so that help and lists are instant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import DeclarationError, NoClosedForm
from ..report.text.console import Line, Output, Span, busy, complain, line
from ..results.advice.sizes import DEPTH, WIDTH
from .torch_commands import torch_app

if TYPE_CHECKING:
    from ..results.numbers.procedure import Procedure
    from ..results.observable import Observable
    from ..results.quantity import Quantity
    from ..results.report import Report
    from ..theory.theory import Theory
    from .kept_pages import KeptPage
    from .request import Request

_EXAMPLES = """\b
Examples:
  symres derive gelu --layer residual
  symres derive "z*tanh(log(1 + exp(z)))" --out mish
  symres derive leaky_relu --set slope=0.01 --json
  symres export relu --quantity covariance_map --target torch --out relu.py
  symres check silu --layer residual

\b
Exit codes: 0 done, 1 a check refutes a result, 2 wrong use or bad input,
3 no closed form (export) or inconclusive (check)."""

_FORMULAS = """\b
A formula is made of z (or x), numbers, pi, + - * / ^ ( ) and |z|, the names
of activations as functions, such as gelu(z)*elu(z), and
  exp log ln sqrt abs sign step max min erf erfc Phi sigmoid softplus
  sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
  where(z > 0, a, b)   a where the comparison holds, b elsewhere; it nests

\b
Any other name is a parameter, and needs a number or stays a positive symbol:
  symres derive "where(z > 1, z - 1, where(z < -1, a*(z + 1), 0))" --set a=1/2
  symres derive "tanh(a*z)" --positive a"""

app = typer.Typer(
    name="symres",
    help="Derive the theory of deep networks from a formula: kernels, susceptibilities, criticality, code.",
    epilog=_EXAMPLES,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(torch_app)

Name = Annotated[str, typer.Argument(metavar="ACTIVATION", help="A name ('symres list') or a formula: 'z*tanh(z)'.")]
Subject = Annotated[
    str,
    typer.Argument(
        metavar="ACTIVATION", help="A name ('symres list'), a formula: 'z*tanh(z)', or a layer: 'z + Dense(gelu(z))'."
    ),
]
LayerName = Annotated[
    str,
    typer.Option(
        "--layer",
        metavar="NAME",
        help="The layer of the activation ('symres list'), or its equation: 'z/2 + Dense(phi(LayerNorm(z)))'.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A number for a parameter: gamma=1/2. May be repeated."),
]
Positive = Annotated[
    list[str] | None,
    typer.Option("--positive", metavar="NAME", help="Keep a parameter of the formula as a positive symbol."),
]
# as text: a path would turn an empty word into the folder where the user stands
OutFile = Annotated[str | None, typer.Option("--out", metavar="FILE", help="Write to a file.")]
OutFolder = Annotated[
    str | None, typer.Option("--out", metavar="DIR", help="Write LaTeX, JSON, plots and modules to a folder.")
]

_ORACLES = ("quadrature", "simulation")
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


@app.command("list")
def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[activations|layers|quantities|averages|criticality]", help="Default: activations and layers."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="For averages, criticality: an activation or formula; default: many."),
    ] = None,
    settings: Settings = None,
    json: Annotated[bool, typer.Option("--json", help="For averages, criticality: print a JSON document.")] = False,
) -> None:
    """List activations, layers and quantities by name, or averages and critical points."""
    from ..report.text import catalogue_tables

    kinds = {"activations": catalogue_tables.activation_table, "layers": catalogue_tables.layer_table}
    computed = ("averages", "criticality")
    if what is not None and what not in (*kinds, "quantities", *computed):
        known = " or ".join((*kinds, "quantities", *computed))
        raise DeclarationError(f"list {what}", "unknown list", f"use {known}")
    if what in computed:
        from .surveys import list_averages, list_criticality

        return (list_averages if what == "averages" else list_criticality)(name, settings or [], json)
    for option, given in ((name, name is not None), ("--set", bool(settings)), ("--json", json)):
        if given:
            asked = " ".join(filter(None, ("list", what, option)))
            found = "only the lists of averages and of criticality take a name, --set and --json"
            raise DeclarationError(asked, found, f"leave out {option}, or write: symres list averages gelu")
    out = Output()
    if what == "quantities":
        from ..report.text.quantity_table import quantity_table  # apart: observables need NumPy

        return out.lines(quantity_table(out.width, out.unicode))
    for position, (kind, table) in enumerate(kinds.items()):
        if what in (None, kind):
            out.lines([line("")] * (position > 0 and what is None) + table(out.width, out.unicode))


@app.command()
def cache(clear: Annotated[bool, typer.Option("--clear", help="Remove all results.")] = False) -> None:
    """Show where results are kept between runs and how many, or remove them."""
    from ..core.cache.disk_cache import DiskCache, default_folder

    folder = default_folder()
    if folder is None:
        return Output().text("no results are kept: there is no home folder, and SYMRES_CACHE_DIR is not set")
    kept = DiskCache(folder)
    if obstacle := kept.obstacle():
        return Output().text(f"no results are kept: {kept.folder}: {obstacle}")
    if clear:
        return Output().text(f"removed {kept.clear()} files from {kept.folder}")
    files, size = kept.size()
    Output().text(f"{kept.folder}: {files} files, {size / 2**20:.1f} of at most {kept.most_bytes / 2**20:.0f} MB")


@app.command(epilog=_FORMULAS)
def plot(
    activation: Subject,
    layer: LayerName = "mlp",
    settings: Settings = None,
    x: Annotated[str | None, typer.Option("--x", metavar="NAME=LOW:HIGH", help="The horizontal axis: C_W=0:4.")] = None,
    y: Annotated[str | None, typer.Option("--y", metavar="NAME=LOW:HIGH", help="The vertical axis: gamma=0:1.")] = None,
    quantity: Annotated[
        str, typer.Option("--quantity", metavar="NAME", help="Colours: chi_perp, or a depth scale, xi_q or xi_c.")
    ] = "chi_perp",
    points: Annotated[int, typer.Option("--points", help="Number of values on each axis.")] = 300,
    kernel: Annotated[str, typer.Option("--kernel", metavar="NUMBER", help="The kernel of the input.")] = "1",
    out: OutFile = None,
) -> None:
    """Draw the phase diagram: chi_perp or a depth scale over two parameters, with critical lines and points."""
    from ..core.files import require_place
    from ..core.progress import Bar
    from ..report.figures.phase_diagram import MOST_POINTS, phase_diagram, require_quantity
    from ..report.figures.style import format_of
    from ..theory.theory import derive as theory_of
    from .request import axis, make

    if points > MOST_POINTS:  # before anything is derived
        raise DeclarationError(
            f"--points {points}", f"{points}^2 values need too much memory", f"use {MOST_POINTS} or fewer"
        )
    require_quantity(quantity)
    axes = axis(x), axis(y)
    request = make(activation, layer, settings or [], free=[given for given in axes if given is not None])
    path = place(out, "a file") or Path(f"{request.stem}_{request.layer_stem}_phases.png")
    format_of(path)
    require_place(path)
    with busy(f"deriving {request.title} in the layer {request.layer.name}"):
        theory = theory_of(request.layer)
        advice = theory.advice()
    with Bar("phase diagram") as progress:
        drawn = phase_diagram(
            theory, *axes, quantity=quantity, points=points, K=kernel, advice=advice, progress=progress
        )
    Output().text(f"wrote {drawn.save(path)}")


@app.command(epilog=_FORMULAS)
def show(activation: Name, settings: Settings = None) -> None:
    """Show the facts of an activation."""
    from ..report.text import catalogue_tables
    from .request import chosen

    out = Output()
    out.lines(catalogue_tables.facts_page(chosen(activation, settings or []), out.width, out.unicode))


@app.command(short_help="Derive and print kernels, susceptibilities, critical points.", epilog=_FORMULAS)
def derive(
    activation: Subject,
    layer: LayerName = "mlp",
    settings: Settings = None,
    positive: Positive = None,
    out: OutFolder = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of the page.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print the proofs, step by step.")] = False,
    depth: Annotated[int, typer.Option("--depth", metavar="LAYERS", help="Depth for which to advise.")] = DEPTH,
    width: Annotated[int, typer.Option("--width", metavar="NEURONS", help="Width for which to advise.")] = WIDTH,
    inputs_kernel: Annotated[
        str | None, typer.Option("--inputs-kernel", metavar="NUMBER", help="Mean square of the inputs, for advice.")
    ] = None,
) -> None:
    """Derive kernels, susceptibilities and critical points of a layer, and print them."""
    if json and explain:
        raise DeclarationError("--json and --explain", "they exclude each other", "choose one")
    from ..core.work_budget import factor
    from ..studies.advice.network_sizes import require_size
    from .kept_pages import layer_key, look, recalled
    from .request import make

    require_size(depth, width, inputs_kernel)
    folder = place(out, "a folder")
    request = make(activation, layer, settings or [], positive=positive or [])
    output = Output()
    sizes = _sizes(depth, width, inputs_kernel)

    def page() -> KeptPage:
        return _derived(request, folder, sizes, (depth, width, inputs_kernel), output, json=json, explain=explain)

    if folder is None and (declared := layer_key(request.layer)) is not None:
        shown = (f"derive {factor()}", request.title, request.command("derive", *sizes), request.source)
        found = recalled((*shown, *declared, str(json), str(explain), *look(output)), page)
    else:
        found = page()
    output.lines(found.lines)
    raise typer.Exit(found.code)


def _derived(
    request: Request,
    folder: Path | None,
    sizes: list[str],
    network: tuple[int, int, str | None],
    output: Output,
    *,
    json: bool,
    explain: bool,
) -> KeptPage:
    """Derive what is asked for, write the files if there is a folder for them, and lay out the page.

    Args:
        request: the layer.
        folder: of the files; None for the page alone.
        sizes: the options that say for which networks the advice is.
        network: their depth, width and the mean square of their inputs.
        output: where the page will go.
        json: lay out one JSON document instead.
        explain: print the proofs.
    """
    from contextlib import nullcontext
    from dataclasses import replace
    from json import dumps

    from ..core.work_budget import Stage, limited
    from .kept_pages import KeptPage
    from .staging import Staging

    with nullcontext() if folder is None else Staging(folder) as staging, limited(Stage.PAGE, ends=False):
        with busy(f"deriving {request.title} in the layer {request.layer.name}"):
            theory, report = _report(request)
            report = replace(report, advice=theory.advice(*network))
            if sizes:
                report = replace(report, command=request.command("derive", *sizes))
            missing: tuple[str, ...] = ()
            if staging is not None:
                from .bundle import write_bundle

                missing = write_bundle(request, theory, report, staging.path)
            if json:
                from ..report.record import record

                shown: list[Line] = [
                    line(text) for text in dumps(record(report), indent=2, allow_nan=False).splitlines()
                ]
            else:
                from ..report.text.page import Page

                page = Page(report, request.phi, output.width, output.unicode)
                files = [] if staging is None else staging.places()
                shown = page.lines(files, missing, explain)
        if staging is not None:
            staging.commit()  # when nothing is left that could fail
    return KeptPage(shown, _code(report))


@app.command(epilog=_FORMULAS)
def export(
    activation: Subject,
    layer: LayerName = "mlp",
    quantities: Annotated[
        list[str] | None,
        typer.Option(
            "--quantity",
            metavar="NAME",
            help="From 'symres list quantities'; default: those of a page. May be repeated.",
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            "--target", metavar="NAME", help="numpy, torch, numba, c, jax, latex, or one of an installed package."
        ),
    ] = "numpy",
    settings: Settings = None,
    positive: Positive = None,
    prefix: Annotated[
        str | None,
        typer.Option("--prefix", metavar="NAME", help="What names in C begin with; default: activation and layer."),
    ] = None,
    out: OutFile = None,
) -> None:
    """Generate a module for NumPy, PyTorch, Numba, C or JAX, or LaTeX."""
    from ..codegen.module import require_places
    from ..report.export import export as generate
    from ..report.export import require_target
    from ..report.prefixes import default_prefix, require_prefix
    from ..theory.theory import derive as theory_of
    from .request import make

    require_target(target, f"--target {target}")
    names = list(dict.fromkeys(quantities or []))
    path = place(out, "a file")
    request = make(activation, layer, settings or [], positive=positive or [])
    if path is not None:
        require_places(path, target)
    require_prefix(prefix or "", target)
    with busy(f"deriving {request.title} in the layer {request.layer.name}"):
        theory = theory_of(request.layer)
        chosen = _exported(theory, names)
        options = [word for name in names for word in ("--quantity", name)] + ["--target", target]
        options += [] if prefix is None else ["--prefix", prefix]
        begins = default_prefix(theory, target) if prefix is None else prefix
        title = f"{request.title} in the layer {request.layer.name}."
        module = generate(chosen, target, title=title, command=request.command("export", *options), prefix=begins)
    for warning in module.warnings:
        complain(f"warning: {warning}")
    if path is None:
        Output().text(module.text.rstrip("\n"))
    else:
        Output().text(f"wrote {module.write(path)}")


@app.command(short_help="Check a theory by quadrature and simulation.", epilog=_FORMULAS)
def check(
    activation: Subject,
    layer: LayerName = "mlp",
    settings: Settings = None,
    positive: Positive = None,
    against: Annotated[
        list[str] | None, typer.Option("--against", metavar="ORACLE", help="quadrature or simulation; default: both.")
    ] = None,
    quantities: Annotated[
        list[str] | None,
        typer.Option("--quantity", metavar="NAME", help="From 'symres list quantities'; default: all. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
) -> None:
    """Check every derived quantity against independent quadrature and simulated networks."""
    from ..check import Outcome
    from ..check import check as compare
    from ..theory.theory import derive as theory_of
    from .request import make

    if seed < 0:
        raise DeclarationError(f"--seed {seed}", "it is negative", "use 0, 1, 2, ...")
    oracles = tuple(dict.fromkeys(against or _ORACLES))
    for name in oracles:
        if name not in _ORACLES:
            raise DeclarationError(f"--against {name}", "unknown oracle", f"use {' or '.join(_ORACLES)}")
    request = make(activation, layer, settings or [], positive=positive or [])
    theory = theory_of(request.layer)
    with busy(f"deriving {request.title} in the layer {request.layer.name}"):
        default = (n for n, record in theory.observables.items() if record.is_measured and record.by_default)
        for name in quantities or default:
            if _known(theory, name).name in theory.observables:
                theory.quantity(name)
    report = compare(theory, against=oracles, seed=seed, quantities=quantities or None)
    output = Output()
    output.lines(_coloured(text) for text in report.table().splitlines())
    if report.outcome is not Outcome.PASSED:
        raise typer.Exit(1 if report.outcome is Outcome.REFUTED else 3)


def _coloured(text: str) -> tuple[Span, ...]:
    for word, style in (("REFUTED", "bold red"), ("INCONCLUSIVE", "bold yellow"), ("PASSED", "green")):
        if word in text:
            before, _, after = text.partition(word)
            return line(before, Span(word, style), after)
    return line(text)


def _sizes(depth: int, width: int, inputs_kernel: str | None) -> list[str]:
    """The options that are not as they are without them."""
    given = {"--depth": depth, "--width": width, "--inputs-kernel": inputs_kernel}
    usual = {"--depth": DEPTH, "--width": WIDTH, "--inputs-kernel": None}
    return [word for name, value in given.items() if value != usual[name] for word in (name, str(value))]


def _report(request: Request) -> tuple[Theory, Report]:
    """The theory's report with a quick check."""
    from dataclasses import replace

    from ..check import check as compare
    from ..report.views import known_fixed_points
    from ..results.quantity import Status
    from ..theory.theory import derive as theory_of

    theory = theory_of(request.layer)
    page = [name for name, quantity in theory.quantities.items() if quantity.status is not Status.UNKNOWN]
    checks = compare(theory, against="quadrature", points=1, quantities=page, progress=False).verdicts
    report = theory.report(request.settings, checks, request.command("derive"))
    return theory, replace(
        report,
        activation=request.title,
        instructions=request.layer.program.instructions,
        fixed_points=known_fixed_points(theory),
        source=request.source,
    )


def _code(report: Report) -> int:
    """1 if the quick check contradicts a result, 3 if something took more than its budget.

    A quantity that does not exist (h of a jump) is a finding.
    """
    from ..check import Outcome

    if any(row.outcome is Outcome.REFUTED for row in report.checks):
        return 1
    return 3 if report.given_up else 0


def _exported(theory: Theory, names: list[str]) -> Theory | Procedure | dict[str, Quantity]:
    """What is exported: the quantities with these names, one procedure, or all of a page.

    Raises:
        DeclarationError: an unknown name, or a procedure together with something else.
        NoClosedForm: a quantity is unknown.
    """
    from ..results.observable import DepthObservable
    from ..results.quantity import Status

    found: dict[str, Quantity] = {}
    for record in [_known(theory, name) for name in names]:
        if isinstance(record, DepthObservable):
            if len(names) > 1:
                asked, says = f"--quantity {' --quantity '.join(names)}", f"{record.name} fills a module by itself"
                raise DeclarationError(asked, says, "export one after the other")
            assert record.procedure is not None
            return record.procedure(theory)
        found[record.name] = theory.quantity(record.name)
        if found[record.name].status is Status.UNKNOWN:
            raise NoClosedForm(f"code for {record.name}", found[record.name].reason, "export another quantity")
    return found or theory


def _known(theory: Theory, name: str) -> Observable:
    """The record of an observable that somebody has typed."""
    from ..activations.formula_parser import nearest

    known: dict[str, Observable] = {**theory.observables, **theory.depth_observables}
    if name not in known:
        printed = next((key for key, record in known.items() if name in record.sign), None)
        guess = f"did you mean {printed}?" if printed else nearest(name, list(known))
        listed = f"{guess} choose from {', '.join(known)}".strip()
        raise DeclarationError(f"--quantity {name}", "unknown quantity", listed)
    return known[name]


def place(out: str | None, kind: str) -> Path | None:
    """Where to write, if anywhere.

    Raises:
        DeclarationError: an empty word.
    """
    if out is not None and not out.strip():
        raise DeclarationError("--out", "its value is empty", f"name {kind}")
    return None if out is None else Path(out)
