"""Fits of synthetic norms whose law is known, and how often verdicts are wrong."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from symres.results.numbers.estimates import EstimatedNumber
from symres.torch.measuring.depth_fit import fit_depth
from symres.torch.measuring.place_signals import PlaceSignals

DEPTH = 24


def places(logs, seed, networks=20, step=0.03, name="apjn_forward"):
    """Norms that random factors of layers make out of a mean law: what networks of finite width do."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(step * rng.standard_normal((networks, len(logs))), axis=1)
    samples = np.exp(np.array(logs) + walk)
    found = []
    for position in range(len(logs)):
        number = EstimatedNumber(float(samples[:, position].mean()), 0.1)
        numbers = dict.fromkeys(
            (
                "kernel",
                "mean",
                "cosine",
                "covariance",
                "token_cosine",
                "apjn_forward",
                "apjn_backward",
                "gradient_norm",
            ),
            number,
        )
        found.append(
            PlaceSignals(name=f"h.{position}", axes="", entries=1, gram=np.eye(1), units={name: samples[:, position]},
                         **numbers)
        )  # fmt: skip
    return found


LAYERS = np.arange(1, DEPTH + 1)
LAWS = {
    "ordered": -0.1 * LAYERS,
    "chaotic": 0.1 * LAYERS,
    "critical": -np.log(LAYERS),
    "flat": 0.0 * LAYERS,
}


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


@pytest.mark.parametrize("name", ["apjn_backward", "gradient_norm"])
def test_norms_to_the_output_of_a_chaotic_network_fall(name):
    fit = fit_depth(places(LAWS["ordered"], 1, name=name), "networks", name)
    assert fit.verdict == "chaotic" and fit.rate > 0


def test_first_places_are_left_out():
    logs = np.where(LAYERS <= 6, 3.0, 0.0) - 0.1 * LAYERS
    fit = fit_depth(places(logs, 1), "networks", "apjn_forward")
    assert fit.places == DEPTH - 6 and fit.first == "h.6" and fit.rate == pytest.approx(-0.1, abs=0.02)
    assert fit_depth(places(logs, 1), "networks", "apjn_forward", skip=0).places == DEPTH


def test_text_names_verdict_and_law():
    text = str(fit_depth(places(LAWS["ordered"], 1), "networks", "apjn_forward"))
    assert text.startswith("apjn_forward: ordered") and "correlation length" in text


def tanh(C_W, width=256, depth=30):
    def build():
        model = nn.Sequential(*(part for _ in range(depth) for part in (nn.Linear(width, width), nn.Tanh())))
        for module in model[::2]:
            nn.init.normal_(module.weight, std=(C_W / width) ** 0.5)
            nn.init.zeros_(module.bias)
        return model

    return build


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
