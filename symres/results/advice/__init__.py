"""How to initialise a network of some depth and width: numbers, how they were tried, and why they were chosen.

Reading order: ``parts`` (the numbers, and what they are made of); ``advice``, with the words.
"""
