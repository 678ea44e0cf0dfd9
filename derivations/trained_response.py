"""Fischer, Dahmen, Helias, section III.4, on scikit-learn's digits: the response of trained residual networks.

Networks with erf, L = 10 layers and residual scale rho = 1 or rho = 0.3, near 1/sqrt(L), learn to tell the digits 0
and 3. Before and after training the response eta^l = dC^l_12/dC^0_12 of the covariance that layer l adds, averaged over
pairs of digits, is measured by moving the first stream of one digit towards that of another, and compared with the
theory. Six seeds: theory over measurement before training 1.001 and 1.003; training changes the sum of the responses by
-4 % at rho = 1 and +2 % at rho = 0.3. The source sees no change and an increase.

Run ``python -m derivations.trained_response [FIGURE]``; it takes minutes, and needs scikit-learn and PyTorch.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import symres as sr

DEPTH, WIDTH, SEEDS, PAIRS = 10, 256, 6, 60
C_W, C_b = 1.25, 0.05
SCALES = (1.0, 0.3)
STEPS, RATE = 400, 0.4
STEP = 1e-4
FIGURE = Path(__file__).parent / "figures" / "trained_response.png"

Array = NDArray[np.float64]


@dataclass
class Net:
    """A residual network ``h' = h + rho (W erf(h) + b)`` between a linear read-in and a readout.

    Args:
        inputs: dimension of the input.
        rho: scale of the branches.
        seed: of the initial parameters.
    """

    inputs: int
    rho: float
    seed: int

    def __post_init__(self) -> None:
        source = torch.Generator().manual_seed(self.seed)

        def normal(*shape: int, variance: float) -> torch.Tensor:
            drawn = torch.randn(*shape, generator=source, dtype=torch.float64) * variance**0.5
            return drawn.requires_grad_()

        self.read_in = normal(WIDTH, self.inputs, variance=C_W / self.inputs)
        self.weights = [normal(WIDTH, WIDTH, variance=C_W / WIDTH) for _ in range(DEPTH)]
        self.biases = [normal(WIDTH, variance=C_b) for _ in range(DEPTH)]
        self.read_out = normal(1, WIDTH, variance=C_W / WIDTH)

    @property
    def parameters(self) -> list[torch.Tensor]:
        """What is trained."""
        return [self.read_in, *self.weights, *self.biases, self.read_out]

    def streams(self, h: torch.Tensor) -> list[torch.Tensor]:
        """What each layer adds to a first stream, shape (samples, width)."""
        added = []
        for W, b in zip(self.weights, self.biases, strict=True):
            branch = self.rho * (torch.erf(h) @ W.T + b)
            added.append(branch)
            h = h + branch
        return [*added, h]

    def outputs(self, x: torch.Tensor) -> torch.Tensor:
        """The output of each sample."""
        return (torch.erf(self.streams(x @ self.read_in.T)[-1]) @ self.read_out.T)[:, 0]

    def train(self, x: torch.Tensor, y: torch.Tensor) -> float:
        """Full-batch gradient descent on squared errors; the last loss."""
        optimiser = torch.optim.SGD(self.parameters, lr=RATE / WIDTH)
        loss = torch.tensor(0.0)
        for _ in range(STEPS):
            optimiser.zero_grad()
            loss = ((self.outputs(x) - y) ** 2).mean()
            loss.backward()
            optimiser.step()
        return float(loss.detach())

    def response(self, x: torch.Tensor, pairs: Array) -> Array:
        """eta^l of every layer, averaged over pairs of samples; the first stream's variances are kept."""
        with torch.no_grad():
            h = x @ self.read_in.T
            found = []
            for a, b in pairs.astype(int):
                one, two = h[a], h[b]
                K2, C = two @ two, one @ two
                rest = one - two * (C / K2)  # moves the covariance, not the variance, to first order
                moved = two + STEP * rest
                moved = moved * (K2 / (moved @ moved)) ** 0.5
                change = (one @ moved - C) / WIDTH
                before, after = (self.streams(torch.stack([one, other])) for other in (two, moved))
                layers = [
                    float(self._covariance(v) - self._covariance(u)) / float(change)
                    for u, v in zip(self._kernels(before, one, two), self._kernels(after, one, moved), strict=True)
                ]
                found.append(layers)
            return np.mean(found, axis=0)

    def _kernels(self, streams: list[torch.Tensor], one: torch.Tensor, two: torch.Tensor) -> list[torch.Tensor]:
        """The streams that enter the layers."""
        h = torch.stack([one, two])
        entering = []
        for added in streams[:-1]:
            entering.append(h)
            h = h + added
        return entering

    def _covariance(self, h: torch.Tensor) -> torch.Tensor:
        """What a layer adds to the covariance of two samples: its part that depends on the stream."""
        phi = torch.erf(h)
        return self.rho**2 * C_W * (phi[0] @ phi[1]) / WIDTH


