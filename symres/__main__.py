"""``python -m symres`` is the command ``symres``."""

from .cli import main

main()
