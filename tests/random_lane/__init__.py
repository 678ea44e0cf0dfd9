"""Random declarations through every stage: formulas, forward equations with constants, names of parameters.

``python -m tests.random_lane --formulas 2000 --equations 500 --names 300 --out FILE`` goes on where FILE ends.
"""
