"""The numbers of the README's first picture; ``readme_picture`` draws them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import symres as sr

from .. import trained_initialisation as training

SOURCES = (
    Path(__file__),
    Path(training.__file__),
)  # a change of these makes the numbers old
DEPTH, WIDTH, NETWORKS = 50, 512, 32
SCHEMES = {
    "He": ("2", "0"),
    "LeCun": ("1", "0"),
}  # C_W and C_b, beside those of the critical point
TRAINED = ("gelu", "mish", "tanh", "erf")
SIZES = training.Sizes(seeds=3)

Told = Callable[[float], None]  # is called with the share that is done


def fingerprint() -> str:
    """The hash of the scripts that compute the numbers."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()


def phases() -> tuple[sr.PhaseDiagram, dict[str, Any]]:
    """The phase diagram of tanh, and its critical point and line as numbers."""
    diagram = sr.phase_diagram("tanh", x=("C_W", 0.3, 4), y=("C_b", 0, 1))
    xs, ys, _ = diagram.lines[0]
    regions = {name: float(region.mean()) for name, region in diagram.regions.items()}
    return diagram, {
        "critical_points": diagram.points,
        "line": [list(xs)[::10], list(ys)[::10]],
        "regions": regions,
    }


def schemes() -> dict[str, tuple[float, float, float]]:
    """C_W, C_b and the first kernel of each scheme; inputs have mean square 1, or what the critical point wants."""
    point = sr.derive("gelu").critical_points[0]
    customary = {
        name: (float(C_W), float(C_b), float(C_W) + float(C_b))
        for name, (C_W, C_b) in SCHEMES.items()
    }
    return {
        **customary,
        "critical (symres)": (float(point.C_W), float(point.C_b), float(point.K)),
    }


def network_kernels(
    C_W: float, C_b: float, K: float, networks: int, width: int
) -> np.ndarray:
    """Mean squares of preactivations of PyTorch networks that know nothing of symres, shape (networks, layers)."""
    kernels = np.empty((networks, DEPTH + 1))
    for row in kernels:
        z = torch.randn(width) * K**0.5
        for layer in range(DEPTH + 1):
            row[layer] = float(z.square().mean())
            weight, bias = (
                torch.randn(width, width) * (C_W / width) ** 0.5,
                torch.randn(width) * C_b**0.5,
            )
            z = weight @ torch.nn.functional.gelu(z) + bias
    return kernels


def signals(networks: int = NETWORKS, width: int = WIDTH) -> dict[str, Any]:
    """Kernels over the depth: the theory of each scheme, and medians and quartiles of networks."""
    torch.manual_seed(0)
    theory, curves = sr.derive("gelu"), {}
    for name, (C_W, C_b, K) in schemes().items():
        lower, median, upper = np.quantile(
            network_kernels(C_W, C_b, K, networks, width), (0.25, 0.5, 0.75), axis=0
        )
        curves[name] = {
            "C_W": C_W,
            "C_b": C_b,
            "theory": [
                float(kernel) for kernel in theory.kernels(DEPTH, K, C_W=C_W, C_b=C_b)
            ],
            "lower": lower.tolist(),
            "median": median.tolist(),
            "upper": upper.tolist(),
        }
    return {"networks": networks, "width": width, "curves": curves}


def accuracies(sizes: training.Sizes, told: Told) -> dict[str, Any]:
    """Accuracy on held-out digits of each activation and scheme, at its best learning rate, with standard errors."""
    kinds = [(name, scheme) for name in TRAINED for scheme in training.SCHEMES]
    rows: dict[str, dict[str, list[float]]] = {name: {} for name in TRAINED}
    for position, (name, scheme) in enumerate(kinds):
        seeds = training.trained(name, scheme, sizes, adam=False).accuracies
        rows[name][scheme] = [
            float(seeds.mean()),
            float(seeds.std(ddof=1) / math.sqrt(len(seeds))),
        ]
        told((position + 1) / len(kinds))
    return {
        "seeds": sizes.seeds,
        "steps": sizes.steps,
        "width": sizes.width,
        "depth": sizes.depth,
        "accuracies": rows,
    }
