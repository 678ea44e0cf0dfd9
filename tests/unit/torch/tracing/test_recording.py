"""What a record of a run knows: values, in-place changes, modules, numbers made of values."""

import pytest
import torch
from torch import nn

from symres.torch.tracing.recording import record_run
from tests.oracles.torch_blocks import Computed


def recorded(function, x=None):
    x = torch.arange(6.0).reshape(2, 3) if x is None else x
    module = function if isinstance(function, nn.Module) else Computed(function)
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    return record_run(module, (x,), {}, x)


def names(record):
    return [call.name for call in record.calls]


def test_assigned_entries_are_a_new_value():
    def function(x):
        kept = torch.zeros(2, 3)
        kept[:, 0] = x[:, 1]
        return kept

    record = recorded(function)
    assert names(record) == ["getitem", "setitem"] and record.output == record.calls[-1].results[0]


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


def test_a_gated_unit_is_what_it_consists_of():
    record = recorded(nn.GLU(), torch.randn(2, 4))
    assert names(record) == ["chunk", "sigmoid", "mul"]
