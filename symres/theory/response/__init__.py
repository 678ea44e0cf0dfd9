"""How outputs respond to small changes of the kernel of the inputs, and the branch scale that makes them respond most.

Reading order: ``layer_slopes`` (maps of one layer with their derivatives, compiled), ``kernel_response``
(products of slopes along the layers up to a readout, and their power law in depth), ``scan`` (where zeros over all
positive numbers may be, and where numbers end), ``branch_scale`` (the maximum over xi at a depth, that of linear layers
too), ``deep_branch_scale`` (its limit for deep networks), ``maximum_entropy`` (another condition on the last kernel),
``response_recursions`` (what of this is exported as code).
"""
