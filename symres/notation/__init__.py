"""How formulas are written: in which order, and in LaTeX with the field's names.

Read ``shortest`` first (which of several equal forms is printed), then ``term_order`` (which term and factor stands
where) and ``latex``. ``long_numbers`` has what is done about integers of many digits, ``decimals`` shortens numbers,
and ``facts`` makes equations for objects that show themselves, with names for long determinants.
"""

from .facts import named as named
from .latex import Notation as Notation
from .latex import escape as escape
from .latex import latex as latex
from .latex import width as width
from .long_numbers import shortened as shortened
from .shortest import readable as readable
from .shortest import symbols as symbols
from .term_order import has_decimals as has_decimals
from .term_order import is_activation as is_activation
