"""Do tiny language models of transformers learn faster from ``st.init_`` than from their own weights?

A Mistral and a Phi of 8 layers and width 64 learn to predict the characters of documentation of Python's standard
library, which pydoc writes; 300 steps of Adam at four learning rates, two seeds each, once from the random weights of
transformers and once from those of ``st.init_``, which sees 16 pieces of the text. Both see the same pieces in the
same order. The table has the mean loss on text that was held out, in nats for a character.

Run ``python -m derivations.tiny_language_models [--quick] [--out table.md]``: minutes on one core, seconds with
``--quick``; it needs transformers (extra ``models`` or ``test``).
"""

from __future__ import annotations

import argparse
import copy
import pydoc
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import Progress
from torch import nn

import symres.torch as st

from .model_sweep.families import load_torchvision

RATES = (3e-4, 1e-3, 3e-3, 1e-2)
SCHEMES = ("transformers", "st.init_")
CHARACTERS = 128  # of ASCII
SUBJECTS = ("argparse", "logging", "unittest", "datetime", "collections", "random", "threading", "subprocess")


@dataclass(frozen=True)
class Sizes:
    """How much is trained.

    Args:
        depth: number of layers.
        width: of the stream.
        seeds: models of each kind.
        steps: of the optimiser.
        batch: pieces of text in a step.
        length: characters in a piece.
    """

    depth: int = 8
    width: int = 64
    seeds: int = 2
    steps: int = 300
    batch: int = 4
    length: int = 32


QUICK = Sizes(depth=2, width=32, seeds=1, steps=4, batch=4, length=16)


@dataclass(frozen=True)
class Trained:
    """What became of models of one kind at one learning rate.

    Args:
        model: the name of its class.
        scheme: where its weights come from.
        rate: the learning rate.
        losses: on text that was held out, of each seed; nan where it diverged.
    """

    model: str
    scheme: str
    rate: float
    losses: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return sum(self.losses) / len(self.losses)


def mistral(sizes: Sizes) -> nn.Module:
    """Mistral: RMSNorm, SwiGLU, grouped queries."""
    load_torchvision()
    from transformers import MistralConfig, MistralForCausalLM

    return MistralForCausalLM(MistralConfig(num_key_value_heads=2, **_options(sizes)))


def phi(sizes: Sizes) -> nn.Module:
    """Phi: LayerNorm, gelu, attention and perceptron side by side."""
    load_torchvision()
    from transformers import PhiConfig, PhiForCausalLM

    return PhiForCausalLM(PhiConfig(**_options(sizes)))


MODELS: dict[str, Callable[[Sizes], nn.Module]] = {"Mistral": mistral, "Phi": phi}


def _options(sizes: Sizes) -> dict[str, Any]:
    shape = {"hidden_size": sizes.width, "intermediate_size": 3 * sizes.width, "num_hidden_layers": sizes.depth}
    tokens = {"vocab_size": CHARACTERS, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return {**shape, **tokens, "num_attention_heads": 4, "max_position_embeddings": sizes.length}


def text() -> torch.Tensor:
    """Characters of Python's documentation, as integers."""
    pages = (pydoc.plain(pydoc.render_doc(subject)) for subject in SUBJECTS)
    # addresses and places of files differ from machine to machine
    told = (re.sub(r"0x[0-9a-f]+|FILE\n.*", "", page) for page in pages)
    return torch.tensor([min(ord(letter), CHARACTERS - 1) for page in told for letter in page])


def pieces(characters: torch.Tensor, count: int, length: int, source: torch.Generator) -> torch.Tensor:
    """Pieces of a text at random places, shape (count, length)."""
    starts = torch.randint(len(characters) - length, (count,), generator=source)
    return torch.stack([characters[start : start + length] for start in starts.tolist()])


def loss_of(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of the next character."""
    logits = model(input_ids=tokens).logits[:, :-1]
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def built(name: str, scheme: str, seed: int, sizes: Sizes, characters: torch.Tensor) -> nn.Module:
    """A model with its first weights."""
    torch.manual_seed(seed)
    model = MODELS[name](sizes)
    if scheme == "st.init_":
        tokens = pieces(characters, 16, sizes.length, torch.Generator().manual_seed(seed))
        st.init_(model, inputs={"input_ids": tokens}, seed=seed)
    return model


def trained(model: nn.Module, rate: float, seed: int, sizes: Sizes, characters: torch.Tensor) -> float:
    """The loss on the last tenth of the text after training on the rest; nan where it diverged."""
    end = 9 * len(characters) // 10
    source = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(sizes.steps):
        loss = loss_of(model, pieces(characters[:end], sizes.batch, sizes.length, source))
        if not bool(torch.isfinite(loss)):
            return float("nan")
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        return float(loss_of(model.eval(), pieces(characters[end:], 64, sizes.length, source)))


def results(sizes: Sizes) -> Iterator[Trained]:
    """Of all models, from all weights, at all rates."""
    characters = text()
    kinds = [(name, scheme) for name in MODELS for scheme in SCHEMES]
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=len(kinds) * len(RATES) * sizes.seeds)
        for name, scheme in kinds:
            models = [built(name, scheme, seed, sizes, characters) for seed in range(sizes.seeds)]
            for rate in RATES:
                losses = []
                for seed, model in enumerate(models):
                    losses.append(trained(copy.deepcopy(model), rate, seed, sizes, characters))
                    bar.advance(task)
                yield Trained(name, scheme, rate, tuple(losses))


def table(rows: Sequence[Trained]) -> str:
    """A row for each model and scheme, a column for each rate; losses of the seeds at the best rate."""
    lines = [f"| model | weights of | {' | '.join(f'{rate:g}' for rate in RATES)} | best, each seed |"]
    lines.append(f"|{'---|' * (len(RATES) + 3)}")
    for name in MODELS:
        for scheme in SCHEMES:
            alike = [row for row in rows if (row.model, row.scheme) == (name, scheme)]
            if len(alike) < len(RATES):  # training goes on
                continue
            best = min(alike, key=lambda row: row.mean if row.mean == row.mean else float("inf"))
            losses = " | ".join(f"{row.mean:.2f}" for row in alike)
            each = ", ".join(f"{loss:.2f}" for loss in best.losses)
            lines.append(f"| {name} | {scheme} | {losses} | {each} at {best.rate:g} |")
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m derivations.tiny_language_models", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="models and training so small that they take seconds")
    parser.add_argument("--out", type=Path, help="a file for the table")
    chosen = parser.parse_args(words)
    rows: list[Trained] = []
    for row in results(QUICK if chosen.quick else Sizes()):
        rows.append(row)
        if chosen.out is not None:
            chosen.out.write_text(table(rows) + "\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
