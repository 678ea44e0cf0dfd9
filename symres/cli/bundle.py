"""The files of ``symres derive --out``."""

from __future__ import annotations

from pathlib import Path

from ..errors import DeclarationError
from ..export import export
from ..export.document import document
from ..export.figure import SUFFIXES, curves, draw
from ..export.files import write_text
from ..export.record import dumps
from ..report import Report
from ..theory.derive import Theory
from .request import Request


def write_bundle(request: Request, theory: Theory, report: Report, folder: Path) -> tuple[str, ...]:
    """Write a derivation, its record, the plots and the modules to a folder.

    Returns:
        what could not be written and why: a plot needs numbers for all parameters of the activation.
    """
    write_text(folder / "derivation.tex", document(report))
    write_text(folder / "results.json", dumps(report))
    title = f"{request.phi.name} in the layer {request.layer.name}."
    for target in ("numpy", "torch"):
        module = export(theory, target, title=title, command=request.command("export", "--target", target))
        module.write(folder / f"{request.phi.identifier}_{target}.py")
    try:
        drawn = curves(report)
    except DeclarationError as error:
        return (f"maps{' and maps'.join(SUFFIXES)} were not drawn: {error.found}; {error.remedy}",)
    for suffix in SUFFIXES:
        draw(folder / f"maps{suffix}", drawn)
    return ()
