"""``symres export``: a theory as code or LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...codegen.targets import packages
from ...core.errors import DeclarationError, NoClosedForm
from ...report.text.console import Output, busy, complain
from ..app import FORMULAS, Json, LayerName, OutFile, Positive, Settings, Subject, Tokens, app, place, print_json

if TYPE_CHECKING:
    from ...results.observable import Procedure
    from ...results.quantity import Quantity
    from ...theory.theory import Theory


@app.command(epilog=FORMULAS)
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
            "--target", metavar="NAME", help=f"{', '.join(packages())}, latex, or one of an installed package."
        ),
    ] = "numpy",
    settings: Settings = None,
    positive: Positive = None,
    tokens: Tokens = None,
    prefix: Annotated[
        str | None,
        typer.Option("--prefix", metavar="NAME", help="What names in C begin with; default: activation and layer."),
    ] = None,
    out: OutFile = None,
    json: Json = False,
) -> None:
    """Generate a module for NumPy, PyTorch, Numba, C or JAX, or LaTeX."""
    from dataclasses import replace

    from ...codegen.module import require_places
    from ...report.export import default_prefix, require_prefix, require_target
    from ...report.export import export as generate
    from ...theory.theory import derive as theory_of
    from ..request import make

    require_target(target, f"--target {target}")
    names = list(dict.fromkeys(quantities or []))
    path = place(out, "a file")
    request = replace(make(activation, layer, settings or [], positive=positive or []), tokens=tokens)
    if path is not None:
        require_places(path, target)
    require_prefix(prefix or "", target)
    with busy(f"deriving {request.subject}"):
        theory = theory_of(request.layer, positions=request.positions)
        chosen = _exported(theory, names)
        options = [word for name in names for word in ("--quantity", name)] + ["--target", target]
        options += [] if prefix is None else ["--prefix", prefix]
    begins = default_prefix(theory, target) if prefix is None else prefix
    title = f"{request.subject}."
    module = generate(chosen, target, title=title, command=request.command("export", *options), prefix=begins)
    file = None if path is None else module.write(path)
    if json:
        about = {"target": target, "functions": module.functions, "missing": module.missing}
        written = {"warnings": module.warnings, "file": None if file is None else str(file)}
        return print_json({**about, **written, "text": module.text})
    for notice in [*(f"left out: {lacks}" for lacks in module.missing), *(f"warning: {w}" for w in module.warnings)]:
        complain(notice)
    Output().text(module.text.rstrip("\n") if file is None else f"wrote {file}")


def _exported(theory: Theory, names: list[str]) -> Theory | Procedure | dict[str, Quantity]:
    """What is exported: the quantities with these names, one procedure, or all of a page.

    Raises:
        DeclarationError: an unknown name, or a procedure together with something else.
        NoClosedForm: a quantity is unknown.
    """
    from ...results.observable import DepthObservable
    from ...results.quantity import Status
    from ..request import observable

    chosen: dict[str, Quantity] = {}
    for record in [observable(theory, name) for name in names]:
        if isinstance(record, DepthObservable):
            if len(names) > 1:
                asked, says = f"--quantity {' --quantity '.join(names)}", f"{record.name} fills a module by itself"
                raise DeclarationError(asked, says, "export one after the other")
            assert record.procedure is not None
            return record.procedure(theory)
        chosen[record.name] = theory.quantity(record.name)
        if chosen[record.name].status is Status.UNKNOWN:
            raise NoClosedForm(f"code for {record.name}", chosen[record.name].reason, "export another quantity")
    return chosen or theory
