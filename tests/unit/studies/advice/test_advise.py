"""The choice of an initialisation: where it comes from, and what it says where nothing works."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate

import symres as sr
from symres.check.simulation.partial_jacobians import depth_paths
from symres.results.advice.parts import Origin
from symres.studies.advice.advise import trial
from symres.studies.advice.flow import DepthFlow, Setting

z = sr.z


def test_a_critical_point_that_holds_is_advised():
    advice = sr.derive("gelu").advice(depth=20, width=1024)
    kernel = (3 + math.sqrt(17)) / 2
    assert advice.holds and advice.origin is Origin.POINT
    assert advice.kernel == pytest.approx(kernel, rel=1e-12)
    assert (advice.C_W, advice.C_b) == (pytest.approx(1.98305826, abs=1e-8), pytest.approx(0.172922391, abs=1e-9))
    assert advice.inputs_kernel == pytest.approx((kernel - advice.C_b) / advice.C_W)
    assert advice.parameters == {}


def test_variances_that_are_off_do_not_hold():
    theory = sr.derive("gelu")
    for factor in (0.8, 1.2):
        values = {sr.C_W: factor * 1.98305826, sr.C_b: 0.172922391}
        assert not trial(theory, Setting(Origin.GIVEN, values, 3.56), 50, 512).holds


def test_inputs_are_small_where_kernels_flow_to_zero_and_smaller_in_deeper_networks():
    """tanh: K falls like K/(1 + 2 K l), hence by a factor of 2 if K = 1/(2 l)."""
    theory = sr.derive("tanh")
    for depth in (25, 100):
        advice = theory.advice(depth=depth, width=4096)
        assert advice.C_W == 1 and advice.C_b == 0
        assert advice.kernel == pytest.approx(1 / (2 * depth), rel=0.05)


@pytest.mark.exhaustive
def test_branches_shrink_with_the_depth():
    """relu: (1 + C_W/2)^L = 2, and xi^2 C_W^2/2 in the place of C_W/2 with two layers in a branch."""
    for depth in (25, 60):
        advice = sr.derive(sr.residual("relu", gamma=1)).advice(depth=depth, width=256)
        assert advice.holds and advice.origin is Origin.BRANCH
        assert advice.C_W == pytest.approx(2 * (2 ** (1 / depth) - 1), rel=5e-3)
        block = sr.derive(sr.two_layer_block("relu")).advice(depth=depth, width=256)
        assert block.parameters["xi"] == pytest.approx(math.sqrt(2 * (2 ** (1 / depth) - 1)), rel=5e-3)


@pytest.mark.exhaustive
def test_a_half_stable_point_from_which_networks_diverge_is_not_advised():
    advice = sr.derive("0.8944*max(z,0)^2 - 0.4472").advice()
    assert not advice.holds and advice.code == ()
    assert advice.reasons[0].startswith("Every setting that was tried changes kernels or squared gradients")
    assert advice.nearest.forward.startswith("z + Dense(") and advice.nearest.C_W < 0.02


def test_a_critical_line_is_used_where_there_is_no_point():
    """pre_ln: chi_perp = C_W <phi'^2>/K and K = C_W <phi^2> + C_b, averages at variance 1."""
    advice = sr.derive(sr.pre_ln("gelu")).advice()
    assert advice.holds and advice.origin is Origin.LINE
    assert advice.C_b == pytest.approx(advice.C_W / (6 * math.sqrt(3) * math.pi), rel=1e-9)


def test_free_skip_weights_are_chosen():
    advice = sr.derive(sr.residual("relu")).advice(depth=50, width=512)
    assert advice.holds and 0.5 < advice.parameters["gamma"] < 1
    assert advice.C_W == pytest.approx(2 * (1 - advice.parameters["gamma"] ** 2), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "wanted", "said"),
    [("sign", (), "gradients are infinite"), ("swish", ("beta",), "--set beta="), (sr.Layer(z / 2), (), "no Dense")],
    ids=["a jump has no gradient", "a parameter has no number", "there are no weights"],
)
def test_what_cannot_be_tried_says_why(make, wanted, said):
    advice = sr.derive(make).advice()
    assert not advice.holds and advice.C_W is None and advice.wanted == wanted and said in advice.reasons[0]


