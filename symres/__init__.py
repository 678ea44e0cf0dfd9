"""symres: symbolic derivation of the theory of deep networks.

>>> import symres as sr
>>> theory = sr.derive(sr.residual("gelu"))
>>> theory.critical_points[0].K
3/2 + sqrt(17)/2
"""

from .activations.activation import Activation as Activation
from .activations.catalogue import activation as activation
from .activations.catalogue import activations as activations
from .api.averages import derivative as derivative
from .api.averages import expect as expect
from .api.averages import expect2 as expect2
from .check import check as check
from .codegen.generate import export as export
from .core.errors import CheckRefuted as CheckRefuted
from .core.errors import DeclarationError as DeclarationError
from .core.errors import NoClosedForm as NoClosedForm
from .core.errors import SymresError as SymresError
from .core.errors import UnsupportedLayer as UnsupportedLayer
from .core.symbols import C_W as C_W
from .core.symbols import K1 as K1
from .core.symbols import K2 as K2
from .core.symbols import C as C
from .core.symbols import C_b as C_b
from .core.symbols import K as K
from .core.symbols import L as L
from .core.symbols import M as M
from .core.symbols import gamma as gamma
from .core.symbols import n as n
from .core.symbols import n_L as n_L
from .core.symbols import r as r
from .core.symbols import tau as tau
from .core.symbols import xi as xi
from .core.symbols import z as z
from .layers.architectures import architectures as architectures
from .layers.architectures import batch_norm as batch_norm
from .layers.architectures import ln_act as ln_act
from .layers.architectures import mlp as mlp
from .layers.architectures import pre_ln as pre_ln
from .layers.architectures import residual as residual
from .layers.architectures import two_layer_block as two_layer_block
from .layers.layer import Layer as Layer
from .layers.nodes import Dense as Dense
from .layers.nodes import Node as Node
from .layers.normalisation import BatchNorm as BatchNorm
from .layers.normalisation import LayerNorm as LayerNorm
from .layers.normalisation import RMSNorm as RMSNorm
from .report.figures.phase_diagram import PhaseDiagram as PhaseDiagram
from .report.figures.phase_diagram import phase_diagram as phase_diagram
from .results.critical_point import CriticalPoint as CriticalPoint
from .results.quantity import Quantity as Quantity
from .results.quantity import Status as Status
from .theory.criticality.fixed_points import FixedPoint as FixedPoint
from .theory.depth.infinite_depth import DepthLimit as DepthLimit
from .theory.depth.network import DualKernel as DualKernel
from .theory.depth.network import Network as Network
from .theory.theory import Theory as Theory
from .theory.theory import derive as derive
from .theory.theory import network as network

__version__ = "0.1.0"
