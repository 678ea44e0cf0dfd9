"""Tangent kernels of models, beside those of their theory.

tangent_kernel      the kernel of any model: one call; derivatives of outputs in the parameters
kernel_comparison   the result: the matrix, its shares, theory and scatter
tangent_theory      the kernel of a model that was read, at infinite width, in PyTorch's parametrisation
"""
