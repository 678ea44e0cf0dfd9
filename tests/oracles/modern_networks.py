"""Small networks built like those of timm and transformers that are hard to read."""

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional


class Highway(nn.Module):
    """``x = T(x)*H(x) + (1 - T(x))*x``."""

    def __init__(self, width=32, depth=5):
        super().__init__()
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for gate, layer in zip(self.gates, self.layers, strict=True):
            t = torch.sigmoid(gate(x))
            x = t * torch.relu(layer(x)) + (1 - t) * x
        return x


class PreactivationBottleneck(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        inner = width // 4
        self.norms = nn.ModuleList(map(nn.BatchNorm2d, (inputs, inner, inner)))
        self.first, self.last = nn.Conv2d(inputs, inner, 1, bias=False), nn.Conv2d(inner, width, 1, bias=False)
        self.middle = nn.Conv2d(inner, inner, 3, padding=1, bias=False)
        self.shortcut = None if inputs == width else nn.Conv2d(inputs, width, 1, bias=False)

    def forward(self, x):
        entering = torch.relu(self.norms[0](x))
        branch = self.middle(torch.relu(self.norms[1](self.first(entering))))
        skip = x if self.shortcut is None else self.shortcut(entering)
        return skip + self.last(torch.relu(self.norms[2](branch)))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, inner):
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

    def forward(self, x):
        weights = self.expand(torch.relu(self.reduce(x.mean((2, 3), keepdim=True))))
        return x * functional.hardsigmoid(weights)


class InvertedBottleneck(nn.Module):
    """Expansion, a convolution of each channel, squeeze and excite, projection."""

    def __init__(self, inputs, outputs, expansion):
        super().__init__()
        inner = inputs * expansion
        self.expand, self.project = nn.Conv2d(inputs, inner, 1, bias=False), nn.Conv2d(inner, outputs, 1, bias=False)
        self.depthwise = nn.Conv2d(inner, inner, 3, padding=1, groups=inner, bias=False)
        self.excite = SqueezeExcite(inner, 8)
        self.norms = nn.ModuleList(map(nn.BatchNorm2d, (inner, inner, outputs)))
        self.has_skip = inputs == outputs

    def forward(self, x):
        inner = functional.hardswish(self.norms[0](self.expand(x)))
        inner = self.excite(functional.hardswish(self.norms[1](self.depthwise(inner))))
        branch = self.norms[2](self.project(inner))
        return x + branch if self.has_skip else branch


class MobileNet(nn.Sequential):
    """A narrow stem with a norm of its own, and blocks with and without skip connections."""

    def __init__(self, widths=(8, 12, 16, 16, 20, 24)):
        pairs = pairwise(widths)
        super().__init__(
            nn.Conv2d(3, widths[0], 3, padding=1, bias=False),
            nn.BatchNorm2d(widths[0]),
            nn.Hardswish(),
            *(InvertedBottleneck(a, b, 4) for a, b in pairs),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(widths[-1], 10),
        )


class JoinedBias(nn.Module):
    """Attention whose bias is put together in forward, as in EVA-02."""

    def __init__(self, width=32):
        super().__init__()
        self.qkv, self.project = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.q_bias, self.v_bias = (nn.Parameter(torch.full((width,), 0.1)) for _ in range(2))

    def forward(self, x):
        bias = torch.cat((self.q_bias, torch.zeros_like(self.q_bias), self.v_bias))
        q, k, v = functional.linear(x, self.qkv.weight, bias).chunk(3, -1)
        return x + self.project(functional.scaled_dot_product_attention(q, k, v))


class StandardisedDense(nn.Linear):
    """Weights of mean 0 and variance 1/fan_in in each row, times a gain, as in networks without norms."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.gain = nn.Parameter(torch.tensor(1.7))

    def forward(self, x):
        centred = self.weight - self.weight.mean(1, keepdim=True)
        return functional.linear(x, self.gain * centred / centred.norm(dim=1, keepdim=True), self.bias)


class Fused(nn.Module):
    """PyTorch's attention, whose three input matrices are one parameter."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x):
        return x + self.attention(x, x, x, need_weights=False)[0]


class Overwriting(nn.Module):
    """A loop over tokens whose state is changed in place, as in RWKV on CPUs."""

    def __init__(self, words=20, width=16):
        super().__init__()
        self.embedding, self.cell, self.out = nn.Embedding(words, width), Cell(width), nn.Linear(width, 5)

    def forward(self, tokens):
        return self.out(self.cell(self.embedding(tokens)))


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.keys, self.values = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        keys, values, outputs = self.keys(x), self.values(x), []
        state = torch.zeros(*values.shape[::2], 2)
        for token in range(x.shape[1]):
            total, weight = state[..., 0], state[..., 1]  # views, which the products below need for their gradients
            new = torch.sigmoid(keys[:, token])
            outputs.append((total * weight + new * values[:, token]) * 2)
            total, weight = total / 2 + new * values[:, token], weight / 2 + new
            state[..., 0], state[..., 1] = total, weight
        return torch.stack(outputs, 1)
