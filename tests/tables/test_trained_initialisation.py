"""The experiment on digits: its training against PyTorch's optimisers, and a small run of the whole."""

import pytest
import torch
from torch import nn

from derivations import trained_initialisation as experiment


@pytest.mark.parametrize("adam", [False, True])
def test_networks_that_run_together_train_like_single_ones(adam):
    sizes = experiment.Sizes(depth=3, width=8)
    x, y, _, _ = experiment.digits()
    x, y = x[:16], y[:16]
    torch.manual_seed(0)
    nets = [experiment.network(nn.Tanh, 64, sizes) for _ in range(2)]
    rates = (0.1, 0.01)
    stack = experiment.Stack(nets, nn.Tanh(), rates, adam)
    for _ in range(3):
        stack.step(x, y)
    found = stack.losses(x, y).detach().view(2, 2)
    for column, net in enumerate(nets):
        for row, rate in enumerate(rates):
            single = experiment.network(nn.Tanh, 64, sizes)
            single.load_state_dict(net.state_dict())
            made = torch.optim.Adam if adam else torch.optim.SGD
            optimiser = made(single.parameters(), lr=rate, **({} if adam else {"momentum": experiment.MOMENTUM}))
            for _ in range(3):
                optimiser.zero_grad()
                nn.functional.cross_entropy(single(x), y).backward()
                optimiser.step()
            expected = nn.functional.cross_entropy(single(x), y).detach()
            assert float(found[row, column]) == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.exhaustive
def test_a_small_run_has_a_row_for_each_initialisation_and_a_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "ACTIVATIONS", {"tanh": nn.Tanh, "erf": experiment.Erf})
    lines = experiment.main(tmp_path / "figure.png", experiment.QUICK)
    assert len(lines) == 2 + 2 * len(experiment.SCHEMES)
    assert all(any(scheme in line for line in lines) for scheme in experiment.SCHEMES)
    assert (tmp_path / "figure.png").stat().st_size > 1000
