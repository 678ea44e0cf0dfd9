"""The command ``symres torch gain``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import DeclarationError
from ..report.text.console import Output, busy
from .app import Json, Name, Settings, print_json
from .torch_commands import torch_app

if TYPE_CHECKING:
    from ..torch.gains.gain_number import Gain


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
    from ..torch.gains.gain_number import gain_record, gain_table
    from ..torch.gains.layer_averages import subject
    from .request import chosen

    if convention is not None:
        require_convention(convention)
    phi = subject(chosen(activation, settings or []), {}).activation
    found: dict[str, Gain | str] = {}
    for name in (convention,) if convention is not None else ("critical", "forward", "backward", "centred", "torch"):
        with busy(f"the {name} gain of {phi.name}"):
            try:
                found[name] = gain_of(phi, name)
            except DeclarationError as error:
                if convention is not None:
                    raise
                found[name] = error.found
    output = Output()
    if json:
        print_json(gain_record(phi.name, found))
    else:
        output.lines(gain_table(phi.name, found, output.width, output.unicode))
