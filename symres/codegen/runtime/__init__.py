"""The texts of helper functions that generated modules contain.

Read ``quadrature_nodes`` first, then ``pair_averages`` and ``sign_averages``: one text serves both libraries.
``numpy_helpers`` and ``torch_helpers`` hold the texts for one library.
"""
