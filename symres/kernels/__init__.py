"""Kernels of infinitely wide networks where other libraries take them: ``import symres.kernels``.

>>> module = sr.export(sr.network(["linear"] * 2))
>>> X = np.array([[1.0, 1.0], [1.0, -1.0]])
>>> symres.kernels.matrix(module, X, C_W=1, C_b=1, progress=False).round(6).tolist()
[[5.0, 3.0], [3.0, 5.0]]

The public names stand in ``__init__.pyi``; each is imported when it is first asked for, and with it the library that
it serves. Inwards

sklearn, gpytorch   kernel classes of these libraries
block_matrix        kernel matrices larger than memory, block by block
block_store         their files, and the journal by which they are resumed
zonal               kernels of inputs of one norm, tabulated in their angle: any depth costs the same
images              kernels of convolutional networks between images
ensemble            what infinitely wide networks predict, at any time of their training
kernel_gradient     derivatives of kernels in parameters, forwards through the layers
kernel_arguments    networks by name or layer, functions of their modules, arrays, parameters within their domains
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
