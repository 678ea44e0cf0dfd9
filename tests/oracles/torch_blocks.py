"""Residual blocks of PyTorch as people write them, for tests that tune them as black boxes."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.oracles import residual_networks


class ConvBlock(residual_networks.BasicBlock):
    """Two convolutions with batch normalisation; the ReLU comes after the sum (He et al., 2015)."""

    def __init__(self, channels=8):
        super().__init__(channels, channels)


class PreActivationBlock(nn.Module):
    """Batch normalisation and ReLU before each convolution; weights of skip and branch are attributes."""

    def __init__(self, channels=8):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(channels), nn.Conv2d(channels, channels, 3, padding=1)
        self.bn2, self.conv2 = nn.BatchNorm2d(channels), nn.Conv2d(channels, channels, 3, padding=1)
        self.gamma, self.xi = 1.0, 1.0

    def forward(self, x):
        out = self.conv1(F.relu(self.bn1(x)))
        return self.gamma * x + self.xi * self.conv2(F.relu(self.bn2(out)))


class MixerBlock(nn.Module):
    def __init__(self, tokens=6, width=16, gain=1.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.token = nn.Sequential(nn.Linear(tokens, 12), nn.GELU(), nn.Linear(12, tokens))
        self.channel = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
        for part in (self.token, self.channel):
            for layer in (part[0], part[2]):
                nn.init.normal_(layer.weight, std=gain / layer.in_features**0.5)

    def forward(self, x):
        x = x + self.token(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel(self.norm2(x))


class Attention(residual_networks.CausalAttention):
    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(super().forward(x))


class GPTBlock(residual_networks.GPTBlock):
    """Attention and MLP, one after the other, behind LayerNorm; returns a tuple as many libraries do."""

    def __init__(self, width=16, heads=2, gain=1.0):
        super().__init__(width, heads, Attention)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=gain / layer.in_features**0.5)

    def forward(self, x):
        return super().forward(x), None


class GPT(nn.Module):
    """A stack of blocks behind embeddings."""

    def __init__(self, depth, width=16, vocabulary=50, length=32, gain=1.0):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.h = nn.ModuleList(GPTBlock(width, gain=gain) for _ in range(depth))
        self.ln_f, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, input_ids):
        x = self.wte(input_ids) + self.wpe(torch.arange(input_ids.shape[1], device=input_ids.device))
        for block in self.h:
            x = block(x)[0]
        return self.head(self.ln_f(x))


class DenseBlock(nn.Module):
    """z + W2 phi(W1 z)."""

    def __init__(self, width, phi=None, bias=False):
        super().__init__()
        self.first, self.second = nn.Linear(width, width, bias=bias), nn.Linear(width, width, bias=bias)
        self.phi = phi or nn.ReLU()

    def forward(self, x):
        return x + self.second(self.phi(self.first(x)))


class Computed(nn.Module):
    """One function of the inputs and of the layers that are given."""

    def __init__(self, function, *layers):
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)

    def forward(self, x):
        return self.function(x, *self.layers)


def mlp(depth, width, activation=nn.ReLU, inputs=20, outputs=10, bias=True):
    """A multilayer perceptron with this number of hidden layers."""
    layers = [nn.Linear(inputs, width, bias=bias), activation()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width, bias=bias), activation()]
    return nn.Sequential(*layers, nn.Linear(width, outputs))


class NormedBlock(nn.Module):
    """``z + scale*W2 phi(W1 norm(z))``, or with ``post`` ``norm(z + W2 phi(W1 z))``."""

    def __init__(self, width, phi=None, norm=None, wide=4, scale=1.0, post=False):
        super().__init__()
        self.norm, self.phi, self.scale, self.post = norm or nn.LayerNorm(width), phi or nn.GELU(), scale, post
        self.first, self.second = nn.Linear(width, wide * width), nn.Linear(wide * width, width)

    def forward(self, x):
        if self.post:
            return self.norm(x + self.second(self.phi(self.first(x))))
        return x + self.scale * self.second(self.phi(self.first(self.norm(x))))


class GatedBlock(nn.Module):
    """Gate and value from one matrix, ``z + Dense(silu(Dense(u))*Dense(u))`` with ``u = RMSNorm(z)``."""

    def __init__(self, width, take=lambda u: u.chunk(2, dim=-1), bias=True):
        super().__init__()
        self.take, self.norm = take, nn.RMSNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, 4 * width, bias=bias), nn.Linear(2 * width, width, bias=bias)

    def forward(self, x):
        gate, value = self.take(self.up(self.norm(x)))
        return x + self.down(F.silu(gate) * value)


class SineInReverse(torch.autograd.Function):
    """A function of a user, which is differentiated in reverse only."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0].cos()
