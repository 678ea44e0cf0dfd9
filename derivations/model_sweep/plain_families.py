"""Families that need PyTorch alone, written as their users write them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import nn

from .families import Family


class Siren(nn.Module):
    """Sines of frequency 30, with the weights of Sitzmann et al., arXiv:2006.09661."""

    def __init__(self, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, width), *(nn.Linear(width, width) for _ in range(depth))])
        self.readout = nn.Linear(width, 3)
        for position, layer in enumerate([*self.layers, self.readout]):
            assert isinstance(layer, nn.Linear)
            limit = 1 / 2 if position == 0 else (6 / width) ** 0.5 / 30
            nn.init.uniform_(layer.weight, -limit, limit)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Colours at places of the plane."""
        for layer in self.layers:
            x = torch.sin(30 * layer(x))
        return self.readout(x)


class HeatEquation(nn.Module):
    """A physics-informed network that returns what a field lacks to solve the heat equation: u_t - u_xx."""

    def __init__(self, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        self.field = perceptron([2, *[width] * depth, 1], nn.Tanh)

    def forward(self, place: torch.Tensor) -> torch.Tensor:
        """The residual at places (x, t)."""
        place = place.detach().requires_grad_()
        with torch.enable_grad():
            u = self.field(place)
            slope = torch.autograd.grad(u.sum(), place, create_graph=True)[0]
            bend = torch.autograd.grad(slope[:, 0].sum(), place, create_graph=True)[0]
        return slope[:, 1] - bend[:, 0]


class DoubleConvolution(nn.Sequential):
    """Two convolutions with batch norms, as U-Nets repeat them."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(
            *(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True)),
            *(nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True)),
        )


class UNet(nn.Module):
    """Ronneberger et al., arXiv:1505.04597, with three levels."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList(DoubleConvolution(a, b) for a, b in pairwise([3, *widths]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in pairwise(widths))
        self.joined = nn.ModuleList(DoubleConvolution(2 * a, a) for a in widths[:-1])
        self.readout = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Classes of pixels."""
        skipped = []
        for position, block in enumerate(self.down):
            x = block(x if position == 0 else nn.functional.max_pool2d(x, 2))
            skipped.append(x)
        for position in range(len(self.up) - 1, -1, -1):
            x = self.joined[position](torch.cat([skipped[position], self.up[position](x)], dim=1))
        return self.readout(x)


class Recurrent(nn.Module):
    """A language model with recurrent layers."""

    def __init__(self, cells: type[nn.RNNBase], width: int = 64, layers: int = 2) -> None:
        super().__init__()
        self.tokens = nn.Embedding(64, width)
        self.cells = cells(width, width, num_layers=layers, batch_first=True)
        self.readout = nn.Linear(width, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of the next token."""
        return self.readout(self.cells(self.tokens(tokens))[0])


class UnrolledCell(nn.Module):
    """An LSTM cell that forward repeats over the time, for series of numbers."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(8, width)
        self.readout = nn.Linear(width, 1)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        """The next number of each series."""
        state = None
        for time in range(series.shape[1]):
            state = self.cell(series[:, time], state)
        assert state is not None
        return self.readout(state[0])


class GraphConvolution(nn.Module):
    """Kipf and Welling, arXiv:1609.02907: features are averaged over neighbours between dense layers.

    Args:
        is_sparse: whether the matrix of neighbours is a sparse tensor.
        width: of the hidden layers.
        depth: their number.
    """

    def __init__(self, is_sparse: bool, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        self.is_sparse = is_sparse
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise([16, *[width] * depth, 7]))

    def forward(self, features: torch.Tensor, neighbours: torch.Tensor) -> torch.Tensor:
        """Classes of nodes, shape (nodes, classes)."""
        weights = neighbours / neighbours.sum(1, keepdim=True)
        mixing = weights.to_sparse() if self.is_sparse else weights
        for position, layer in enumerate(self.layers):
            features = mixing @ layer(features if position == 0 else features.relu())
        return features


class Autoencoder(nn.Module):
    """Convolutions down to a code and transposed ones back; a variational one samples the code."""

    def __init__(self, is_variational: bool, width: int = 16, code: int = 8) -> None:
        super().__init__()
        self.is_variational = is_variational
        self.encoder = nn.Sequential(
            *(nn.Conv2d(1, width, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(2 * width * 49, (1 + is_variational) * code)),
        )
        self.decoder = nn.Sequential(
            *(nn.Linear(code, 2 * width * 49), nn.ReLU(), nn.Unflatten(1, (2 * width, 7, 7))),
            *(nn.ConvTranspose2d(2 * width, width, 2, stride=2), nn.ReLU()),
            *(nn.ConvTranspose2d(width, 1, 2, stride=2), nn.Sigmoid()),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Images again."""
        code = self.encoder(images)
        if self.is_variational:
            mean, logarithm = code.chunk(2, dim=1)
            code = mean + torch.randn_like(mean) * (logarithm / 2).exp()
        return self.decoder(code)


class DeepSet(nn.Module):
    """Zaheer et al., arXiv:1703.06114: a network of each element, a sum, a network of the sum."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.element = perceptron([3, width, width, width], nn.ELU)
        self.whole = perceptron([width, width, 1], nn.ELU)

    def forward(self, sets: torch.Tensor) -> torch.Tensor:
        """A number of each set."""
        return self.whole(self.element(sets).sum(1))


class Recommender(nn.Module):
    """Embeddings of users and things, a product, and a perceptron (He et al., arXiv:1708.05031)."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.users, self.things = nn.Embedding(100, width), nn.Embedding(100, width)
        self.deep = perceptron([2 * width, width, width, width], nn.ReLU)
        self.readout = nn.Linear(2 * width, 1)

    def forward(self, users: torch.Tensor, things: torch.Tensor) -> torch.Tensor:
        """The score of each pair."""
        user, thing = self.users(users), self.things(things)
        return self.readout(torch.cat([user * thing, self.deep(torch.cat([user, thing], dim=1))], dim=1))


class TemporalConvolution(nn.Module):
    """Dilated causal convolutions with skip connections, gated as in WaveNet (arXiv:1609.03499)."""

    def __init__(self, width: int = 32, depth: int = 6) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.gated = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2**k) for k in range(depth))
        self.mixed = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(depth))
        self.readout = nn.Conv1d(width, 1, 1)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        """The next number at each time."""
        x = self.first(series)
        for position, (gated, mixed) in enumerate(zip(self.gated, self.mixed, strict=True)):
            value, gate = gated(nn.functional.pad(x, (2**position, 0))).chunk(2, dim=1)
            x = x + mixed(value.tanh() * gate.sigmoid())
        return self.readout(x)


