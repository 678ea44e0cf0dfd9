"""What a measurement costs in passes, and its memory: ``python tests/bench/bench_measure.py``.

One probe gives forward and backward norms at all places. Its cost is compared with a forward and backward pass of the
same model that computes gradients of its weights, in one process, rounds interleaved; the median counts.
"""

import argparse
import resource
import time

import numpy as np
import torch
from torch import nn

import symres.torch as st

GOAL = 3.0  # passes for each probe
ROUNDS = 5


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(width), nn.MultiheadAttention(width, 4, batch_first=True)

    def forward(self, x):
        u = self.norm(x)
        return x + self.mix(u, u, u, need_weights=False)[0]


MODELS = {
    "deep residual network, 24 blocks of width 256, 64 inputs": (
        lambda: nn.Sequential(*(Block(256) for _ in range(24))),
        (64, 256),
    ),
    "transformer, 12 blocks of width 128, 4 inputs of 64 tokens": (
        lambda: nn.Sequential(*(nn.Sequential(Attention(128), Block(128)) for _ in range(12))),
        (4, 64, 128),
    ),
    "convolutional network, 12 layers of 32 channels, 8 images": (
        lambda: nn.Sequential(*(nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()) for _ in range(12))),
        (8, 32, 24, 24),
    ),
}


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare(name, build, shape, rounds):
    torch.manual_seed(0)
    model, inputs = build(), torch.randn(shape)

    def training():
        model(inputs.requires_grad_()).square().mean().backward()

    def measured(probes):
        return lambda: st.measure(model, inputs.detach(), probes=probes, exact=False, progress=False)

    few, many = 2, 6
    functions = {"training": training, "few": measured(few), "many": measured(many)}
    for function in functions.values():
        function()
    times = {key: [] for key in functions}
    for _ in range(rounds):
        for key, function in functions.items():
            times[key].append(seconds(function))
    middle = {key: float(np.median(found)) for key, found in times.items()}
    probe = (middle["many"] - middle["few"]) / (many - few)
    rest = middle["few"] - few * probe
    ratio = probe / middle["training"]
    word = "" if ratio <= GOAL else "  BEHIND THE GOAL"
    print(f"{name}\n  a probe costs {ratio:.2f} passes (goal {GOAL:g}){word}, "
          f"everything else {rest / middle['training']:.2f} once")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    for name, (build, shape) in MODELS.items():
        compare(name, build, shape, rounds)
    print(f"largest resident size of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
