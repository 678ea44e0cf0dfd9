"""Theories as walks over the program of a layer.

Read ``theory`` first: the door, ``derive`` and ``network``. ``walk`` carries the law of the neurons through a
program; ``quantities`` makes verified quantities of the averages that it leaves: maps of kernels, susceptibilities,
tangent kernels. ``depth`` composes layers to networks and takes the limit of many layers; ``criticality`` finds
parameters for which deep networks neither explode nor vanish.
"""
