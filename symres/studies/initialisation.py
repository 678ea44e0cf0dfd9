"""How to initialise a network: what a critical point means for a training script."""

from __future__ import annotations

from dataclasses import dataclass

import mpmath as mp

from ..core.symbols import K
from ..results.critical_point import CriticalPoint
from ..results.report import Report
from . import criticality_summary
from .kernel_range import reach as reach_of

DIGITS = 9
_WIDTH = "All this holds at infinite width: finite networks scatter, the more the deeper and narrower they are."


@dataclass(frozen=True)
class Advice:
    """The variances to draw, or why there are none.

    Args:
        weight: C_W, fan-in times the variance of a weight; None without advice.
        bias: C_b, variance of a bias.
        sentences: in plain text, names of symbols as the program writes them; the first says what to draw.
    """

    weight: str | None
    bias: str | None
    sentences: tuple[str, ...]

    @property
    def code(self) -> tuple[str, ...]:
        """The lines for PyTorch, for one linear layer m."""
        if self.weight is None or self.bias is None:
            return ()
        zero = self.bias == "0"
        bias = "torch.nn.init.zeros_(m.bias)" if zero else f"torch.nn.init.normal_(m.bias, std={self.bias}**0.5)"
        return (f"torch.nn.init.normal_(m.weight, std=({self.weight}/m.in_features)**0.5)", bias)


def advice(report: Report) -> Advice | None:
    """Advice for the first critical point whose C_W and C_b are numbers; None if no critical point is known."""
    found = report.critical_points
    if not found:
        return None
    example = criticality_summary.chosen(report)
    point, chosen = (None, ()) if example is None else example
    if point is None or (point.stability == "unstable" and found[0].stability != "unstable"):
        return Advice(None, None, (_wanted(found[0]),))
    if point.stability == "unstable":
        sentence = "No advice: kernels flow away from the critical point that was found."
        return Advice(None, None, (sentence,))
    weight, bias = (_digits(criticality_summary.value(value)) for value in (point.C_W, point.C_b))
    at = f", here at {' and '.join(chosen)}" if chosen else ""
    biases = "set biases to zero" if bias == "0" else f"biases with variance C_b = {bias}"
    draw = f"Draw weights with variance C_W/fan_in, C_W = {weight}, and {biases}{at}."
    return Advice(weight, bias, (draw, *_inputs(report, point), _WIDTH))


def _wanted(point: CriticalPoint) -> str:
    """Which numbers would give advice."""
    values = (point.K, point.C_W, point.C_b)
    names = {s.name for e in values for s in e.free_symbols - {K, point.along}}
    free = names - {"gamma", "xi"}
    if not names:
        return "No advice: no C_W > 0 with C_b >= 0 was found at the places of the line that were tried."
    if not free:
        where = "without a skip connection: give gamma" if "gamma" in names else "at xi = 1: give xi"
        return f"No C_W > 0 with C_b >= 0 is critical {where} its number."
    return f"Give {' and '.join(f'{name} (--set {name}=...)' for name in sorted(free))} a number."


def _inputs(report: Report, point: CriticalPoint) -> tuple[str, ...]:
    """How to scale the inputs."""
    if point.K == K:
        return ("Inputs may have any scale: every kernel is kept.",)
    start = criticality_summary.value(point.K)
    if start is None:
        return ()
    if start:
        return (f"Scale the inputs so that the first preactivations have variance {_digits(start)}.",)
    reach = reach_of(report, point) if point.stability == "stable" else None
    if reach is None:
        return ()
    found = [
        f"Scale the inputs so that the first preactivations have variance {float(reach.kept):g} or less: there a layer "
        "changes the kernel by less than 2 %."
    ]
    if reach.edge is not None:
        found.append(f"Stay below {mp.nstr(reach.edge, 2)}: from about there on kernels grow instead.")
    elif reach.falls:
        found.append("Larger kernels fall faster at first.")
    return (" ".join(found),)


def _digits(value: mp.mpf | None) -> str:
    return mp.nstr(value, DIGITS).removesuffix(".0")
