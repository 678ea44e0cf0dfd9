"""Names of other libraries, wherever a name is expected: what it is called here, or that there is no theory for it."""

import pytest

import symres as sr

ELSEWHERE = "symres has no theory for {}; symres.torch measures, reads and initialises"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("attention", ELSEWHERE.format("attention")),
        ("MultiheadAttention", ELSEWHERE.format("attention")),
        ("softmax", ELSEWHERE.format("softmax")),
        ("MaxPool", ELSEWHERE.format("pooling")),
        ("LSTM", ELSEWHERE.format("recurrent layers")),
        ("Conv2d", ELSEWHERE.format("convolutions and other mixing of positions")),
        ("dropout", "leave it out: in evaluation it does nothing"),
        ("Linear", "layers with weights are called Dense: write Dense(u)"),
        ("GroupNorm", "write LayerNorm(u)"),
        ("Scale", "write the factor: z + xi*Dense(phi(z))"),
        ("resnet", "the layer is residual"),
    ],
)
def test_a_name_of_another_library_is_answered_wherever_it_stands(name, remedy):
    for declare in (
        lambda: sr.activation(name),
        lambda: sr.activation(f"relu({name}(z))"),
        lambda: sr.layer(name, phi="relu"),
        lambda: sr.layer(f"z + Dense({name}(phi(z)))", phi="relu"),
    ):
        with pytest.raises(sr.DeclarationError) as refusal:
            declare()
        assert remedy in refusal.value.remedy
        assert "did you mean" not in str(refusal.value)


@pytest.mark.parametrize("name", ["foobar", "max2d", "snail"])
def test_nothing_is_guessed_for_what_is_not_alike(name):
    with pytest.raises(sr.DeclarationError) as refusal:
        sr.activation(name)
    assert "did you mean" not in str(refusal.value)


def test_a_parameter_may_have_a_name_of_another_library():
    with pytest.raises(sr.DeclarationError, match="give a parameter a number with --set scale="):
        sr.activation("tanh(scale*z)")
