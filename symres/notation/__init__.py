"""How formulas are written: in which order, and in LaTeX with the field's names."""

from .named import named as named
from .order import has_decimals as has_decimals
from .order import is_activation as is_activation
from .order import readable as readable
from .order import shortened as shortened
from .printer import Notation as Notation
from .printer import latex as latex
from .width import width as width
