"""Blocks of PyTorch whose branches start small, written as their papers and timm have them, and a step of Adam."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.oracles.residual_networks import BasicBlock


class LayerScaleBlock(nn.Module):
    """The MLP of CaiT (Touvron et al., 2021) and DeiT-III: a factor for each neuron at the end of the branch."""

    def __init__(self, width, start=1e-4):
        super().__init__()
        self.norm, self.a, self.b = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.g = nn.Parameter(start * torch.ones(width))

    def forward(self, x):
        return x + self.g * self.b(F.gelu(self.a(self.norm(x))))


class InnerScaleBlock(LayerScaleBlock):
    """LayerScale where it scales the same branch, before the last dense layer."""

    def __init__(self, width, start=1e-4):
        super().__init__(width, start)
        self.g = nn.Parameter(torch.tensor([start]))

    def forward(self, x):
        return x + self.b(self.g * F.gelu(self.a(self.norm(x))))


class PreactivationScaleBlock(InnerScaleBlock):
    """The factor before the activation."""

    def forward(self, x):
        return x + self.b(F.gelu(self.a(self.norm(x)) * self.g))


class DividedBlock(InnerScaleBlock):
    """A branch that is divided by a large parameter."""

    def forward(self, x):
        return x + self.b(F.gelu(self.a(self.norm(x)))) / self.g


class DividedInsideBlock(InnerScaleBlock):
    """The quotient before the last dense layer."""

    def forward(self, x):
        return x + self.b(F.gelu(self.a(self.norm(x))) / self.g)


class Attention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, tokens, width))


class DeiTBlock(nn.Module):
    """Attention and MLP, each with LayerScale."""

    def __init__(self, width, start=1e-4):
        super().__init__()
        self.norm, self.attn, self.mlp = nn.LayerNorm(width), Attention(width), LayerScaleBlock(width, start)
        self.gamma = nn.Parameter(start * torch.ones(width))

    def forward(self, x):
        return self.mlp(x + self.attn(self.norm(x)) * self.gamma)


class ConvNeXtBlock(nn.Module):
    """A convolution in groups, and the factor before the axes are moved back (Liu et al., 2022)."""

    def __init__(self, width, start=1e-6):
        super().__init__()
        self.dw, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.a, self.b = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(start * torch.ones(width))

    def forward(self, x):
        u = self.b(F.gelu(self.a(self.norm(self.dw(x).permute(0, 2, 3, 1)))))
        return x + (self.gamma * u).permute(0, 3, 1, 2)


class ReZeroBlock(nn.Module):
    """Bachlechner et al. (2020); SkipInit has the same factor in other places."""

    def __init__(self, width, start=0.0):
        super().__init__()
        self.a, self.b, self.alpha = nn.Linear(width, width), nn.Linear(width, width), nn.Parameter(torch.tensor(start))

    def forward(self, x):
        return x + self.alpha * self.b(F.relu(self.a(x)))


class GatedBlock(ReZeroBlock):
    """The factor is computed from a parameter, as in Flamingo."""

    def forward(self, x):
        return x + torch.tanh(self.alpha) * self.b(F.relu(self.a(x)))


class FixupBlock(nn.Module):
    """Zhang et al. (2019): scalar biases, a scalar factor of 1, and a last layer that starts at 0."""

    def __init__(self, width, depth=8):
        super().__init__()
        self.a, self.b = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.scale = nn.Parameter(torch.ones(1))
        self.b1, self.b2, self.b3, self.b4 = (nn.Parameter(torch.zeros(1)) for _ in range(4))
        nn.init.normal_(self.a.weight, std=(2 / width) ** 0.5 * depth**-0.5)
        nn.init.zeros_(self.b.weight)

    def forward(self, x):
        return x + self.scale * self.b(F.relu(self.a(x + self.b1) + self.b2) + self.b3) + self.b4


class ZeroLastBlock(nn.Module):
    """Pre-norm, the last layer starts at 0 with its bias."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.a, self.b = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        nn.init.zeros_(self.b.weight)
        nn.init.zeros_(self.b.bias)

    def forward(self, x):
        return x + self.b(F.gelu(self.a(self.norm(x))))


class PostBranchNormBlock(nn.Module):
    """Swin V2: a LayerNorm ends the branch, with weights that start at 0 there."""

    def __init__(self, width, start=0.0):
        super().__init__()
        self.norm, self.a, self.b = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        nn.init.constant_(self.norm.weight, start)

    def forward(self, x):
        return x + self.norm(self.b(F.gelu(self.a(x))))


def ResNetBlock(channels, start=1.0):
    """The basic block of He et al. (2015); ``start`` is what the last BatchNorm begins with (0: Goyal et al., 2017)."""
    block = BasicBlock(channels, channels)
    nn.init.constant_(block.bn2.weight, start)
    return block


class InvertedResidual(nn.Module):
    """MobileNet V2 (Sandler et al., 2018)."""

    def __init__(self, channels, factor=4):
        super().__init__()
        wide = channels * factor
        self.net = nn.Sequential(
            *(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()),
            *(nn.Conv2d(wide, wide, 3, 1, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6()),
            *(nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels)),
        )

    def forward(self, x):
        return x + self.net(x)


class BothSigns(nn.Module):
    """CReLU (Shang et al., 2016)."""

    def forward(self, x):
        return torch.cat((F.relu(x), F.relu(-x)), -1)


def vectors_net(blocks, width=64, inputs=20):
    """A read-in, blocks, a norm and a readout."""
    return nn.Sequential(nn.Linear(inputs, width), *blocks, nn.LayerNorm(width), nn.Linear(width, 10))


def images_net(blocks, channels=32):
    """A stem of a convolution, BatchNorm and ReLU, blocks, an average over positions and a readout."""
    stem = (nn.Conv2d(3, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def both_signs_net(depth=10, width=64):
    """Dense layers behind CReLU."""
    layers = [nn.Linear(20, width), BothSigns()]
    for _ in range(depth - 1):
        layers += [nn.Linear(2 * width, width), BothSigns()]
    return nn.Sequential(*layers, nn.Linear(2 * width, 10))


def pooled_net(depth=6, channels=32):
    """Convolutions behind ReLU, every other one behind a MaxPool too (VGG)."""
    layers = [nn.Conv2d(3, channels, 3, padding=1), nn.ReLU()]
    for place in range(1, depth):
        layers += [nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if place % 2 == 0 else []
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def adam_step(model, inputs, places=(), seed=0):
    """One step of torch.optim.Adam at 1e-3 on random classes.

    Returns:
        losses before and after, and mean squares by place before and after.
    """
    model.train()
    classes = torch.randint(0, 10, (len(inputs),), generator=torch.Generator().manual_seed(seed))
    kept, modules, handles = {}, dict(model.named_modules()), []
    for name in places:

        def hook(_, args, out, name=name):
            kept[name] = out.detach().double().square().mean().item()

        handles.append(modules[name].register_forward_hook(hook))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses, streams = [], []
    for step in range(2):
        loss = F.cross_entropy(model(inputs), classes)
        losses.append(float(loss.detach()))
        streams.append(dict(kept))
        if step == 0:
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    for handle in handles:
        handle.remove()
    return losses, streams
