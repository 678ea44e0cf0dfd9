"""What a model changes in place is named; numbers are those of the same model without it; all is as before."""

import re
import warnings

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from tests.oracles.modern_networks import Overwriting
from tests.torch_state import untouched


def data():
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(0))


class Shifts(nn.Module):
    """Changes its input, before the first module that it has."""

    def __init__(self, in_place):
        super().__init__()
        self.dense, self.in_place = nn.Linear(8, 8), in_place

    def forward(self, x):
        x = x.add_(1) if self.in_place else x + 1
        return self.dense(x)


def clipped(in_place):
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=in_place), nn.Linear(8, 8))


class Accumulates(nn.Module):
    """Adds its branch to the stream in place, which the weights' gradients need as it was."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        x += self.second(torch.tanh(self.first(x)))
        return x


class Overwrites(nn.Module):
    """Doubles what the derivative of the sigmoid is computed from."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(8, 8)

    def forward(self, x):
        return torch.sigmoid(self.dense(x)).mul_(2)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (Shifts, r"^Shifts changes the model's input in place"),
        (lambda in_place: nn.Sequential(Shifts(in_place)), r"^0 \(Shifts\) changes the model's input in place"),
        (clipped, None),  # tensors that are observed may be changed in place afterwards
    ],
)
def test_changes_are_named_and_do_not_change_the_numbers(build, told):
    torch.manual_seed(0)
    model, other, inputs = build(True), build(False), data()
    other.load_state_dict(model.state_dict())
    with untouched(model, inputs), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = st.measure(model, inputs, exact=True, progress=False)
    said = [str(each.message) for each in caught if each.category is UserWarning]
    assert len(said) == (0 if told is None else 1) and all(re.search(told, text) for text in said)
    plain = st.measure(other, inputs, exact=True, progress=False)
    assert not plain.notes and found.to_dict()["places"] == plain.to_dict()["places"]


@pytest.mark.parametrize(
    ("block", "use", "options"),
    [
        (Overwrites, st.measure, {}),
        (Overwrites, st.predict, {}),
        (Overwrites, st.tune_, {"layers": "*.dense"}),
        (Accumulates, st.tune_, {"growth": 2}),
    ],
)
def test_gradients_that_are_overwritten_are_one_error_with_the_module(block, use, options):
    torch.manual_seed(0)
    model, inputs = nn.Sequential(nn.Linear(8, 8), block(), block()), data()
    told = rf"gradients through 1 \({block.__name__}\): .*in place there"
    with untouched(model, inputs), pytest.raises(DeclarationError, match=told) as refused:
        use(model, inputs, progress=False, **options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("build", [lambda: nn.Sequential(Shifts(True)), lambda: clipped(True)])
def test_read_and_init_leave_inputs_alone(build):
    torch.manual_seed(0)
    model, inputs = build(), data()
    assert st.read(model, inputs).recognised
    st.init_(model, inputs=inputs)
    assert torch.equal(inputs, data()) and model.training


def test_a_loop_that_overwrites_what_gradients_need_is_named_for_integers_too():
    tokens = torch.randint(0, 20, (4, 6), generator=torch.Generator().manual_seed(0))
    with pytest.raises(DeclarationError, match=r"gradients through cell \(Cell\): .*in place there") as refused:
        st.measure(Overwriting(), tokens, ["embedding", "out"])
    assert "\n" not in str(refused.value) and "Hint" not in str(refused.value)
