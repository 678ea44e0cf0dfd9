"""The law of the neurons of one layer, carried through its program; no node or activation is known here.

Read ``linear_forms`` first (Gaussian variables as linear forms in independent sources, and averages of products), then
``walk`` (the law of all neurons, as a list of ``assignments``), then the rules built on it: ``tangent`` for gradients
and tangent kernels, ``rescaling`` for inputs of finite dimension, ``normalisation_domain`` for inputs of kernel 0.
"""
