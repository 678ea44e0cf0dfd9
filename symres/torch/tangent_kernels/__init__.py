"""Tangent kernels of models, beside those of their theory.

tangent_kernel     the kernel of any model: one call; derivatives of outputs in the parameters; the theory of the model
kernel_comparison  the result: the matrix, its shares, theory and scatter
"""
