"""The theory on users' own PyTorch models: ``import symres.torch as st``.

Needs PyTorch, which no other room of symres imports. Reading order: ``activations`` (from a module or a function to
the formula that the theory derives from), ``gains`` (the number by which a layer's weights are scaled, and why).
The public names stand in ``__init__.pyi``; each is imported when it is first asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
