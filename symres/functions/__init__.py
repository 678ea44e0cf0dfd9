"""The functions that may stand in a formula: one record each, and what is read off the records.

``function_record`` says what a record holds, ``records`` has them by family, ``companions`` the classes of functions
that sympy does not have, and what brings formulas to few kinds. ``balls`` evaluates formulas to numbers with error
bounds; ``floats`` to arrays of doubles, Gaussian averages among them: floats find what balls prove.
``ranges`` proves statements for all z of an interval, such as the sign of a formula; ``tails`` says how formulas behave
far out; ``roots`` finds zeros of functions of the kernel and represents a root as an exact number.
"""

from . import records

__all__ = ["records"]
