r"""
Activations and learning rates when the width grows
===================================================

*Does my model keep its activations and its best learning rate when I make it wider?*

In the standard parametrisation one learning rate serves all weights, and a step of Adam changes wide networks more than
narrow ones. In the maximal update parametrisation (mup) the rates of weight matrices behind the first fall like
1/width, and so does the standard deviation of the last matrix; then steps change activations alike at any width.
"""

import torch

import symres.torch as st

# %%
# The standard parametrisation
# ----------------------------
# ``st.coordinate_check`` trains networks of several widths for four steps at many learning rates.


def build(width):
    """Three layers as PyTorch initialises them."""
    return torch.nn.Sequential(
        torch.nn.Linear(16, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, 1),
    )


widths = (64, 128, 256, 512)
standard = st.coordinate_check(build, widths=widths, progress=False)
figure = standard.plot()
print(standard)

# %%
# **What it shows**: what steps add to the second layer and to the output (solid) grows with the width, while the sizes
# of hidden layers at the start (dashed) do not. The least loss of wide networks lies at smaller learning rates.
#
# mup
# ---
# Two changes: a smaller last matrix, and learning rates by layer.


def build_mup(width):
    """The same with a last matrix that shrinks: its standard deviation falls like 1/width."""
    model = build(width)
    with torch.no_grad():
        model[-1].weight.mul_((widths[0] / width) ** 0.5)
    return model


def mup_adam(model, rate):
    """Adam with rates that fall like 1/width for all matrices but the first."""
    matrices = [model[2].weight, model[4].weight]
    others = [
        parameter
        for parameter in model.parameters()
        if all(parameter is not matrix for matrix in matrices)
    ]
    fan_in = model[2].in_features
    return torch.optim.Adam(
        [
            {"params": matrices, "lr": rate * widths[0] / fan_in},
            {"params": others, "lr": rate},
        ]
    )


mup = st.coordinate_check(build_mup, widths=widths, optimizer=mup_adam, progress=False)
second_figure = mup.plot()
print(mup)
assert (str(standard.verdict), str(mup.verdict)) == ("standard", "mup")

# %%
# **What it shows**: now the solid lines are level in the hidden layers and at the output, and the losses of all widths
# are nearly the same function of the learning rate.
#
# One step without symres
# -----------------------
# How much one step of Adam at a small rate changes the hidden activations, at width 64 and at width 512.


def change(build_one, optimizer, width, networks=20):
    """Root mean square of the change, averaged over networks."""
    changes = []
    for _ in range(networks):
        model, inputs, targets = build_one(width), torch.randn(16, 16), torch.randn(16, 1)
        before = model[:3](inputs).detach()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer(model, 1e-4).step()
        changes.append((model[:3](inputs).detach() - before).pow(2).mean().sqrt())
    return torch.stack(changes).mean().item()


torch.manual_seed(0)
grows = change(build, lambda model, rate: torch.optim.Adam(model.parameters(), rate), 512)
grows /= change(build, lambda model, rate: torch.optim.Adam(model.parameters(), rate), 64)
level = change(build_mup, mup_adam, 512) / change(build_mup, mup_adam, 64)
print(f"8 times wider: changes are {grows:.2f} times as large, {level:.2f} times with mup")
assert grows > 4
assert 0.7 < level < 1.4
