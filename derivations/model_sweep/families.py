"""A family of models, and the table of all of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

_OPERATORS: list[torch.library.Library] = []  # kept alive: what a library declares ends with it


@dataclass(frozen=True)
class Family:
    """A kind of model.

    Args:
        name: what it is called in the table.
        library: where it comes from: "timm", "torchvision", "transformers" or "torch".
        build: makes one with random weights; imports the library only then.
        inputs: makes inputs: a tensor, a tuple (by position) or a dictionary (by name); the first axis counts them.
    """

    name: str
    library: str
    build: Callable[[], nn.Module]
    inputs: Callable[[], Any]


def all_families() -> dict[str, Family]:
    """By name, in the order of the table."""
    from .image_families import IMAGE_FAMILIES
    from .language_families import LANGUAGE_FAMILIES
    from .plain_families import PLAIN_FAMILIES

    families = [*PLAIN_FAMILIES, *IMAGE_FAMILIES, *LANGUAGE_FAMILIES]
    by_name = {family.name: family for family in families}
    assert len(by_name) == len(families), "two families have one name"
    return by_name


def load_torchvision() -> None:
    """Import torchvision, if it is installed, where its compiled operators do not load too.

    PyPI's torchvision is compiled against PyTorch for CUDA; beside PyTorch for processors alone its compiled operators
    do not load, and its import ends at the first of them. It is imported again after two operators for boxes have been
    declared: timm and parts of transformers import torchvision, and no family here calls them.
    """
    try:
        importlib.import_module("torchvision")
    except ModuleNotFoundError:
        return
    except RuntimeError:
        for module in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[module]
        _OPERATORS.append(torch.library.Library("torchvision", "FRAGMENT"))
        for operator in ("nms", "qnms"):
            _OPERATORS[0].define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        importlib.import_module("torchvision")
