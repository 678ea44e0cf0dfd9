"""Theory of layers on a torus and on listed positions against reference values of another implementation."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import symres as sr
from symres.layers.positions import positions_of

ROWS = json.loads((Path(__file__).parents[1] / "oracles" / "positions.json").read_text())
GRIDS = [row for row in ROWS if row["layer"] and row["positions"].startswith(("Torus", "Listed"))]
MIXTURE = "sim-bn-random-variance"  # of a batch whose M varies, which is refused
FUNCTIONS = {"exp": math.exp, "sin": math.sin, "cos": math.cos, "tan": math.tan, "pi": math.pi, "min": min}


def value(text, **names):
    return float(eval(str(text), {"__builtins__": {}}, FUNCTIONS | names))


def covariances(positions, start, name):
    """The array that the words of a row describe; what they leave open is as good as anything."""
    shape, is_torus = positions.shape, str(positions).startswith("Torus")
    if (text := start.get(name)) is None:
        diagonal = start.get("q(x)", start.get("q(x, y)"))
        if diagonal is None:
            beside = start.get(f"{name}(d)", start.get(f"{name}(0)", 1))
            full = np.full(shape if is_torus else positions.array_shape, float(beside))
            full[2:-1] *= beside > 0  # not all can be negative
            return full + positions.identity * (start.get(f"{name}(0)", 1) - beside)
        places = np.ndindex(shape)
        return np.diag([value(diagonal, **dict(zip("xy", (at + 1 for at in place), strict=False))) for place in places])
    if is_torus:
        names = ["d"] if len(shape) == 1 else ["d1", "d2"]
        return np.array([value(text, **dict(zip(names, at, strict=True))) for at in np.ndindex(shape)]).reshape(shape)
    count = positions.array_shape[0]
    return np.array([[value(text, i=i, j=j) for j in range(count)] for i in range(count)])


@cache
def declared(text, window):
    if window:
        assert text == "Conv(relu(z), C_W, C_b, 3)"
        return sr.Layer(sr.Conv(sr.activation("relu")(sr.z), window=window))
    return sr.layer(text)


def found(row, blocks):
    """The number, or the array, that a row is about, behind so many blocks."""
    positions, start, numbers = positions_of(row["positions"]), row["start"], dict(row["values"])
    layer = declared(row["layer"], tuple(numbers.pop("window", ())))
    numbers = {name: x for name, x in numbers.items() if name not in ("n", "batch")}
    theory, quantity = sr.derive(layer, positions=positions), row["quantity"]
    if "K1" in start:
        return theory.quantity("sequence_map").evalf(13, P1=0, P2=0, E=0, **start, **numbers)
    K = covariances(positions, start, "K")
    if "M" in start:
        numbers["M"] = start["M"]
    if quantity in ("T(0)", "t"):
        return theory.apjn(0, blocks, K, **numbers)
    if quantity.startswith("chi"):
        modes = theory.perpendicular_modes if quantity == "chi_perp" else theory.parallel_modes
        return modes(1, K, **numbers)[0][start["mode"]]
    if quantity.startswith("t(x)"):
        gains = np.prod(theory.perpendicular_modes(blocks, K, **numbers), axis=0)
        profile = np.fft.ifft(gains).real
        return profile / profile.sum() if quantity.endswith("sum t") else profile
    if quantity.startswith("T"):
        law = theory.network(1)._on_grid(positions, K, numbers)._laws[0]
        changes = law.tangent(covariances(positions, start, "T"))
        return changes.flat[1] if quantity == "T(d)" else changes[1, 1]
    last = theory.kernels(blocks, K, **numbers)[-1]
    kernel, apart = last if "M" in start else (last, None)
    if quantity == "M":
        return apart
    if quantity == "K(0), K(1), K(2), M":
        return np.array([*kernel[:3], apart])
    if "," in quantity and "d" not in quantity:  # tokens, counted from 1
        return kernel[tuple(int(part) - 1 for part in quantity[2:-1].split(","))]
    if "d1" in quantity:
        return kernel[:3, :3]
    if quantity == "K(d)":
        return kernel[: kernel.shape[0] // 2 + 1] if row["stderr"] else kernel.flat[1]
    return kernel.flat[0] if quantity == "q" else kernel.flat[int(quantity[2:-1])]


EXACT = [row for row in GRIDS if row["stderr"] is None]
SAMPLED = [row for row in GRIDS if row["stderr"] is not None and row["id"] != MIXTURE]


@pytest.mark.parametrize("row", EXACT, ids=[row["id"] for row in EXACT])
def test_exact_values(row):
    assert float(found(row, row["blocks"])) == pytest.approx(row["value"], rel=1e-10)


@pytest.mark.parametrize("row", SAMPLED, ids=[row["id"] for row in SAMPLED])
def test_sampled_values(row):
    blocks = row["blocks"] if isinstance(row["blocks"], list) else [row["blocks"]]
    theory = np.array([np.asarray(found(row, depth), float) for depth in blocks])
    measured, error = (np.array(row[name]).reshape(theory.shape) for name in ("value", "stderr"))
    at = error > 0
    assert (theory[~at] < 1e-9).all()
    assert np.abs((theory - measured)[at] / error[at]).max() < 4
