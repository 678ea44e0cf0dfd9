"""What the processes of all families share: it is loaded once, before they fork from one that has it."""

import importlib

from .families import load_torchvision

load_torchvision()
for _name in (
    *("symres.torch.measuring.measure", "symres.torch.reading.read_model", "symres.torch.initialising.initialise"),
    *("symres.check", "torch._dynamo", "torch._inductor", "scipy.stats", "transformers", "timm"),
):
    importlib.import_module(_name)
