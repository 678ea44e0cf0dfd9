"""Residual networks with shortcuts where widths change, and a GPT-2, as people build them."""

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)


def shortcut(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class BasicBlock(nn.Module):
    """ResNet-18 and 34 (He et al., 2015)."""

    expansion = 1

    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv(outputs, outputs, 3), nn.BatchNorm2d(outputs)
        self.relu, self.downsample = nn.ReLU(inplace=True), shortcut(inputs, outputs, stride)

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    """ResNet-50."""

    expansion = 4

    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        inner = outputs // 4
        self.conv1, self.bn1 = conv(inputs, inner, 1), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = conv(inner, inner, 3, stride), nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = conv(inner, outputs, 1), nn.BatchNorm2d(outputs)
        self.relu, self.downsample = nn.ReLU(inplace=True), shortcut(inputs, outputs, stride)

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        out = self.bn3(self.conv3(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    """With the initialisation of torchvision."""

    def __init__(self, block, blocks, widths=(16, 32, 64, 128), has_pool=False):
        super().__init__()
        first = widths[0]
        stem = nn.Conv2d(3, first, 7, 2, 3, bias=False) if has_pool else conv(3, first, 3)
        self.conv1, self.bn1, self.relu = stem, nn.BatchNorm2d(first), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1) if has_pool else nn.Identity()
        stages, inputs = [], first
        for position, (count, width) in enumerate(zip(blocks, widths, strict=True)):
            outputs, stride = width * block.expansion, 2 if position else 1
            stages.append(nn.Sequential(block(inputs, outputs, stride)))
            stages[-1].extend(block(outputs, outputs) for _ in range(count - 1))
            inputs = outputs
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, 10)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class WideBlock(nn.Module):
    """WideResNet (Zagoruyko and Komodakis, 2016): norm and ReLU first, the shortcut behind them."""

    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(inputs), conv(inputs, outputs, 3, stride)
        self.bn2, self.conv2 = nn.BatchNorm2d(outputs), conv(outputs, outputs, 3)
        self.shortcut = None if inputs == outputs else conv(inputs, outputs, 1, stride)

    def forward(self, x):
        out = F.relu(self.bn1(x))
        kept = x if self.shortcut is None else self.shortcut(out)
        return kept + self.conv2(F.relu(self.bn2(self.conv1(out))))


class WideResNet(nn.Module):
    def __init__(self, blocks=2, widths=(16, 32, 64, 128)):
        super().__init__()
        self.conv1, stages = conv(3, widths[0], 3), []
        for position, (inputs, outputs) in enumerate(pairwise(widths)):
            stages.append(nn.Sequential(WideBlock(inputs, outputs, 2 if position else 1)))
            stages[-1].extend(WideBlock(outputs, outputs) for _ in range(blocks - 1))
        self.stages, self.bn, self.fc = nn.Sequential(*stages), nn.BatchNorm2d(widths[-1]), nn.Linear(widths[-1], 10)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.stages(self.conv1(x)))).mean((2, 3)))


class CausalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.c_attn, self.c_proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(mixed.transpose(1, 2).reshape(batch, tokens, width))


class GPTBlock(nn.Module):
    def __init__(self, width, heads, attention=CausalAttention):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(width), attention(width, heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class InlineGPTBlock(CausalAttention):
    """Attention written in the block itself."""

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + super().forward(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    """GPT-2 with its initialisation: all weights of standard deviation 0.02, embedding and readout are the same."""

    def __init__(self, depth=4, width=128, heads=4, tokens=256, context=64, block=GPTBlock):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(tokens, width), nn.Embedding(context, width)
        self.h = nn.ModuleList([block(width, heads) for _ in range(depth)])
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)
        self.lm_head.weight = self.wte.weight
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                is_last = name.endswith(("c_proj.weight", "mlp.2.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * depth) ** 0.5 if is_last else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, numbers):
        x = self.wte(numbers) + self.wpe(torch.arange(numbers.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def padded_net(depth=20, channels=64):
    """Convolutions with a border of zeros, of which small images see much."""
    layers = [nn.Conv2d(3, channels, 3, padding=1), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def loss_after(model, batches, optimiser, loss):
    """Train in place; the mean of the last five losses."""
    model.train()
    losses = []
    for inputs, targets in batches:
        value = loss(model(inputs), targets)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        losses.append(float(value.detach()))
    return sum(losses[-5:]) / 5
