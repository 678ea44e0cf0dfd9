"""The law of the neurons of one layer, carried through its program; no node or activation is known here.

Read ``linear_forms`` first (Gaussian variables as linear forms in independent sources, and averages of products), then
``walk`` (the law of all neurons, as a list of ``assignments``), then ``tangent`` (the same walk for infinitesimal changes
of the inputs and of the parameters: gradients, tangent kernels, inputs of finite dimension) and
``normalisation_domain`` (inputs of kernel 0).
"""
