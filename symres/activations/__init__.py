"""Activations: from the text of a formula to an activation whose properties are proved.

Reading order: ``formula_parser.py`` (text to expression; names of other libraries are in ``foreign_names.py``),
``piecewise.py`` (a formula as smooth pieces between breakpoints, which ``zeros.py`` finds), ``validation.py`` (what a
formula must satisfy) with ``domain_proof.py`` (real and finite everywhere),
``symmetries.py`` (parity, homogeneity), ``atom.py`` (``phi(u)`` in expressions), ``activation.py`` (all of it in one
object), ``catalogue.py`` (known names).
"""
