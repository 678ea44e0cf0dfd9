"""Results as plain data: what theory and checks hand to pages, documents, modules and users.

Read ``quantity`` first: an expression with its status, proof and evaluation; ``arguments_of_quantities`` has what
users may put in, and limits of parallel and vanishing inputs. ``critical_point`` holds
the outcome of the analysis of criticality, ``phases`` where networks at given parameters end, ``verdict`` what
oracles found, and ``report`` all that is known about one activation in one layer.
"""