def perceptron(widths: list[int], activation: Callable[[], nn.Module]) -> nn.Sequential:
    """Dense layers with activations between them."""
    layers = [module for a, b in pairwise(widths) for module in (nn.Linear(a, b), activation())]
    return nn.Sequential(*layers[:-1])


def encoder(is_pre_norm: bool) -> nn.TransformerEncoder:
    """PyTorch's transformer."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True, norm_first=is_pre_norm)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


def neighbours(nodes: int = 20) -> torch.Tensor:
    """A random graph with a loop at each node."""
    edges = (torch.rand(nodes, nodes) < 0.15).float()
    return ((edges + edges.T + torch.eye(nodes)) > 0).float()


PLAIN_FAMILIES = (
    Family("SIREN", "torch", Siren, lambda: 2 * torch.rand(32, 2) - 1),
    Family("PINN, the field", "torch", lambda: perceptron([2, *[64] * 6, 1], nn.Tanh), lambda: torch.rand(32, 2)),
    Family("PINN, the residual", "torch", HeatEquation, lambda: torch.rand(32, 2)),
    Family("U-Net", "torch", UNet, lambda: torch.randn(4, 3, 32, 32)),
    Family("LSTM", "torch", lambda: Recurrent(nn.LSTM), lambda: torch.randint(64, (4, 12))),
    Family("GRU", "torch", lambda: Recurrent(nn.GRU), lambda: torch.randint(64, (4, 12))),
    Family("LSTM cell", "torch", UnrolledCell, lambda: torch.randn(8, 10, 8)),
    *(
        Family(name, "torch", build, lambda: (torch.randn(20, 16), neighbours()))
        for name, build in [
            ("graph network", lambda: GraphConvolution(False)),
            ("graph network, sparse", lambda: GraphConvolution(True)),
        ]
    ),
    Family("autoencoder", "torch", lambda: Autoencoder(False), lambda: torch.rand(4, 1, 28, 28)),
    Family("variational autoencoder", "torch", lambda: Autoencoder(True), lambda: torch.rand(4, 1, 28, 28)),
    Family("deep set", "torch", DeepSet, lambda: torch.randn(8, 10, 3)),
    Family("recommender", "torch", Recommender, lambda: (torch.randint(100, (16,)), torch.randint(100, (16,)))),
    Family("WaveNet", "torch", TemporalConvolution, lambda: torch.randn(4, 1, 64)),
    Family("Transformer, pre-norm", "torch", lambda: encoder(True), lambda: torch.randn(4, 12, 64)),
    Family("Transformer, post-norm", "torch", lambda: encoder(False), lambda: torch.randn(4, 12, 64)),
)
