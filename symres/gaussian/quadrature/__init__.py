"""Averages over one or two Gaussian variables as balls, with proved error bounds.

Reading order: ``average_ball.py`` (the entry point), ``panels.py`` (Gauss-Legendre rules and where their error bound
comes from), ``univariate.py`` (one variable: tails, cancellation, vanishing variance), ``bivariate.py`` (two variables)
with ``bivariate_normal.py`` (their law, and what it means to know it roughly), ``tensor_rule.py`` (the product of two
rules, with fewer nodes) and ``conditional_rule.py`` (nearly dependent variables).
"""
