"""The law of the neurons of one layer, carried through its program; no node or activation is known here.

Read ``linear_forms`` first (Gaussian variables as linear forms in independent sources, and averages of products), then
``walk`` (the law of all neurons, as a list of ``assignments``), then ``tangent`` (the same walk with infinitesimal
changes of inputs and parameters: for gradients, tangent kernels and inputs of finite dimension).
"""
