"""What cannot be measured is refused in one line that names it."""

import math

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError

NET = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
X = torch.ones(2, 3)


class NoOutput(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(3, 3)

    def forward(self, x):
        return self.dense(x).argmax(dim=1)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((NET, X), {"seeds": 3}, "pass a function that builds it"),
        ((NET, X), {"seeds": 0}, "seeds"),
        ((NET, X), {"probes": 1.5}, "probes"),
        ((NET, X), {"seed": -1}, "seed"),
        ((NET, X), {"mode": "test"}, "mode='test'"),
        ((NET, X), {"dtype": torch.int64}, "dtype=torch.int64"),
        ((NET, X), {"batch_size": 0}, "batch_size"),
        ((NET, X), {"start": "5"}, "start='5'"),
        ((NET, X), {"loss": "hinge"}, "'hinge'"),
        ((NET, X), {"loss": "mse"}, "targets="),
        ((NET, X), {"loss": "mse", "targets": torch.ones(2, 3)}, "equal shapes"),
        ((NET, X), {"loss": "cross_entropy", "targets": torch.ones(2)}, "integer of the class"),
        ((NET, X), {"loss": lambda y: y}, "single number"),
        ((NET, torch.ones(2, 5)), {}, "mat1 and mat2"),
        ((NET, 3), {}, "type int"),
        ((NET, {"y": X}), {}, "TypeError"),
        ((NET, ()), {}, "no tensor"),
        ((NET, torch.ones(())), {}, r"shape is \(\)"),
        ((NET, torch.ones(0, 3)), {}, r"shape is \(0, 3\)"),
        ((3, X), {}, "not an nn.Module"),
        ((lambda: 3, X), {}, "returned an object of the type int"),
    ],
)
def test_refused(arguments, options, words):
    with pytest.raises(DeclarationError, match=words) as refused:
        st.measure(*arguments, **options)
    assert "\n" not in str(refused.value)


def test_a_batch_cannot_be_split_where_inputs_depend_on_each_other():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    with pytest.raises(DeclarationError, match="batch_size=None"):
        st.measure(model, torch.randn(4, 3), mode="train", batch_size=2)


def test_an_output_without_derivatives_has_no_backward_norms():
    with pytest.warns(UserWarning, match="no backward norms"):
        found = st.measure(NoOutput(), X, probes=1)
    assert math.isnan(found.places[0].apjn_backward) and found.places[0].apjn_forward > 0


def test_places_that_do_not_reach_the_output_have_norm_zero():
    class Aside(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.aside = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            self.aside(x)
            return self.used(x)

    found = st.measure(Aside(), X, probes=3)
    assert found["aside"].apjn_backward == 0 and found["used"].apjn_backward == pytest.approx(1)


def test_another_network_each_time_is_refused():
    built = []

    def build():
        built.append(1)
        return nn.Sequential(*(nn.Linear(3, 3) for _ in built))

    with pytest.raises(DeclarationError, match="different names"):
        st.measure(build, X, seeds=2)


def test_models_without_parameters_and_with_several_arguments():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = nn.Tanh()

        def forward(self, x, scale, shift=0.0):
            return self.act(scale * x + shift)

    found = st.measure(Sum(), (X, 2.0), "act", exact=True)
    assert found["act"].apjn_forward == pytest.approx((2 * (1 - math.tanh(2) ** 2)) ** 2, rel=1e-4)
    named = st.measure(Sum(), {"x": X, "scale": 2.0, "shift": torch.zeros(3)}, "act", exact=True)
    assert named["act"].apjn_forward == found["act"].apjn_forward