def predicted(x: Array, pairs: Array, rho: float) -> Array:
    """The theory at the kernels of the pairs."""
    theory = sr.derive(sr.residual("erf", gamma=1, xi=sr.xi))
    gram = C_W * x @ x.T / x.shape[1]
    found = []
    for a, b in pairs.astype(int):
        kernel = [[gram[a, a], gram[a, b]], [gram[a, b], gram[b, b]]]
        eta = theory.response(DEPTH, kernel, xi=rho, C_W=C_W, C_b=C_b).eta
        found.append([float(np.asarray(e)[1, 1]) for e in eta[1:]])
    return np.mean(found, axis=0)


def digits() -> tuple[Array, Array]:
    """The digits 0 and 3, scaled to a mean square of 0.05 a pixel, and their labels."""
    from sklearn.datasets import load_digits

    found = load_digits()
    chosen = np.isin(found.target, (0, 3))
    x = found.data[chosen] / 16.0
    x *= np.sqrt(0.05 / np.mean(x**2))
    return x, np.where(found.target[chosen] == 0, -1.0, 1.0)


def measured(rho: float, x: Array, y: Array, pairs: Array) -> tuple[Array, Array, float]:
    """Eta of all seeds before and after training, each of shape (seeds, layers), and the mean of the last loss."""
    inputs, labels = torch.tensor(x), torch.tensor(y)
    before, after, losses = [], [], []
    for seed in range(SEEDS):
        net = Net(x.shape[1], rho, seed)
        before.append(net.response(inputs, pairs))
        losses.append(net.train(inputs, labels))
        after.append(net.response(inputs, pairs))
    return np.array(before), np.array(after), float(np.mean(losses))


def main(path: Path = FIGURE) -> None:
    """Measure, print and draw."""
    from matplotlib.figure import Figure

    x, y = digits()
    pairs = np.random.default_rng(0).integers(0, len(x), size=(PAIRS, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    layers = np.arange(1, DEPTH + 1)
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    for axes, rho in zip(figure.subplots(1, 2), SCALES, strict=True):
        theory = predicted(x, pairs, rho)
        before, after, loss = measured(rho, x, y, pairs)
        print(f"rho = {rho}: loss {loss:.3f} after training; change of the sum of eta by training: ", end="")
        print(f"{after.sum(1).mean() / before.sum(1).mean() - 1:+.1%}; theory/measured before: ", end="")
        print(f"{theory.sum() / before.sum(1).mean():.3f}")
        axes.plot(layers, theory, color="#000000", label="theory")
        for values, mark, colour, label in (
            (before, "o", "#0072B2", "at initialisation"),
            (after, "x", "#D55E00", "trained"),
        ):
            error = values.std(axis=0, ddof=1) / np.sqrt(SEEDS)
            axes.errorbar(layers, values.mean(axis=0), error, fmt=mark, color=colour, label=label)
        axes.set_title(rf"$\rho = {rho}$", fontsize=10)
        axes.set_xlabel("layer l")
        axes.set_ylabel(r"$\eta^{(l)}_{12}$")
        axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
