"""Random numbers in a forward pass are noticed in any mode, and the module that draws them is named."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import symres.torch as st
from symres.core.errors import DeclarationError
from symres.torch.models.call_arguments import CallArguments
from symres.torch.models.model_state import varies
from tests.oracles.torch_blocks import Computed

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))


def drops(x):
    """Dropout that no mode switches off."""
    return functional.dropout(x, 0.3, training=True)


def noisy(x, dense):
    """Noise in its own forward, behind a module that draws nothing."""
    h = dense(x)
    return h + 0.1 * torch.randn(h.shape)


def skips(x, *layers):
    """Stochastic depth: other modules run each time."""
    for layer in layers:
        x = layer(x) if float(torch.rand(())) < 0.5 else x
    return x


@pytest.mark.parametrize(
    ("forward", "layers", "named"),
    [(drops, 0, r"1 \(Computed\)"), (noisy, 1, r"1 \(Computed\)"), (skips, 12, "Sequential")],
)
def test_the_module_that_draws_is_named(forward, layers, named):
    torch.manual_seed(0)
    part = Computed(forward, *(nn.Linear(8, 8) for _ in range(layers)))
    model, state = nn.Sequential(nn.Linear(8, 8), part, nn.Linear(8, 8)), torch.get_rng_state()
    with pytest.warns(UserWarning, match=f"passes on the same inputs differ from {named} on") as caught:
        found = st.measure(model, X, "2", probes=2, progress=False)
    assert [each.category for each in caught].count(UserWarning) == 1 and len(found.notes) == 1
    with pytest.raises(DeclarationError, match=f"passes on the same inputs differ from {named} on"):
        st.tune_(model, X, layers="2", progress=False)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    "build",
    [
        lambda: nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True),
        lambda: nn.GRU(8, 8, num_layers=2, dropout=0.1, batch_first=True),
    ],
)
def test_modules_that_drop_out_by_themselves_are_named(build):
    def forward(x, mix, dense):
        return dense(mix(x, x, x)[0] if isinstance(mix, nn.MultiheadAttention) else mix(x)[0])

    model, inputs = Computed(forward, build(), nn.Linear(8, 8)), torch.randn(2, 3, 8)
    with pytest.warns(UserWarning, match=r"dropout is active in layers\.0") as caught:
        st.measure(model, inputs, "layers.1", mode="train", probes=1, progress=False)
    assert [each.category for each in caught].count(UserWarning) == 1
    assert not st.measure(model, inputs, "layers.1", probes=1, progress=False).notes
    with pytest.raises(DeclarationError, match=r"dropout is active in layers\.0; use mode='eval'"):
        st.tune_(model, inputs, layers="layers.1", mode="train", progress=False)


def test_differences_of_rounding_do_not_count():
    class Summing(nn.Module):
        """A sum whose order changes from pass to pass, as that of some devices does."""

        def __init__(self):
            super().__init__()
            self.calls = []

        def forward(self, x):
            self.calls.append(0)
            return x * (1 + 1e-7 * len(self.calls))

    assert not varies(Summing(), CallArguments.of(X))
