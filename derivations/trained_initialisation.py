"""Does a deep network learn faster from a critical initialisation? MLPs of depth 50 on scikit-learn's digits.

Networks of gelu, mish, tanh, erf and z*sigmoid(1.702 z) begin with PyTorch's default, Kaiming's, Xavier's and
``symres.torch.init_``'s weights; five seeds each. All take equally many steps of gradient descent with momentum, at
eleven learning rates from 1e-6 to 0.1; what counts is the rate with the lowest mean training loss at the end, for each
initialisation by itself. The table has loss on the training set and accuracy on held-out digits, mean and standard
error over seeds. At this depth and width single networks scatter much: for gelu, mish and z*sigmoid(1.702 z) more
than half of them leave a factor of 5, as ``st.init_`` says, though averages over networks do not.

Run ``python -m derivations.trained_initialisation [--quick] [--adam] [FIGURE]``: 40 minutes on one free core,
seconds with ``--quick``; it needs scikit-learn and PyTorch.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import symres.torch as st

RATES = tuple(10 ** (k / 2) for k in range(-12, -1))
FIGURE = Path(__file__).parent / "figures" / "trained_initialisation.png"
MOMENTUM = 0.9
SCHEMES = ("PyTorch's default", "Kaiming", "Xavier", "st.init_")
COLOURS = dict(zip(SCHEMES, ("#999999", "#D55E00", "#009E73", "#0072B2"), strict=True))

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """How much is trained.

    Args:
        depth: number of hidden layers.
        width: neurons of each.
        seeds: networks of each kind.
        steps: of the optimiser.
        batch: digits in a step.
        every: steps between two evaluations.
    """

    depth: int = 50
    width: int = 128
    seeds: int = 5
    steps: int = 200
    batch: int = 32
    every: int = 50


QUICK = Sizes(depth=6, width=32, seeds=2, steps=20, batch=32, every=10)


class Erf(nn.Module):
    """erf(z)."""

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """The error function."""
        return torch.erf(z)


class SigmoidGate(nn.Module):
    """z*sigmoid(1.702 z), the quick approximation of gelu."""

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """The gate times z."""
        return z * torch.sigmoid(1.702 * z)


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "mish": nn.Mish,
    "tanh": nn.Tanh,
    "erf": Erf,
    "z*sigmoid(1.702 z)": SigmoidGate,
}


def network(activation: Callable[[], nn.Module], inputs: int, sizes: Sizes) -> nn.Sequential:
    """An MLP with PyTorch's default weights."""
    widths = [inputs, *[sizes.width] * sizes.depth]
    hidden = [m for a, b in pairwise(widths) for m in (nn.Linear(a, b), activation())]
    return nn.Sequential(*hidden, nn.Linear(sizes.width, 10))


def initialised(name: str, scheme: str, x: torch.Tensor, sizes: Sizes) -> list[nn.Sequential]:
    """Networks of all seeds."""
    found: list[nn.Sequential] = []
    report: st.InitReport | None = None
    for seed in range(sizes.seeds):
        torch.manual_seed(seed)
        net = network(ACTIVATIONS[name], x.shape[1], sizes)
        if scheme == "st.init_":
            report = st.init_(net, inputs=x, seed=seed, like=report)
            if seed == 0:
                print(f"{name}: {told(report)}", flush=True)
        for layer in net:
            if isinstance(layer, nn.Linear) and scheme in ("Kaiming", "Xavier"):
                nn.init.zeros_(layer.bias)
                if scheme == "Xavier":
                    nn.init.xavier_normal_(layer.weight)
                else:  # the gain of tanh for odd functions, of relu for the others: PyTorch has none for them
                    nn.init.kaiming_normal_(layer.weight, nonlinearity="tanh" if name in ("tanh", "erf") else "relu")
        found.append(net)
    return found


def told(report: st.InitReport) -> str:
    """What st.init_ chose."""
    _, advice = report.advice[0]
    numbers = f"C_W = {advice.C_W:.4g}, C_b = {advice.C_b:.4g}, K = {advice.kernel:.4g}"
    holds = "holds" if advice.holds else "holds on average; single networks scatter"
    return f"{numbers} ({advice.origin}; {holds}); {report.check.sentences[0]}"


