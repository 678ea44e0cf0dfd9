"""Recorded calls as forward equations of the theory. Reading order from outside inwards

layering          steps put together to layers, with what cannot be read set apart
interpreting      call by call, what each value is
formula_values    a value: a formula of the neurons of one base; the result: the equation, and what was not read
dense_variances   dense layers and convolutions, and the variances of their weights
norm_statistics   normalisation, by PyTorch's functions or written out
pointwise_chains  operations entry by entry: the activation
axes              which axis counts neurons
"""
