"""The figures of Doshi, He and Gromov on PyTorch models, one command each, and their test of criticality as a recipe.

    python -m examples.NAME [--quick] [--out DIR]

writes NAME.png and NAME.csv, and prints what was measured beside the theory.
"""
