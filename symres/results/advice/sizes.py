"""How deep and wide networks are where nobody says it; no imports, because the command line shows it in its help."""

DEPTH, WIDTH = 50, 512
