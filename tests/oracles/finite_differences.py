"""Squared norms of Jacobians of blocks by finite differences along random directions: no derivatives of PyTorch."""

import numpy as np
import torch

STEP = 1e-5


def first(output):
    return output if isinstance(output, torch.Tensor) else output[0]


def chi_of_block(block, stream, probes=8, seed=0):
    """(1/n) sum_ij (dz'_i/dz_j)^2 with its standard error over inputs; the stream in double precision.

    Directions are independent signs for every input of the batch.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = []
    with torch.no_grad():
        for _ in range(probes):
            sign = torch.randint(0, 2, stream.shape, generator=generator).to(stream) * 2 - 1
            ahead, behind = (first(block(stream + step * sign)) for step in (STEP, -STEP))
            rows.append(((ahead - behind) / (2 * STEP)).reshape(len(stream), -1).square().mean(dim=1).numpy())
    values = np.mean(rows, axis=0)
    return values.mean(), values.std(ddof=1) / len(values) ** 0.5
