"""What a record of a run knows: values, in-place changes, modules, numbers made of values."""

import pytest
import torch
from torch import nn

from symres.torch.tracing.recording import record_run
from symres.torch.tracing.run_record import substituted
from tests.oracles.torch_blocks import Computed


def recorded(function, x=None):
    x = torch.arange(6.0).reshape(2, 3) if x is None else x
    module = function if isinstance(function, nn.Module) else Computed(function)
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    return record_run(module, (x,), {}, x)


def names(record):
    return [call.name for call in record.calls]


def test_functions_methods_and_operators_have_one_name():
    record = recorded(lambda x: torch.add(x, 1) + x.add(2) * (1 + x))
    assert names(record) == ["add", "add", "add", "mul", "add"]


def test_constants_are_not_followed():
    record = recorded(lambda x: x + torch.ones(3).exp() + torch.zeros_like(x).cos() + x.shape[0])
    assert names(record) == ["add", "add", "add"]
    assert record.calls[0].sources == (0,)


def test_a_change_in_place_is_a_new_value():
    record = recorded(lambda x: torch.relu_(x * 1) + 1)
    (product, relu, total) = record.calls
    assert relu.sources == product.results and relu.changed == 1
    assert total.sources == relu.results != product.results
    assert record.output == total.results[0]


def test_assigned_entries_are_a_new_value():
    def function(x):
        kept = torch.zeros(2, 3)
        kept[:, 0] = x[:, 1]
        return kept

    record = recorded(function)
    assert names(record) == ["getitem", "setitem"] and record.output == record.calls[-1].results[0]


def test_memory_changed_through_a_view_is_marked():
    def function(x):
        x = x * 1
        x.view(-1).relu_()
        return x

    record = recorded(function)
    assert record.output in record.overwritten


def test_other_memory_is_not_marked():
    assert not recorded(lambda x: torch.relu_(x * 1).view(-1) + 1).overwritten


@pytest.mark.parametrize(
    "read",
    [
        lambda x: bool(x.sum() > 0),
        lambda x: x.sum().item(),
        lambda x: x.tolist(),
        lambda x: float(x.sum()),
        lambda x: x.numpy(),
        lambda x: torch.equal(x, x + 1),
    ],
)
def test_numbers_made_of_values_are_noticed(read):
    def function(x):
        read(x)
        return x + 1

    record = recorded(nn.Sequential(nn.Identity(), Computed(function)))
    assert [[call.name for call in inside] for inside in record.reads] == [["", "1"]]


def test_checks_of_tokens_are_no_numbers_made_of_the_stream():
    table = torch.randn(7, 3)

    def looked_at(tokens):
        assert 6 not in tokens[:, -1:] + 0 and bool((tokens < 7).all())
        return table[tokens]

    def routed(tokens):
        return table[tokens] * int(table[tokens].sum(-1).argmax())

    tokens = torch.tensor([[1, 2], [3, 4]])
    assert not recorded(looked_at, tokens).reads
    assert recorded(routed, tokens).reads


@pytest.mark.parametrize("harmless", [lambda x: x.float(), lambda x: x.shape, lambda x: x.dim(), lambda x: len(x)])
def test_shapes_and_types_are_no_numbers_made_of_values(harmless):
    def function(x):
        harmless(x)
        return x + 1

    assert not recorded(function).reads


def test_gradients_that_do_not_pass():
    def function(x):
        with torch.no_grad():
            y = x.exp()
        return y + x.detach() + x.cos()

    found = {call.name: call.has_gradients for call in recorded(function).calls}
    assert found == {"exp": False, "detach": False, "cos": True, "add": True}


def test_an_operation_that_refuses_gradients_is_run_without():
    true = torch.cos

    def cos(x):
        if x.requires_grad:
            raise RuntimeError("no gradients here")
        return true(x)

    def function(x):
        return torch.overrides.handle_torch_function(cos, (x,), x).exp()

    found = {call.name: call.has_gradients for call in recorded(function).calls}
    assert found == {"cos": False, "exp": True}


def test_modules_and_what_goes_in_and_out():
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    record = recorded(model)
    assert [[m.name for m in call.inside] for call in record.calls] == [["", "0"], ["", "1", "1.0"], ["", "1", "1.1"]]
    left = {call.name: number for call, number in record.left.items()}
    assert left["1"] == left["1.1"] == left[""] == record.output
    entered = {call.name: number for call, number in record.entered.items()}
    assert entered["0"] == 0 and entered["1"] == left["0"]


def test_kernels_are_those_when_the_value_was_made():
    record = recorded(lambda x: torch.relu_(x - 3) + 1)
    before = record.calls[0].results[0]
    assert record.mean_squares[before] == pytest.approx(19 / 6)
    assert record.mean_squares[record.calls[1].results[0]] == pytest.approx(5 / 6)


def test_a_gated_unit_is_what_it_consists_of():
    record = recorded(nn.GLU(), torch.randn(2, 4))
    assert names(record) == ["chunk", "sigmoid", "mul"]


def test_the_given_tensor_stays():
    x = torch.arange(6.0).reshape(2, 3)
    recorded(lambda t: t.mul_(2), x)
    assert torch.equal(x, torch.arange(6.0).reshape(2, 3)) and not x.requires_grad


def test_arguments_are_put_back():
    (call,) = recorded(lambda x: torch.cat([x, torch.ones(2, 1)], dim=-1)).calls
    result = call.function(*substituted(call.args, {0: torch.zeros(2, 1)}), **call.kwargs)
    assert torch.equal(result, torch.tensor([[0.0, 1.0]] * 2))
