"""How formulas are written: in which order, and in LaTeX with the field's names."""

from .determinants import named as named
from .latex import Notation as Notation
from .latex import latex as latex
from .term_order import has_decimals as has_decimals
from .term_order import is_activation as is_activation
from .term_order import readable as readable
from .term_order import shortened as shortened
from .width import width as width
