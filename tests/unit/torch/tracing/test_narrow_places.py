"""Where the whole stream goes through one tensor."""

from itertools import pairwise

import pytest
import torch

from symres.torch.tracing.narrow_places import stream_steps
from symres.torch.tracing.recording import record_run
from tests.oracles.torch_blocks import Computed


def chain(x):
    return x.sin().cos().exp()


def residual(x):
    x = x + x.sin().cos()
    return x + x.exp()


def long_skip(x):
    return x + x.sin().cos().exp()


def unused(x):
    y = x.sin()
    y.exp().cos()
    return y.cos()


def two_pieces(x):
    a, b = x.sin().chunk(2, dim=-1)
    return (a * b).cos()


def one_piece(x):
    return x.chunk(2, dim=-1)[0].cos()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (chain, [["sin"], ["cos"], ["exp"]]),
        (residual, [["sin", "cos", "add"], ["exp", "add"]]),
        (long_skip, [["sin", "cos", "exp", "add"]]),
        (unused, [["sin"], ["cos"]]),
        (two_pieces, [["sin"], ["chunk", "mul"], ["cos"]]),
        (one_piece, [["chunk"], ["cos"]]),
    ],
)
def test_steps(function, expected):
    x = torch.randn(2, 4)
    record = record_run(Computed(function), (x,), {}, x)
    steps = stream_steps(record, record.output)
    assert [[call.name for call in step.calls] for step in steps] == expected
    assert steps[0].entry == 0 and steps[-1].exit == record.output
    assert all(a.exit == b.entry for a, b in pairwise(steps))
