"""The algebra of closed forms: ``canonical.py`` writes equal closed forms as one and the same expression.

Reading order: ``rational_functions.py`` (the coefficients, and the signs of polynomials), ``radical_forms.py`` (the
normal form: sums of products of roots, exponentials and other functions), ``from_sympy.py`` (an expression into it),
``to_sympy.py`` (back, as in a textbook), ``complementary.py`` (1 - erf as erfc, and its analogue for two signs).
"""
