"""Code generation: quantities become functions of generated modules, whose errors are measured and stated.

Read ``generate`` first. ``planning`` splits a quantity into components, ``strategy`` chooses how each is computed and
measures its error, ``targets`` prints it. Closed forms are rewritten for floats in ``stable``, functions of one kernel
are fitted in ``fits``, averages are integrated by the code of ``averages``, with helper functions from ``runtime``.
``emission`` turns formulas into lines, ``wording`` writes docstrings, ``network`` joins layers, ``procedures`` adds
recursions and searches that call the functions of a module, ``module`` loads text.
"""