@pytest.mark.exhaustive
def test_given_inputs_are_kept_where_they_can_be():
    theory = sr.derive(sr.residual("tanh", gamma=1))
    advice = theory.advice(inputs_kernel=1)
    assert advice.holds and advice.inputs_kernel == pytest.approx(1)
    assert any("may stay" in text for text in advice.reasons)
    scaled = sr.derive("tanh").advice(inputs_kernel=1)
    assert scaled.inputs_kernel < 0.02 and any("Scale the inputs by 0.1" in text for text in scaled.reasons)


def test_selu_keeps_the_kernel_for_which_it_was_made():
    advice = sr.derive("selu").advice(depth=10)
    lecun = next(s for s in advice.usual if s.C_W == 1)
    slope = lambda u: 1.0507009873554805 * (1 if u > 0 else 1.6732632423543772 * math.exp(u))  # noqa: E731
    density = lambda u: math.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)  # noqa: E731
    halves = ((-12, 0), (0, 12))
    perp = sum(integrate.quad(lambda u: density(u) * slope(u) ** 2, *half)[0] for half in halves)
    assert lecun.fixed == (pytest.approx(0.782648, abs=1e-6), pytest.approx(perp, rel=1e-9))
    assert any("keep K = 1" in text and "chi_perp = 1.072" in text for text in advice.reasons)
    assert not any(s.fixed for s in sr.derive("relu").advice(depth=10).usual)


def test_one_layer_knows_how_its_tangent_kernel_grows():
    rate = sr.derive("relu").advice(depth=1, width=64).learning_rate
    assert (rate.tangent_kernel, rate.exponent) == (pytest.approx(2), pytest.approx(1))


def test_paths_and_learning_rates_are_those_of_the_theory():
    theory = sr.derive(sr.residual("gelu", gamma="1/2"))
    advice = theory.advice(depth=6)
    values = {"C_W": advice.C_W, "C_b": advice.C_b}
    assert advice.theory.kernels == pytest.approx([float(k) for k in theory.kernels(6, advice.kernel, **values)])
    assert advice.theory.jacobians[-1] == pytest.approx(float(theory.jacobian(0, 6, advice.kernel, **values)))
    last = theory.dual_kernels(6, advice.kernel, advice.kernel, advice.kernel, **values)[-1]
    assert advice.learning_rate.tangent_kernel == pytest.approx(float(last.Theta), rel=1e-9)


@pytest.mark.parametrize("name", ["cos", "relu"])
def test_last_kernels_scatter_as_in_networks(name):
    theory = sr.derive(name)
    advice = theory.advice(depth=8, width=256)
    values = {sr.C_W: advice.C_W, sr.C_b: advice.C_b}
    kernels, _ = depth_paths(theory.layer, values, advice.kernel, 8, 256, 3000, seed=5)
    last = kernels[:, -1]
    assert advice.fluctuation == pytest.approx(last.std() / last.mean(), rel=0.1)


def test_kernels_that_overflow_are_no_numbers():
    flow = DepthFlow(sr.derive("max(z,0)^2"))
    path = flow.path(Setting(Origin.GIVEN, {sr.C_W: 2.0, sr.C_b: 0.0}, 10.0), 20)
    assert math.isnan(path.kernels[-1]) and path.range == math.inf


def test_layers_with_numbers_are_tried_as_they_are():
    good = sr.derive(sr.mlp("relu").subs(C_W=2, C_b=0)).advice()
    assert good.holds and good.origin is Origin.GIVEN and (good.C_W, good.C_b) == (2, 0)
    bad = sr.derive(sr.mlp("relu").subs(C_W=1, C_b=0)).advice()
    assert not bad.holds and "LayerNorm" in bad.nearest.forward and bad.nearest.C_W == 1