class Stack:
    """Networks with the same shape, run together: all seeds at all learning rates.

    Args:
        nets: of one kind.
        activation: of all of them.
        rates: each network is trained at each of them.
        adam: whether Adam takes the steps.
    """

    def __init__(self, nets: list[nn.Sequential], activation: nn.Module, rates: tuple[float, ...], adam: bool) -> None:
        layers = [[m for m in net if isinstance(m, nn.Linear)] for net in nets]
        self._activation = activation
        self.rates = torch.tensor(rates).repeat_interleave(len(nets))
        self._parameters = []
        for depth in range(len(layers[0])):
            weight = torch.stack([net[depth].weight.detach().T for net in layers]).repeat(len(rates), 1, 1)
            bias = torch.stack([net[depth].bias.detach()[None] for net in layers]).repeat(len(rates), 1, 1)
            self._parameters += [weight.contiguous().requires_grad_(), bias.contiguous().requires_grad_()]
        self._moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self._parameters]
        self._adam, self._steps = adam, 0

    def outputs(self, x: torch.Tensor) -> torch.Tensor:
        """Of all networks, shape (networks, digits, 10)."""
        h = x.expand(len(self.rates), *x.shape)
        for position in range(0, len(self._parameters), 2):
            h = self._activation(h) if position else h
            h = torch.baddbmm(self._parameters[position + 1], h, self._parameters[position])
        return h

    def step(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """One step of each network by itself: the gradient of a sum of losses."""
        loss = self.losses(x, y).nan_to_num(0.0, 0.0, 0.0).sum()
        gradients = torch.autograd.grad(loss, self._parameters)
        self._steps += 1
        with torch.no_grad():
            for parameter, gradient, (first, second) in zip(self._parameters, gradients, self._moments, strict=True):
                rates = self.rates[:, None, None]
                if self._adam:
                    first.lerp_(gradient, 0.1)
                    second.lerp_(gradient**2, 0.001)
                    ahead = first / (1 - 0.9**self._steps)
                    parameter -= rates * ahead / ((second / (1 - 0.999**self._steps)).sqrt() + 1e-8)
                else:
                    torch.add(gradient, first, alpha=MOMENTUM, out=first)
                    parameter.addcmul_(first, rates, value=-1)

    def losses(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of each network."""
        logits = self.outputs(x)
        return nn.functional.cross_entropy(logits.transpose(1, 2), y.expand(len(logits), -1), reduction="none").mean(1)

    def accuracies(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Share of digits that each network tells."""
        return (self.outputs(x).argmax(2) == y).float().mean(1)


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Training and test set, pixels with mean 0 and variance 1 over all of them."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    x = torch.tensor((found.data - found.data.mean()) / found.data.std(), dtype=torch.float32)[order]
    y = torch.tensor(found.target)[order]
    return x[:1437], y[:1437], x[1437:], y[1437:]


@dataclass(frozen=True)
class Trained:
    """What became of networks of one kind at their best learning rate.

    Args:
        scheme: their initialisation.
        rate: the learning rate.
        curve: loss on the training set, shape (evaluations, seeds).
        accuracies: on held-out digits at the end, of each seed.
        is_edge: whether the rate is the largest or the smallest that was tried.
    """

    scheme: str
    rate: float
    curve: Array
    accuracies: Array
    is_edge: bool


def trained(name: str, scheme: str, sizes: Sizes, adam: bool) -> Trained:
    """Train networks of one kind at all rates."""
    x, y, x_test, y_test = digits()
    rates = tuple(rate / 10 for rate in RATES) if adam else RATES
    stack = Stack(initialised(name, scheme, x, sizes), ACTIVATIONS[name](), rates, adam)
    source = torch.Generator().manual_seed(0)
    with torch.no_grad():
        curve = [stack.losses(x, y)]
    for step in range(1, sizes.steps + 1):
        chosen = torch.randint(0, len(x), (sizes.batch,), generator=source)
        stack.step(x[chosen], y[chosen])
        if step % sizes.every == 0:
            with torch.no_grad():
                curve.append(stack.losses(x, y))
    with torch.no_grad():
        accuracies = stack.accuracies(x_test, y_test).view(len(rates), -1)
    losses = torch.stack(curve).nan_to_num(math.inf).view(-1, len(rates), sizes.seeds)
    best = int(losses[-1].mean(1).argmin())
    found = (losses[:, best].double().numpy(), accuracies[best].double().numpy())
    return Trained(scheme, rates[best], *found, best in (0, len(rates) - 1))


def row(name: str, found: Trained) -> str:
    """A row of the table."""

    def stated(values: Array) -> str:
        if not np.all(np.isfinite(values)):
            return "diverged"
        return f"{values.mean():.3f} +- {values.std(ddof=1) / math.sqrt(len(values)):.3f}"

    edge = " (edge)" if found.is_edge else ""
    start = f"{found.curve[0].mean():.2f}"
    return (
        f"| {name} | {found.scheme} | {found.rate:.1e}{edge} | {start} | {stated(found.curve[-1])} | "
        f"{stated(found.accuracies)} |"
    )


def results(sizes: Sizes, adam: bool) -> Iterator[tuple[str, list[Trained]]]:
    """Of all activations."""
    for name in ACTIVATIONS:
        yield name, [trained(name, scheme, sizes, adam) for scheme in SCHEMES]


def main(path: Path = FIGURE, sizes: Sizes | None = None, adam: bool = False) -> list[str]:
    """Train, print and draw.

    Args:
        path: of the figure.
        sizes: how much is trained; None: all of it.
        adam: whether Adam takes the steps instead of gradient descent with momentum.

    Returns:
        The table's lines.
    """
    from matplotlib.figure import Figure

    chosen = Sizes() if sizes is None else sizes
    lines = [
        "| activation | initialisation | best rate | first loss | training loss | test accuracy |",
        "|---|---|---|---|---|---|",
    ]
    figure = Figure(figsize=(13.5, 3.0), layout="constrained")
    panels = figure.subplots(1, len(ACTIVATIONS), sharey=True)
    steps = np.arange(0, chosen.steps + 1, chosen.every)
    for axes, (name, kinds) in zip(panels, results(chosen, adam), strict=True):
        for found in kinds:
            lines.append(row(name, found))
            print(lines[-1], flush=True)
            finite = np.where(np.isfinite(found.curve), found.curve, np.nan)
            mean, error = finite.mean(1), finite.std(1, ddof=1) / math.sqrt(chosen.seeds)
            axes.plot(steps, mean, color=COLOURS[found.scheme], label=found.scheme)
            axes.fill_between(steps, mean - error, mean + error, color=COLOURS[found.scheme], alpha=0.25, lw=0)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("steps")
        axes.set_ylim(0, 3)
    panels[0].set_ylabel("training loss")
    panels[0].legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print("\n".join(lines))
    return lines


if __name__ == "__main__":
    torch.set_flush_denormal(True)  # vanishing gradients would make a processor a hundred times slower
    words = sys.argv[1:]
    places = [Path(word) for word in words if not word.startswith("--")]
    main(places[0] if places else FIGURE, QUICK if "--quick" in words else None, "--adam" in words)
