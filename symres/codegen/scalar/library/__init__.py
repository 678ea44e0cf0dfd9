"""The run-time library of scalar code, as real functions of floats: inlined into what is generated.

Restricted Python, which a just-in-time compiler takes as it is and which ``translate.py`` turns into C: assignments,
arithmetic, conditional expressions, loops over ranges. Nothing branches on data, so that compilers make loops over
entries vector code. What a target has to provide itself stands in ``machine.py``.
"""
