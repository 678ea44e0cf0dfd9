"""Advice for layers of tokens: what is small, what becomes of tokens, and where nothing helps."""

import pytest

import symres as sr
from symres.results.advice.parts import Origin

GPT2 = "0.02, last over sqrt(2 depth) (GPT-2)"


@pytest.fixture(scope="module")
def pre_ln():
    return sr.derive(sr.transformer("relu"), positions=sr.Tokens(8))


@pytest.fixture(scope="module")
def advice(pre_ln):
    return pre_ln.advice(depth=6, width=64)


def test_last_weights_are_small_and_others_are_not(advice):
    assert advice.holds and advice.origin is Origin.BRANCH and advice.last == ("C_2", "C_A")
    assert advice.parameters["C_1"] == 1 and advice.parameters["C_2"] == advice.parameters["C_A"] < 0.2
    assert "C_2 = C_A = " in advice.reasons[0] and advice.code == () and advice.C_W is None


def test_equal_tokens_keep_kernels_and_gradients_within_a_factor_of_two(pre_ln, advice):
    kernel, shared = pre_ln.kernels(6, 1, C=1, **advice.parameters)[-1]
    gradient = pre_ln.apjn(0, 6, 1, 1, tokens="all", **advice.parameters)
    assert kernel == shared and max(float(kernel), float(gradient)) == pytest.approx(2, rel=0.01)


def test_ends_are_those_of_the_theory(pre_ln, advice):
    small = 64 * 0.02**2
    gpt2 = sr.derive(sr.transformer("relu", C_Q=small, C_K=small), positions=sr.Tokens(8))
    expected = {
        "": (pre_ln, advice.parameters),
        GPT2: (gpt2, {"C_A": small**2 / 12, "C_1": small, "C_2": 4 * small / 12}),
    }
    ends = {end.scheme: end for end in advice.token_ends}
    assert len(ends) == 5 == len(advice.schemes) + 1
    for scheme, (theory, numbers) in expected.items():
        kernel, shared = theory.kernels(6, 1, C=0, **numbers)[-1]
        gradient = theory.apjn(0, 6, 1, 0, tokens="all", **numbers)
        end = ends[scheme]
        assert end.tokens == 8
        assert (end.kernel, end.similarity) == pytest.approx((float(kernel), float(shared / kernel)), rel=1e-9)
        assert end.gradient == pytest.approx(float(gradient), rel=1e-9)


@pytest.mark.exhaustive
def test_behind_norms_tokens_decide():
    advice = sr.derive(sr.transformer("relu", place="post"), positions=sr.Tokens(8)).advice(depth=6, width=64)
    assert advice.holds and advice.token_ends[0].similarity == pytest.approx(0.5, abs=0.01)


def test_tokens_that_become_equal_whatever_is_drawn():
    half = sr.derive("z/2 + Attention(LayerNorm(z), C_A, 0)", positions=sr.Tokens(8))
    advice = half.advice(depth=12, width=2000)
    assert not advice.holds and "tokens become equal in 12 layers" in advice.reasons[0]


@pytest.mark.parametrize("layer", ["conv_resnet", "mixer"])
def test_other_positions_are_as_if_all_were_equal(layer):
    """Convolutions, pools and token mixing are dense layers there, norms over positions those at each."""
    theory = sr.derive(getattr(sr, layer)("relu"))
    advice = theory.advice(depth=4, width=64)
    assert advice.holds and advice.parameters["C_1"] == 1 and advice.token_ends == ()
    assert "networks of 4 layers and width 64 whose positions are all equal" in str(advice)
    assert sr.derive(getattr(sr, layer)("relu"), positions=sr.Torus(8)).advice(4, 64).parameters == advice.parameters


def test_nodes_that_become_dense():
    nodes = {
        "Conv(relu(z), 2, 1/4, 5)": "Dense(relu(z), C_W=2, C_b=1/4)",
        "Pool(relu(z))": "relu(z)",
        "TokenMix(z, 2, 1)": "Dense(z, C_W=2, C_b=1)",
        'LayerNorm(z, 1/9, over="positions")': "LayerNorm(z, epsilon=1/9)",
    }
    for text, alike in nodes.items():
        node = sr.layer(f"z + Dense({text})").forward.atoms(sr.Node)
        assert alike in {str(each.of_equal_positions()) for each in node}


def test_many_tokens_of_narrow_networks_are_told():
    """Scores of GPT-2's block have the variance C_Q C_K (1 - C/K) behind a norm, that is 4 here."""
    theory = sr.derive(sr.transformer("relu", C_Q=2, C_K=2), positions=sr.Tokens(8))
    few, many = (theory.advice(2, width) for width in (400, 64))
    overlap = float(theory.kernel_map.evalf(12, K=1, C=0, C_A=1, C_1=0, C_2=0)) - 1
    assert [advice.token_ends[0].crowding for advice in (few, many)] == pytest.approx([0, 4 / 64 / overlap])
    assert "many tokens" not in str(few)
    assert f"adds to kernels by {100 * 4 / 64 / overlap:.2g} % at first order" in str(many)


class Averaged(sr.Node):
    """A node that mixes positions, and says nothing about equal ones."""

    def lower(self, program, u):
        return program.pool(u)

    def sample(self, net, u):
        return net.pool(u)


def test_a_node_without_a_word_on_equal_positions():
    advice = sr.layer("z + Dense(Averaged(z))").derive(positions=sr.Tokens(8)).advice(4, 64)
    assert not advice.holds and "define of_equal_positions(self)" in str(advice)


def test_given_variances_are_not_drowned_by_large_inputs():
    small, large = (sr.transformer("relu", C_A=C, C_1=1, C_2=C) for C in ("1/50", 2))
    advice = sr.derive(small, positions=sr.Tokens(8)).advice(4, 64)
    assert advice.holds and "have variance 1." in str(advice)
    advice = sr.derive(large, positions=sr.Tokens(8)).advice(8, 64)
    assert not advice.holds and "8 layers change a kernel of 1 of 8 tokens" in str(advice)


def test_one_token_has_nobody_to_become_equal_to():
    advice = sr.derive(sr.transformer("relu"), positions=sr.Tokens(1)).advice(4, 64)
    assert advice.holds and advice.token_ends == ()
