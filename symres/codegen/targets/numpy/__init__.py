"""NumPy modules: ``target`` says what they are, ``components`` is the code, ``tiles`` that of parts of matrices."""

from .target import TARGET as TARGET
