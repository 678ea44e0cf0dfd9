# The public names of symres.torch: one list for users, type checkers and the loader.
from .gains.gain import Gain as Gain
from .gains.gain import gain as gain
