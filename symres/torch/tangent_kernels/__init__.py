"""Tangent kernels of models, beside those of their theory.

tangent_kernel        the kernel of any model: one call
kernel_comparison     the result: the matrix, its shares, theory and scatter
parameter_jacobians   derivatives of outputs in the parameters, and their products
tangent_theory        the kernel of a model that was read, at infinite width, in PyTorch's parametrisation
"""
