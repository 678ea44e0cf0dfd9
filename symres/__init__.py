"""symres: symbolic derivation of the theory of deep networks.

>>> import symres as sr
>>> theory = sr.derive(sr.residual("gelu"))
>>> theory.critical_points[0].K
3/2 + sqrt(17)/2
"""

from .api import derivative as derivative
from .api import expect as expect
from .api import expect2 as expect2
from .check import check as check
from .declare.activation import Activation as Activation
from .declare.architectures import architectures as architectures
from .declare.architectures import batch_norm as batch_norm
from .declare.architectures import ln_act as ln_act
from .declare.architectures import mlp as mlp
from .declare.architectures import pre_ln as pre_ln
from .declare.architectures import residual as residual
from .declare.architectures import two_layer_block as two_layer_block
from .declare.catalogue import activation as activation
from .declare.catalogue import activations as activations
from .declare.layer import Layer as Layer
from .declare.nodes import Dense as Dense
from .declare.nodes import Node as Node
from .declare.normalisers import BatchNorm as BatchNorm
from .declare.normalisers import LayerNorm as LayerNorm
from .declare.normalisers import RMSNorm as RMSNorm
from .errors import CheckRefuted as CheckRefuted
from .errors import DeclarationError as DeclarationError
from .errors import NoClosedForm as NoClosedForm
from .errors import SymresError as SymresError
from .errors import UnsupportedLayer as UnsupportedLayer
from .export import PhaseDiagram as PhaseDiagram
from .export import export as export
from .export import phase_diagram as phase_diagram
from .quantity import Quantity as Quantity
from .quantity import Status as Status
from .symbols import C_W as C_W
from .symbols import K1 as K1
from .symbols import K2 as K2
from .symbols import C as C
from .symbols import C_b as C_b
from .symbols import K as K
from .symbols import L as L
from .symbols import M as M
from .symbols import gamma as gamma
from .symbols import n as n
from .symbols import n_L as n_L
from .symbols import r as r
from .symbols import tau as tau
from .symbols import xi as xi
from .symbols import z as z
from .theory.depth import DepthLimit as DepthLimit
from .theory.derive import Theory as Theory
from .theory.derive import derive as derive
from .theory.derive import network as network
from .theory.fixedpoints import FixedPoint as FixedPoint
from .theory.network import DualKernel as DualKernel
from .theory.network import Network as Network
from .theory.points import CriticalPoint as CriticalPoint

__version__ = "0.1.0"
