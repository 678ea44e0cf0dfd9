"""Nodes for tests of the check room: sampled only, never lowered."""

import math

import numpy as np

from symres.layers.nodes import Node


class Normed(Node):
    """(u - mean)/standard deviation over the neurons."""

    def sample(self, net, u, *rest):
        mean = net.mean(u)
        return (u - mean) / np.sqrt(net.mean((u - mean) ** 2))


class Sorting(Node):
    """Something that only a finite network can do."""

    def sample(self, net, u, *rest):
        return np.sort(u, axis=1)


class Exponential(Node):
    """A function of numbers."""

    def sample(self, net, u, *rest):
        return math.exp(u)


class Shaped(Node):
    """Something that looks at shapes."""

    def sample(self, net, u, *rest):
        return u * u.shape[0]
