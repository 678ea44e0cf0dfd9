"""Theory of layers with positions against reference values of another implementation, tests/oracles/positions.json."""

import json
from functools import cache
from pathlib import Path

import pytest

import symres as sr
from symres.layers.positions import positions_of
from symres.numerics.softmax_entropy import softmax_entropy

ROWS = json.loads((Path(__file__).parents[1] / "oracles" / "positions.json").read_text())
OVERLAPS = [row for row in ROWS if row["quantity"] in ("B", "dB")]
STREAM = ("q", "p", "rho", "t", "s", "t_alike")
WEIGHTS = [row for row in ROWS if row["quantity"].startswith("ntk_") and row["stderr"] is None]
ENTROPIES = [row for row in ROWS if row["quantity"] == "entropy"]
SEQUENCES = [row for row in ROWS if row["quantity"] in ("c", "e") and row["stderr"] is None]


def is_exact(row):
    """Of tokens; a perceptron over few or correlated tokens is an average over its weights, which theory refuses."""
    of_tokens = row["layer"] and row["stderr"] is None and row["positions"].startswith("Tokens")
    return of_tokens and not row["id"].startswith("token-")


EXACT = [row for row in ROWS if is_exact(row) and row["quantity"] in STREAM]


@cache
def network(layer, positions, depth):
    return sr.network([sr.layer(layer)] * depth, positions=positions_of(positions))


@pytest.mark.sample(12)
@pytest.mark.parametrize("row", OVERLAPS, ids=[row["id"] for row in OVERLAPS])
def test_overlaps(row):
    values = row["values"]
    scores = (values[name] for name in ("S1", "S2", "k", "T"))
    found = sr.softmax_overlap(*scores, derivative="k" if row["quantity"] == "dB" else None)
    assert found == pytest.approx(row["value"], rel=2e-13)


@pytest.mark.parametrize("row", ENTROPIES, ids=[row["id"] for row in ENTROPIES])
def test_entropies(row):
    assert softmax_entropy(row["values"]["S1"], row["values"]["T"]) == pytest.approx(row["value"], rel=1e-12)


@pytest.mark.sample(40)
@pytest.mark.parametrize("row", EXACT, ids=[row["id"] for row in EXACT])
def test_stacks(row):
    net, start, kind = network(row["layer"], row["positions"], row["blocks"]), row["start"], row["quantity"]
    at = {"K": start["q"], "C": start.get("p", 0)} | row["values"]
    if kind in ("q", "p", "rho"):
        K, C = net.kernels(**at)[-1]
        found = {"q": K, "p": C, "rho": C / K}[kind]
    else:
        change = {"t": start["t"], "s": start["s"]}
        for layer, values in net._walked(at.pop("K"), at)[0]:
            maps = {"t": layer.quantity("tangent_map"), "s": layer.quantity("tangent_covariance_map")}
            change = {name: float(q.evalf(12, **used(q, values | change))) for name, q in maps.items()}
        found = change["s" if kind == "s" else "t"]
    assert float(found) == pytest.approx(row["value"], rel=1e-10)


def used(quantity, numbers):
    names = {s.name for s in (*quantity.symbols, *quantity.unused)}
    return {name: value for name, value in numbers.items() if name in names}


@pytest.mark.parametrize("row", SEQUENCES, ids=[row["id"] for row in SEQUENCES])
def test_two_sequences(row):
    theory, start = sr.derive(sr.layer(row["layer"]), positions=positions_of(row["positions"])), row["start"]
    names = {"K1": "q1", "P1": "p1", "K2": "q2", "P2": "p2", "C": "c", "E": "e"}
    numbers = {name: start[other] for name, other in names.items()} | row["values"]
    quantity = theory.quantity("sequence_map" if row["quantity"] == "c" else "sequence_cross_map")
    assert float(quantity.evalf(12, **used(quantity, numbers))) == pytest.approx(row["value"], rel=1e-10)


@pytest.mark.parametrize("row", WEIGHTS, ids=[row["id"] for row in WEIGHTS])
def test_tangent_kernels_of_weights(row):
    theory, (_, letter, place) = (
        sr.derive(row["layer"], positions=positions_of(row["positions"])),
        row["quantity"].split("_"),
    )
    quantity = theory.tangent_kernel_of(letter)["qp".index(place)]
    numbers = {"K": row["start"]["q"], "C": row["start"]["p"]} | row["values"]
    assert float(quantity.evalf(12, **used(quantity, numbers))) == pytest.approx(row["value"], rel=1e-12)
