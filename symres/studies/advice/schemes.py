"""What customary initialisations do to networks of a layer, at infinite width."""

from __future__ import annotations

from ...core.symbols import C_W, C_b, gamma, xi
from ...results.advice.parts import Origin, UsualScheme
from .flow import DepthFlow, Setting

_KEPT = 1e-9  # relative change of a kernel that is kept
_LOST = 1e250  # close to the end of double precision


def usual_schemes(flow: DepthFlow, depth: int, width: int) -> tuple[UsualScheme, ...]:
    """PyTorch's default, LeCun's and He's, for inputs of mean square 1; empty where C_W and C_b are not both free."""
    free = set(flow.theory.layer.parameters)
    if not {C_W, C_b} <= free:
        return ()
    rest = {s: 1.0 for s in (gamma, xi) if s in free}
    # PyTorch draws weights and biases uniformly with variance 1/(3 fan_in)
    schemes = (("PyTorch's default", 1 / 3, 1 / (3 * width)), ("LeCun's", 1.0, 0.0), ("He's", 2.0, 0.0))
    found = []
    for name, weight, bias in schemes:
        values = {**rest, C_W: weight, C_b: bias}
        path = flow.path(Setting(Origin.GIVEN, values, weight + bias), depth, _LOST)
        grown, perp = flow.step(values, 1.0)
        parallel = flow.chi_parallel(values, 1.0)
        # where every kernel is kept, or every one becomes 1, that K = 1 stays is no property of the activation
        kept = abs(grown - 1) < _KEPT < min(abs(parallel - 1), abs(parallel))
        fixed = (parallel, perp) if kept else None
        last = (path.kernels[-1] / path.kernels[0], path.jacobians[-1])
        found.append(UsualScheme(name, weight, bias, *last, {s.name: v for s, v in rest.items()}, fixed))
    return tuple(found)
