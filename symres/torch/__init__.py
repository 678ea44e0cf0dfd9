"""The theory applied to PyTorch models of one's own: ``import symres.torch as st``.

>>> round(st.gain(torch.nn.ReLU()), 6), round(st.gain("tanh"), 6)
(1.414214, 1.0)

The public names stand in ``__init__.pyi``; each is imported when it is first asked for. Nothing outside of this room
imports PyTorch. Inwards

tuning       residual blocks and layers rescaled in place, so that measured kernels or gradients keep their size
tangent_kernels  the empirical tangent kernel of a model, beside that of its theory
scaling      activations and the best learning rate over the width of a model, in its first steps
reading      which layers of the theory a model is made of, with the variances of its weights; what they predict
equations    recorded calls as forward equations of the theory
tracing      a run of a model, recorded call by call
models       what is done with anybody's model: places are chosen in it, and it stays as it was
probing      what one network shows of some inputs: kernels and Jacobian norms at its places
measuring    averages over networks with standard errors, their table, their figure, and what they say about depth
activations  from a module or a function to the formula that the theory derives from
initialising  weights for the depth and width of a model, set in place, and why
gains        the number by which a layer's weights are scaled, and why
"""

import lazy_loader

from ..core.errors import SymresError
from ..core.foreign import is_installed

if not is_installed("torch"):
    raise SymresError("symres.torch", "PyTorch is not installed", "pip install symres[torch]")


__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
