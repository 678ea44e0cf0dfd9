"""Results as plain data: what theory and checks hand to pages, documents, modules and users.

Read ``quantity`` first: an expression with its status, proof and evaluation. ``critical_point`` and ``exponents`` hold
the outcome of the analysis of criticality, ``phases`` where networks at given parameters end, ``verdict`` what oracles
found, and ``report`` all that is known about one activation in one layer.
"""
