"""What scalar code does with whole arrays, as restricted Python like the library.

Loops over rows and entries have a text of their own for each function, made from ``templates``: how many numbers
belong to an input, a pair and a layer differs. ``hooks.py`` lists what a module defines for these files.
"""
