"""From sympy expressions to lines of a program: ``emitter`` holds the dialects and the records of printed code."""
