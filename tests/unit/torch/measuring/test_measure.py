"""Measured kernels and Jacobian norms against Jacobians entry by entry, closed forms, and what a user may pass."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from tests.oracles.brute_jacobians import of_stack
from tests.oracles.modern_networks import Fused
from tests.oracles.torch_blocks import Computed, NormedBlock, SineInReverse

WIDTH = 6


def in_place(x, dense):
    """Changes what enters it: the input of the model, or the tensor at the place before."""
    x += 1
    return dense(torch.tanh(x)).add_(1)


def residual():
    return NormedBlock(WIDTH, nn.Tanh(), wide=1)


def dense():
    return nn.Sequential(nn.Linear(5, WIDTH), nn.ReLU(inplace=True), nn.Linear(WIDTH, WIDTH), nn.GELU())


MODELS = {
    "dense": (dense, (3, 5)),
    "convolutional": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.Tanh(), nn.Conv2d(3, 2, 3), nn.ReLU(inplace=True)),
        (2, 2, 5, 5),
    ),
    "residual": (lambda: nn.Sequential(residual(), residual(), nn.Linear(WIDTH, 2)), (4, WIDTH)),
    "attention": (lambda: nn.Sequential(Fused(WIDTH, 2), residual()), (2, 4, WIDTH)),
    "in place": (lambda: nn.Sequential(*(Computed(in_place, nn.Linear(WIDTH, WIDTH)) for _ in "12")), (3, WIDTH)),
    "gated": (lambda: nn.Sequential(nn.Linear(5, 8), nn.GLU(), nn.Linear(4, 6)), (3, 5)),
    "encoder": (
        lambda: nn.Sequential(nn.TransformerEncoderLayer(WIDTH, 2, 8, batch_first=True), nn.Linear(WIDTH, 3)),
        (2, 3, WIDTH),
    ),
}


def made(name, dtype=torch.float64):
    build, shape = MODELS[name]
    torch.manual_seed(7)
    return build().to(dtype).eval(), torch.randn(shape, dtype=dtype)


def children(name, module):
    return bool(name) and "." not in name


@pytest.mark.parametrize("name", MODELS)
def test_exact_norms_are_those_of_the_whole_jacobian(name):
    model, inputs = made(name)
    expected = np.array(of_stack(model, inputs))
    found = st.measure(model, inputs, children, exact=True)
    assert [place.name for place in found.places] == [str(k) for k in range(len(model))]
    columns = ["kernel", "apjn_forward", "apjn_backward"]
    np.testing.assert_allclose(found.frame()[columns].to_numpy(), expected, rtol=1e-11)


@pytest.mark.parametrize("name", ["dense", "convolutional", "attention", "in place"])
def test_random_directions_agree_with_the_whole_jacobian_within_their_errors(name):
    model, inputs = made(name)
    found = st.measure(model, inputs[:1].expand_as(inputs), children, exact=False, probes=300)
    expected = np.array(of_stack(model, inputs[:1]))
    for place, (_, forward, backward) in zip(found.places, expected, strict=True):
        for number, truth in ((place.apjn_forward, forward), (place.apjn_backward, backward)):
            assert abs(number - truth) < 4 * number.error + 1e-12
            assert number.error < 0.1 * truth


def test_of_a_batch_all_derivatives_of_a_normalised_place_add_up():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 5)).double().train()
    inputs = torch.randn(6, 4, dtype=torch.float64)
    expected = np.array(of_stack(model, inputs))
    exact, random = (st.measure(model, inputs, children, mode="train", exact=e, probes=300) for e in (True, False))
    assert "1/inputs" in exact.forward_method and "1/inputs" in exact.backward_method
    columns = ["kernel", "apjn_forward", "apjn_backward"]
    np.testing.assert_allclose(exact.frame()[columns].to_numpy(), expected, rtol=1e-11)
    for place, (_, forward, backward) in zip(random.places, expected, strict=True):
        for name, truth in (("apjn_forward", forward), ("apjn_backward", backward)):
            error = place.error_given_inputs(name)
            assert abs(place.number(name) - truth) < 4 * error + 1e-12 and error < 0.03 * truth


@pytest.mark.parametrize("exact", [True, False])
def test_an_operation_without_a_forward_rule_is_differentiated_in_reverse(exact):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), Computed(SineInReverse.apply), nn.Linear(4, 4)).double()
    inputs = torch.randn(2, 3, dtype=torch.float64)
    expected = [forward for _, forward, _ in of_stack(model, inputs)]
    found = st.measure(model, inputs, children, exact=exact, probes=1000)
    assert found.forward_method.startswith("reverse-mode")
    for place, truth in zip(found.places, expected, strict=True):
        error = 0.0 if exact else place.error_given_inputs("apjn_forward")
        assert abs(place.apjn_forward - truth) < 4 * error + 1e-11 and error < 0.03 * truth


def test_covariances_cosines_and_tokens_are_what_they_are_called():
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(5, WIDTH)).double()
    inputs = torch.randn(3, 4, 5, dtype=torch.float64)
    place = st.measure(model, inputs, nn.Linear).places[0]
    h = model(inputs).detach().numpy()
    gram = np.einsum("atf,btf->ab", h, h) / (4 * WIDTH)
    np.testing.assert_allclose(place.gram, gram, rtol=1e-12)
    pairs = [(a, b) for a in range(3) for b in range(a)]
    assert place.covariance == pytest.approx(np.mean([gram[p] for p in pairs]), rel=1e-12)
    cosines = [gram[a, b] / math.sqrt(gram[a, a] * gram[b, b]) for a, b in pairs]
    assert place.cosine == pytest.approx(np.mean(cosines), rel=1e-12)
    units = h / np.linalg.norm(h, axis=2, keepdims=True)
    tokens = [units[x, s] @ units[x, t] for x in range(3) for s in range(4) for t in range(s)]
    assert place.token_cosine == pytest.approx(np.mean(tokens), rel=1e-11)
    assert place.mean == pytest.approx(h.mean(), rel=1e-11)
    assert place.axes == "inputs, tokens, features"


def test_positions_of_images_are_no_features():
    torch.manual_seed(5)
    model = nn.Sequential(nn.Conv2d(2, 3, 1)).double()
    inputs = torch.randn(2, 2, 3, 3, dtype=torch.float64)
    place = st.measure(model, inputs, nn.Conv2d).places[0]
    h = model(inputs).detach().flatten(2).numpy()
    units = h / np.linalg.norm(h, axis=1, keepdims=True)
    cosines = [units[x, :, s] @ units[x, :, t] for x in range(2) for s in range(9) for t in range(s)]
    assert place.token_cosine == pytest.approx(np.mean(cosines), rel=1e-11)


@pytest.mark.parametrize("loss", ["mse", "cross_entropy", "function"])
def test_gradients_of_a_loss(loss):
    model, inputs = made("dense")
    targets = {"mse": torch.randn(3, WIDTH).double(), "cross_entropy": torch.tensor([0, 2, 5]), "function": None}[loss]
    functions = {
        "mse": lambda y: nn.functional.mse_loss(y, targets),
        "cross_entropy": lambda y: nn.functional.cross_entropy(y, targets),
        "function": lambda y: y.pow(4).sum(dim=1).mean(),
    }
    passed = functions[loss] if loss == "function" else loss
    found = st.measure(model, inputs, children, loss=passed, targets=targets, probes=1)
    halved = st.measure(model, inputs, children, loss=passed, targets=targets, probes=1, batch_size=2)
    for last, place in enumerate(found.places, 1):
        h = model[:last](inputs).detach().requires_grad_()
        functions[loss](model[last:](h.clone())).backward()
        assert place.gradient_norm == pytest.approx(float(h.grad.norm()), rel=1e-11)
        assert halved.places[last - 1].gradient_norm == pytest.approx(float(h.grad.norm()), rel=1e-11)


def test_parts_of_the_inputs_give_the_same():
    model, inputs = made("residual")
    whole = st.measure(model, inputs, exact=True).frame()
    parts = st.measure(model, inputs, exact=True, batch_size=3).frame()
    for column in ("kernel", "kernel_error", "mean", "apjn_forward", "apjn_forward_error", "apjn_backward"):
        np.testing.assert_allclose(parts[column], whole[column], rtol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_every_precision(dtype):
    model, inputs = made("residual")
    truth = st.measure(model, inputs, exact=True)
    found = st.measure(model, inputs, exact=True, dtype=dtype)
    assert found.dtype == str(dtype).removeprefix("torch.")
    assert next(model.parameters()).dtype == torch.float64
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 5e-2}[dtype]
    for name in ("kernel", "apjn_forward", "apjn_backward"):
        np.testing.assert_allclose(found.frame()[name], truth.frame()[name], rtol=tolerance)


def test_from_a_place_the_norm_is_that_of_the_rest():
    model, inputs = made("residual")
    place = model[:1](inputs).detach()
    expected = of_stack(model[1:], place)
    found = st.measure(model, inputs, children, start="0", exact=True)
    assert [p.apjn_forward for p in found.places[1:]] == pytest.approx([row[1] for row in expected], rel=1e-11)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.h = nn.Embedding(11, WIDTH), nn.ModuleList([residual(), residual()])

    def forward(self, ids, scale=1.0):
        x = self.embed(ids)
        for block in self.h:
            x = block(x)
        return {"logits": scale * x, "ids": ids}


def test_integer_inputs_begin_at_the_first_place():
    torch.manual_seed(2)
    model, ids = Words().double(), torch.randint(11, (2, 3))
    found = st.measure(model, {"ids": ids}, exact=True)
    assert found.start == "input of h.0" == found.places[0].name
    stack = nn.Sequential(*model.h)
    expected = of_stack(stack, model.embed(ids).detach())
    columns = ["kernel", "apjn_forward", "apjn_backward"]
    np.testing.assert_allclose(found.frame()[columns].to_numpy()[1:], np.array(expected), rtol=1e-11)
    assert found.places[0].apjn_backward == pytest.approx(expected[-1][1], rel=1e-11)
    with pytest.raises(DeclarationError, match="integers"):
        st.measure(model, {"ids": ids}, start="input")


def test_networks_are_drawn_one_after_the_other():
    inputs, kernels = torch.randn(3, 5), []
    both = st.measure(dense, inputs, seeds=2, seed=5, exact=True)
    for seed in (5, 6):
        torch.manual_seed(seed)
        kernels.append(st.measure(dense(), inputs, exact=True).places[1].kernel)
    assert both.places[1].kernel == pytest.approx(np.mean(kernels), rel=1e-6)
    assert both.places[1].kernel.error == pytest.approx(abs(kernels[0] - kernels[1]) / 2, rel=1e-5)
    assert both.errors_over == "networks"


def test_the_seed_decides_everything():
    model, inputs = made("dense")
    first, again, other = (st.measure(model, inputs, seed=k, exact=False).to_dict()["places"] for k in (3, 3, 4))
    assert first == again != other


def test_more_probes_than_directions_are_all_directions():
    model, inputs = made("dense")
    found = st.measure(model, inputs, probes=5)
    assert "all 5 directions" in found.forward_method and "5 random" in found.backward_method


def test_progress_is_reported():
    model, inputs = made("dense")
    told = []
    st.measure(model, inputs, progress=lambda what, share: told.append(share))
    assert told == sorted(told) and 0 < told[0] < told[-1] <= 1


def test_blocks_are_chosen_with_what_enters_them():
    model = nn.Sequential(nn.Linear(5, WIDTH), residual(), nn.ReLU(), residual())
    inputs = torch.randn(3, 5)
    names = [place.name for place in st.measure(model, inputs, blocks=NormedBlock).places]
    assert names == ["input of 1", "1", "input of 3", "3"]
    assert [place.name for place in st.measure(model, inputs, NormedBlock).places] == ["1", "3"]
    with pytest.raises(DeclarationError, match="only one is allowed"):
        st.measure(model, inputs, NormedBlock, blocks=NormedBlock)


def test_a_batch_cannot_be_split_where_inputs_depend_on_each_other():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    with pytest.raises(DeclarationError, match="batch_size=None"):
        st.measure(model, torch.randn(4, 3), mode="train", batch_size=2)


def test_an_output_without_derivatives_has_no_backward_norms():
    model = Computed(lambda x, dense: dense(x).argmax(dim=1), nn.Linear(3, 3))
    with pytest.warns(UserWarning, match="no backward norms"):
        found = st.measure(model, torch.ones(2, 3), probes=1)
    assert math.isnan(found.places[0].apjn_backward) and found.places[0].apjn_forward > 0


def test_places_that_do_not_reach_the_output_have_norm_zero():
    model = Computed(lambda x, aside, used: (aside(x), used(x))[1], nn.Linear(3, 3), nn.Linear(3, 3))
    aside, used = st.measure(model, torch.ones(2, 3), probes=3).places
    assert aside.apjn_backward == 0 and used.apjn_backward == pytest.approx(1)


def test_another_network_each_time_is_refused():
    built = []

    def build():
        built.append(1)
        return nn.Sequential(*(nn.Linear(3, 3) for _ in built))

    with pytest.raises(DeclarationError, match="different names"):
        st.measure(build, torch.ones(2, 3), seeds=2)


def test_models_without_parameters_and_with_several_arguments():
    class Sum(nn.Tanh):
        def forward(self, x, scale, shift=0.0):
            return super().forward(scale * x + shift)

    inputs = torch.ones(2, 3)
    (place,) = st.measure(Sum(), (inputs, 2.0), exact=True).places
    assert place.apjn_forward == pytest.approx((2 * (1 - math.tanh(2) ** 2)) ** 2, rel=1e-4)
    (named,) = st.measure(Sum(), {"x": inputs, "scale": 2.0, "shift": torch.zeros(3)}, exact=True).places
    assert named.apjn_forward == place.apjn_forward


class SkippingLayer(nn.Module):
    """Every second pass goes past the first layer."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.passes = nn.Linear(3, 3), nn.Linear(3, 3), 0

    def forward(self, x):
        self.passes += 1
        return self.second(self.first(x) if self.passes % 2 else x)


def test_no_norms_from_a_start_that_a_pass_goes_past():
    torch.manual_seed(0)
    found = st.measure(SkippingLayer(), torch.randn(4, 3), "*", start="first", exact=False, probes=4)
    assert math.isnan(found["second"].apjn_forward)
