"""Closed forms of averages, each with a proof that replays and with checks against independent numbers.

Reading order: ``average.py`` (the entry point: derive, then verify), ``engine.py`` (the derivation step by step),
``terms.py`` (the functions that the engine knows), ``stein.py`` (the recursion by Stein's lemma), ``citations.py``
(what a proof by it cites), ``orthants.py`` (the averages of products of signs at which the recursion ends). Quotients
of polynomials have a rule of their own, ``rational_averages.py``.

A closed form is verified in ``verification.py`` (quadrature at random points) and in ``identities.py`` (its slopes,
independent and equal inputs); ``price_proof.py`` proves averages over two variables a second time.
"""
