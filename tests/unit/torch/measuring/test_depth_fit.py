"""Fits of synthetic norms whose law is known, and how often verdicts are wrong."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from symres.results.annotated_numbers import EstimatedNumber
from symres.torch.measuring.depth_fit import fit_depth
from symres.torch.measuring.place_signals import MEASURED, PlaceSignals

DEPTH = 24


def places(logs, seed, networks=20, step=0.03, name="apjn_forward"):
    """Norms that random factors of layers make out of a mean law: what networks of finite width do."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(step * rng.standard_normal((networks, len(logs))), axis=1)
    return places_of(np.exp(np.array(logs) + walk), name)


def places_of(samples, name="apjn_forward"):
    """Norms of shape (measurements, places)."""
    found = []
    for position in range(samples.shape[1]):
        number = EstimatedNumber(float(samples[:, position].mean()), 0.1)
        of_place = {"name": f"h.{position}", "axes": "", "entries": 1, "units": {name: samples[:, position]}}
        found.append(PlaceSignals(**of_place, gram=np.eye(1), **dict.fromkeys(MEASURED, number)))
    return found


LAYERS = np.arange(1, DEPTH + 1)
LAWS = {"ordered": -0.1 * LAYERS, "chaotic": 0.1 * LAYERS, "critical": -np.log(LAYERS), "flat": 0.0 * LAYERS}


@pytest.mark.parametrize("name", LAWS)
def test_verdicts_are_right(name):
    count = Counter(str(fit_depth(places(LAWS[name], seed), "networks", "apjn_forward").verdict) for seed in range(60))
    right = "critical" if name == "flat" else name
    wrong = 60 - count[right] - count["undecided"]
    assert wrong <= 1 and count[right] >= 45, count


def test_little_data_decide_nothing():
    noisy = fit_depth(places(LAWS["flat"], 0, networks=4, step=0.5), "networks", "apjn_forward")
    assert noisy.verdict == "undecided"
    two = fit_depth(places(LAWS["ordered"], 0, networks=2), "networks", "apjn_forward")
    assert two.verdict == "undecided" and math.isnan(two.rate.error)
    four = fit_depth(places(LAWS["ordered"], 0, networks=4, step=0.1), "networks", "apjn_forward")
    assert four.verdict == "undecided" and four.against_power >= 0 and four.against_exponential >= 0
    text = str(four)  # what is open is said in positive numbers
    assert "power law: not contradicted" in text and "exponential: not contradicted" in text
    assert "J falls: ordered, or critical with a power law" in text


def test_numbers_agree_with_the_law_within_their_errors():
    rates, exponents = [], []
    for seed in range(60):
        fit = fit_depth(places(LAWS["ordered"], seed), "networks", "apjn_forward")
        rates.append((fit.rate + 0.1 - 0.5 * 0.03**2) / fit.rate.error)  # the mean of exp of a walk drifts
        assert fit.correlation_length == pytest.approx(1 / abs(fit.rate))
        assert fit.correlation_length.error == pytest.approx(fit.rate.error / fit.rate**2)
        fit = fit_depth(places(LAWS["critical"], seed), "networks", "apjn_forward")
        exponents.append((fit.exponent - 1) / fit.exponent.error)
    for scores in (rates, exponents):
        assert abs(np.mean(scores)) < 0.6 and 0.7 < np.std(scores) < 1.5


@pytest.mark.parametrize("name", ["apjn_forward", "apjn_backward"])
@pytest.mark.parametrize(("power", "said"), [(1, "grows like place^"), (-1, "falls like place^-")])
def test_the_power_of_the_place_has_the_sign_of_the_norm_itself(name, power, said):
    fit = fit_depth(places(power * np.log(LAYERS), 1, step=0.01, name=name), "networks", name)
    shown = str(fit).partition(f"over these places {name} {said}")[2]
    assert float(shown.split()[0]) == pytest.approx(1, abs=0.1)
    assert fit.exponent == pytest.approx(power if name == "apjn_backward" else -power, abs=0.1)
    assert "statistical error" in shown and "need not be the exponent of deep networks" in shown


def test_first_places_are_left_out():
    logs = np.where(LAYERS <= 6, 3.0, 0.0) - 0.1 * LAYERS
    fit = fit_depth(places(logs, 1), "networks", "apjn_forward")
    assert fit.places == DEPTH - 6 and fit.first == "h.6" and fit.rate == pytest.approx(-0.1, abs=0.02)
    assert fit_depth(places(logs, 1), "networks", "apjn_forward", skip=0).places == DEPTH


ACTIVATIONS = {
    "relu": (lambda h: np.maximum(h, 0), lambda h: h > 0),
    "tanh": (np.tanh, lambda h: 1 - np.tanh(h) ** 2),
    "elu": (lambda h: np.where(h > 0, h, np.expm1(h)), lambda h: np.where(h > 0, 1, np.exp(h))),
}


