"""Jacobians of small models entry by entry, by ``torch.autograd.functional.jacobian``, and kernels."""

import torch
from torch import nn


def squared_norms(function, inputs):
    """sum_ij (d out_i/d in_j)^2 / (entries of one output), of each input, derivatives by every input of the batch."""
    jacobian = torch.autograd.functional.jacobian(function, inputs)  # outputs' axes, then inputs' axes
    size = len(inputs)
    rows = jacobian.reshape(size, -1, *inputs.shape)
    entries = rows.shape[1]
    return (rows.flatten(1).square().sum(dim=1) / entries).detach().numpy()


def of_stack(blocks: nn.Sequential, inputs: torch.Tensor):
    """For each block of a stack: kernel, norm from the input, norm to the output, averaged over the inputs.

    The backward norm is summed over the outputs that the place of an input reaches.
    """
    found = []
    for last in range(1, len(blocks) + 1):
        front, back = blocks[:last], blocks[last:]
        with torch.no_grad():
            place = front(inputs.clone())
        backward = squared_norms(lambda h, back=back: back(h.clone()), place).mean()
        forward = squared_norms(lambda x, front=front: front(x.clone()), inputs).mean()
        found.append((float(place.square().mean()), float(forward), float(backward)))
    return found
