"""How formulas behave far out.

``tail_scale`` has the scale of a function for large arguments and its arithmetic, ``scale_analysis`` that of a formula.
"""
