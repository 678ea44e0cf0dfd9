"""What happens in the process of one family: stages, each told when it ends."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

import symres.torch as st
from symres.core.errors import SymresError

from .families import Family
from .hook_signals import hook_signals

STAGES = ("build", "before", "measure", "read", "init", "after")


def stages_of(family: Family) -> Iterator[dict[str, Any]]:
    """The stages, one after another; what fails ends them, but for what symres refuses.

    Yields:
        "stage", "seconds", "outcome" ("done", "refused" or "exception"), "said", and numbers of the stage.
    """
    torch.manual_seed(0)
    model, inputs = nn.Module(), None

    def built() -> dict[str, Any]:
        nonlocal model, inputs
        model, inputs = family.build(), family.inputs()
        return {"said": "", "parameters": sum(parameter.numel() for parameter in model.parameters())}

    def signals() -> dict[str, Any]:
        found = hook_signals(model, inputs)
        ratios = {"activations": found.activation_ratio, "gradients": found.gradient_ratio}
        return {"said": "", "modules": len(found.activations), **ratios}

    def measured() -> dict[str, Any]:
        found = st.measure(model, inputs, progress=False)
        return {"said": f"{len(found.places)} places", "notes": len(found.notes)}

    def read() -> dict[str, Any]:
        found = st.read(model, inputs)
        parts = sum(block.count for block in found.recognised)
        return {"said": str(found).splitlines()[0], "recognised": parts, "parts": len(found.order)}

    def initialised() -> dict[str, Any]:
        before = {name: tensor.detach().clone() for name, tensor in model.named_parameters()}
        report = st.init_(model, inputs=inputs, seed=0)
        changed = sum(not torch.equal(before[name], tensor) for name, tensor in model.named_parameters())
        sentences = [*report.check.sentences, *report.notes]
        left = len(report.left)
        return {"said": sentences[0] if sentences else "", "changed": changed, "left": left, "notes": sentences}

    actions: tuple[Callable[[], dict[str, Any]], ...] = (built, signals, measured, read, initialised, signals)
    for stage, act in zip(STAGES, actions, strict=True):
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                told = {"outcome": "done", **act()}
        except SymresError as error:
            told = {"outcome": "refused", "said": " ".join(str(error).split())}
        except Exception as error:  # only symres's own errors are answers; any other one is a defect to be listed
            told = {"outcome": "exception", "said": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        seconds = round(time.perf_counter() - start, 2)
        # JSON has no numbers that are not finite
        finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in told.items()}
        yield {"stage": stage, "seconds": seconds, **finite}
        if told["outcome"] != "done" and stage in ("build", "before", "init"):
            return
