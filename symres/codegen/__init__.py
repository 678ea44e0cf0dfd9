"""Code generation: quantities become functions of generated modules, whose errors are measured and stated.

Read ``generate`` first. ``planning`` splits a quantity into components and says what a target is, ``strategy`` chooses
how each is computed and measures its error, ``targets`` writes it. Closed forms are rewritten for floats in ``stable``,
functions of one kernel are fitted in ``fits``, averages are integrated by the code of ``averages``. ``arrays`` is what
targets for array libraries have in common, with the functions that their modules contain in ``arrays/runtime``.
``emission`` turns formulas into lines, ``wording`` writes docstrings, ``procedures`` and ``power_sums`` plan loops,
searches and sums, ``module`` holds and loads text.
"""