def test_variances_that_the_layer_gives_are_told():
    """Dense(gelu(z), C_b=1/10): biases are not zero, and belong to the scale of the inputs."""
    phi = sr.activation("gelu")
    advice = sr.derive(sr.Layer(z + sr.Dense(phi(z), C_b="0.1"))).advice()
    assert advice.holds and advice.C_b == pytest.approx(0.1) and "std=0.1**0.5" in advice.code[1]
    assert advice.inputs_kernel == pytest.approx((advice.kernel - 0.1) / advice.C_W)


def test_biases_are_chosen_where_only_weights_are_given():
    """Tanh at C_W = 3/2: K' = K and chi_perp = 1, solved by quadrature here."""
    advice = sr.derive(sr.Layer(sr.Dense(sr.activation("tanh")(z), C_W="1.5"))).advice()
    density = lambda u: math.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)  # noqa: E731
    average = lambda f, K: integrate.quad(lambda u: density(u) * f(math.sqrt(K) * u), -12, 12)[0]  # noqa: E731
    perp = 1.5 * average(lambda u: (1 - math.tanh(u) ** 2) ** 2, advice.kernel)
    assert advice.holds and perp == pytest.approx(1, rel=1e-6)
    assert advice.C_b == pytest.approx(advice.kernel - 1.5 * average(lambda u: math.tanh(u) ** 2, advice.kernel))


@pytest.mark.exhaustive
def test_inputs_that_are_larger_than_most_stay_finite():
    """relu^2 beside a whole skip: dK/dl = 3/2 C_W K^2 diverges after 1/(3/2 C_W K_0) layers."""
    advice = sr.derive(sr.residual("max(z,0)^2", gamma=1)).advice()
    assert advice.holds and 1 / (1.5 * advice.C_W * 4 * advice.kernel) > 50


@pytest.mark.exhaustive
def test_hopeless_networks_are_no_errors():
    assert not sr.derive("relu").advice(depth=60, width=4).holds


def test_a_batch_is_tried_as_a_batch():
    assert sr.derive(sr.batch_norm("relu", gamma=1)).advice(depth=20).holds


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"depth": 0}, "depth"),
        ({"width": 1}, "width"),
        ({"depth": 10**6}, "too large to be tried"),
        ({"depth": 2.5}, "depth"),
        ({"inputs_kernel": -1}, "mean square -1"),
        ({"inputs_kernel": 0}, "mean square 0"),
        ({"inputs_kernel": "x"}, "inputs_kernel"),
    ],
)
def test_bad_input(arguments, said):
    with pytest.raises(sr.SymresError, match=said):
        sr.derive("relu").advice(**arguments)


def test_the_code_draws_these_variances():
    advice = sr.derive("gelu").advice(depth=10)
    m = torch.nn.Linear(400, 4000)
    for statement in advice.code:
        exec(statement, {"torch": torch, "m": m})
    assert float(m.weight.detach().var()) * 400 == pytest.approx(advice.C_W, rel=0.01)
    assert float(m.bias.detach().var()) == pytest.approx(advice.C_b, rel=0.1)


def test_trials_judge_single_networks_too():
    found = trial(sr.derive("relu"), Setting(Origin.POINT, {sr.C_W: 2.0, sr.C_b: 0.0}, 2.0), 50, 16)
    assert not found.holds and found.leaving > found.networks // 2  # depth/width = 3
    assert np.isfinite(found.score)


@pytest.mark.exhaustive
def test_titles_say_whether_anything_was_tried():
    titles = {
        "swish": "advice for 50 layers of width 512: beta needs a number",
        "scale_invariant": "advice for 50 layers of width 512: a_minus and a_plus need numbers",
        "step": "advice for 50 layers of width 512: nothing could be tried",
        "0.8944*max(z,0)^2 - 0.4472": "advice for 50 layers of width 512: every setting that was tried fails",
        "relu": "advice for 50 layers of width 512",
    }
    for name, title in titles.items():
        assert str(sr.derive(name).advice()).splitlines()[0] == title


@pytest.mark.exhaustive
def test_no_variance_is_advised_that_floats_cannot_hold():
    advice = sr.derive("relu(z - 1000)").advice()
    assert not advice.holds and math.isfinite(advice.C_W)
