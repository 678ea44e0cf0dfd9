"""Numbers with guarantees, below everything that is derived: knows no formula, no activation and no average.

``ball_functions`` has the elementary functions on balls, ``interval_arithmetic`` ranges with open and infinite ends;
``plackett`` encloses averages of signs of Gaussian variables; ``gauss_rules`` makes nodes and weights, which all rooms
take from there; ``brent`` finds a root, ``highest`` the highest of all maxima (generated modules contain both);
``deferred_numpy`` is NumPy, imported late.
"""
