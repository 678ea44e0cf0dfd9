"""The functions that modules for array libraries contain: NumPy code, which generated modules have as it stands here.

``xp`` is the library there. A target whose library does something in another way has a function of the same name in a
folder of its own, see ``RuntimeLibrary``.
"""
