"""Averages as expressions, not evaluated: what may be averaged, and how averages are differentiated.

Reading order: ``integrand.py`` (sums of products of functions of one variable each), ``expectation.py`` (the law
``Gaussian`` and the node ``Expectation``), ``derivatives.py`` (in covariances by Price's theorem and Stein's lemma, in
parameters and means by Leibniz' rule), ``distributions.py`` (integrands that contain delta functions).
"""
