"""Theory of layers with positions against reference values of another implementation, tests/oracles/positions.json."""

import json
import math
from functools import cache
from pathlib import Path

import pytest

import symres as sr
from symres.numerics.softmax_entropy import softmax_entropy

ROWS = json.loads((Path(__file__).parents[1] / "oracles" / "positions.json").read_text())
OVERLAPS = [row for row in ROWS if row["quantity"] in ("B", "dB")]
STREAM = ("q", "p", "rho", "t", "s", "t_alike")
WEIGHTS = [row for row in ROWS if row["quantity"].startswith("ntk_") and row["stderr"] is None]
ENTROPIES = [row for row in ROWS if row["quantity"] == "entropy"]
LAWS = {
    "eta": lambda laws: -laws.angle,
    "exponent_similarity": lambda laws: laws.angle,
    "exponent_apjn": lambda laws: laws.gradient,
    "rate_gradient": lambda laws: laws.gradient,
    "rate_angle": lambda laws: laws.angle,
    "rate": lambda laws: math.exp(laws.gradient),
    "rho*": lambda laws: laws.similarity,
}
OF_STACKS = [
    row
    for row in ROWS
    if row["quantity"] in LAWS and "TokenMix" not in row["what"] and not str(row["positions"]).startswith("Listed")
]
THRESHOLDS = [row for row in ROWS if row["quantity"] == "threshold"]
SEQUENCES = [row for row in ROWS if row["quantity"] in ("c", "e") and row["stderr"] is None]


def is_exact(row):
    """Of tokens; a perceptron over few or correlated tokens is an average over its weights, which theory refuses."""
    of_tokens = row["layer"] and row["stderr"] is None and row["positions"].startswith("Tokens")
    return of_tokens and not row["id"].startswith("token-")


EXACT = [row for row in ROWS if is_exact(row) and row["quantity"] in STREAM]


@cache
def network(layer, positions, depth):
    return sr.network([sr.layer(layer)] * depth, positions=positions)


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


@pytest.mark.sample(16)
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
    theory, start = sr.derive(sr.layer(row["layer"]), positions=row["positions"]), row["start"]
    names = {"K1": "q1", "P1": "p1", "K2": "q2", "P2": "p2", "C": "c", "E": "e"}
    numbers = {name: start[other] for name, other in names.items()} | row["values"]
    quantity = theory.quantity("sequence_map" if row["quantity"] == "c" else "sequence_cross_map")
    assert float(quantity.evalf(12, **used(quantity, numbers))) == pytest.approx(row["value"], rel=1e-10)


@pytest.mark.parametrize("row", WEIGHTS, ids=[row["id"] for row in WEIGHTS])
def test_tangent_kernels_of_weights(row):
    theory, (_, letter, place) = (
        sr.derive(row["layer"], positions=row["positions"]),
        row["quantity"].split("_"),
    )
    quantity = theory.tangent_kernel_of(letter)["qp".index(place)]
    numbers = {"K": row["start"]["q"], "C": row["start"]["p"]} | row["values"]
    assert float(quantity.evalf(12, **used(quantity, numbers))) == pytest.approx(row["value"], rel=1e-12)


def stack(row):
    """The theory of the block, whose equation stands in the words of rows without a start."""
    text = row["layer"] or row["what"].partition("of many blocks ")[2]
    theory = sr.derive(sr.layer(text), positions=sr.Tokens(row["values"].get("T", 16)))
    values = {"C_Q": 1.3, "C_K": 0.7} | row["values"]  # any, where the row does not say
    return theory, {name: value for name, value in values.items() if name in theory.parameter_names}


@pytest.mark.sample(4)
@pytest.mark.parametrize("row", OF_STACKS, ids=[row["id"] for row in OF_STACKS])
def test_laws_of_deep_stacks(row):
    """Tokens that come apart have no exponent of collapse at their end: the row is that of nearly equal ones."""
    theory, values = stack(row)
    laws = theory.rates(**values)
    found = -laws.collapse if row["quantity"] == "eta" else LAWS[row["quantity"]](laws)
    if row["id"] == "depth-own-erf-2.0-0.1":  # of equal tokens, which this stack leaves
        found = theory.rates(similarity=1, **values).gradient
    assert found == pytest.approx(row["value"], rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("row", THRESHOLDS, ids=[row["id"] for row in THRESHOLDS])
def test_thresholds_of_collapse(row):
    """Weaker attention lets tokens come apart; at ReLU's threshold there is none left."""
    theory, values = stack(row)
    if row["value"] > 0:
        apart = theory.rates(**values | {"C_A": row["value"] * (1 - 1e-9)}).collapse
        assert 0 < apart < 1e-9
    assert theory.rates(**values | {"C_A": row["value"] * (1 + 1e-9) + 1e-9}).collapse < 0
