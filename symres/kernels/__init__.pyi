# The public names of symres.kernels: one list for users, type checkers and the loader.
from . import gpytorch as gpytorch
from . import sklearn as sklearn
from .block_matrix import matrix as matrix
from .ensemble import Ensemble as Ensemble
from .ensemble import Outputs as Outputs
from .ensemble import predict as predict
from .images import image_kernels as image_kernels
from .zonal import ZonalKernel as ZonalKernel
