"""How to initialise a network of some depth and width: numbers, how they were tried, and why they were chosen.

Reading order: ``choice`` (the numbers) with ``parts``, what it is made of; ``sentences`` (the words); ``advice``.
"""