def norms_of_networks(name, C_W, width, depth, networks, inputs=6, probes=4):
    """Squared Jacobian norms of real networks, shape (networks, inputs, depth), without a line of what is tested."""
    phi, slope = ACTIVATIONS[name]
    rng = np.random.default_rng(depth + width)
    first = rng.standard_normal((inputs, width)).astype(np.float32)
    found = np.empty((networks, inputs, depth))
    for network in range(networks):
        h, tangents = first, rng.choice(np.float32([-1, 1]), (probes, inputs, width))
        for layer in range(depth):
            weights = rng.standard_normal((width, width), dtype=np.float32) * np.float32(math.sqrt(C_W / width))
            h, tangents = (h, tangents) if layer == 0 else (phi(h), slope(h) * tangents)
            h, tangents = h @ weights, tangents @ weights
            found[network, :, layer] = np.square(tangents).mean(axis=(0, 2))
    return found


def verdicts(norms, together):
    """Verdicts about so many networks together; of one alone, its inputs are the measurements."""
    count = Counter()
    for start in range(0, len(norms) - together + 1, together):
        some = norms[start : start + together]
        samples, over = (some[0], "inputs") if together == 1 else (some.mean(axis=1), "networks")
        count[str(fit_depth(places_of(samples), over, "apjn_forward").verdict)] += 1
    return count


@pytest.mark.parametrize(
    ("name", "C_W", "width", "depth"),
    [("relu", 2, 64, 50), ("relu", 2, 64, 20), ("tanh", 1, 64, 50), ("tanh", 1, 128, 20), ("elu", 1, 128, 20)],
)
def test_critical_networks_are_never_called_ordered_or_chaotic(name, C_W, width, depth):
    norms = norms_of_networks(name, C_W, width, depth, 64)
    for together in (1, 8):
        count = verdicts(norms, together)
        assert count["ordered"] + count["chaotic"] <= 1, count


@pytest.mark.exhaustive
@pytest.mark.parametrize(("C_W", "verdict"), [(1.8, "ordered"), (2.2, "chaotic")])
def test_networks_away_from_criticality_are_told_by_their_rate(C_W, verdict):
    norms = norms_of_networks("relu", C_W, 256, 24, 48, inputs=2, probes=3)
    assert verdicts(norms, 24)[verdict] == 2
    deep = norms_of_networks("relu", C_W, 256, 50, 12)
    assert verdicts(deep, 1)[verdict] >= 4 and not verdicts(deep, 1)["critical"]


def test_inputs_of_one_network_share_how_it_differs_from_others():
    norms = norms_of_networks("relu", 2, 64, 20, 64)
    rates = [fit_depth(places_of(one), "inputs", "apjn_forward").rate for one in norms]
    scatter = np.std([float(rate) for rate in rates])
    assert 0.7 < np.sqrt(np.mean([rate.error**2 for rate in rates])) / scatter < 1.5


def tanh(C_W, width=256, depth=30):
    def build():
        model = nn.Sequential(*(part for _ in range(depth) for part in (nn.Linear(width, width), nn.Tanh())))
        for module in model[::2]:
            nn.init.normal_(module.weight, std=(C_W / width) ** 0.5)
            nn.init.zeros_(module.bias)
        return model

    return build


@pytest.mark.sample(1)
@pytest.mark.parametrize(("C_W", "verdict"), [(0.7, "ordered"), (1.0, "critical"), (2.5, "chaotic")])
def test_real_networks(C_W, verdict):
    inputs = torch.randn(3, 256, generator=torch.Generator().manual_seed(0))
    measured = st.measure(tanh(C_W), inputs, seeds=16, probes=1)
    assert measured.fit().verdict == verdict
    if C_W == 0.7:  # K* = 0, chi_perp = C_W
        fit = measured.fit(skip=10)
        assert abs(fit.correlation_length + 1 / math.log(C_W)) < 4 * fit.correlation_length.error + 0.1


def test_bad_requests():
    measured = st.measure(nn.Linear(2, 2), torch.ones(1, 2))
    with pytest.raises(DeclarationError, match="at least 4"):
        measured.fit()
    with pytest.raises(DeclarationError, match="'cosine'"):
        measured.fit("cosine")
    with pytest.raises(DeclarationError, match="skip=-1"):
        measured.fit(skip=-1)


def test_a_readout_is_no_step_of_depth():
    hidden = [layer for _ in range(8) for layer in (nn.Linear(32, 32), nn.Tanh())]
    torch.manual_seed(0)
    model = nn.Sequential(*hidden, nn.Linear(32, 5))
    measured = st.measure(model, torch.randn(6, 32), modules=nn.Linear, progress=False)
    fit = measured.fit(skip=0)
    assert len(measured.places) == 9 and fit.places == 8


@pytest.mark.exhaustive
def test_a_critical_network_without_scatter_is_not_called_ordered():
    """Orthogonal layers scatter so little that both laws are contradicted, the exponential much more."""
    torch.manual_seed(0)
    hidden = [m for _ in range(30) for m in (nn.Linear(100, 100), nn.Tanh())]
    model = nn.Sequential(nn.Linear(64, 100), nn.Tanh(), *hidden, nn.Linear(100, 10))
    inputs = torch.randn(8, 64)
    st.init_(model, inputs=inputs, distribution="orthogonal", seed=3)
    fit = st.measure(model, inputs, progress=False).fit()
    assert fit.against_exponential > 2 * fit.against_power > 2 * fit.threshold
    assert str(fit.verdict) == "undecided"
