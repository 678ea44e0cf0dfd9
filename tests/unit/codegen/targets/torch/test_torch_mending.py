"""Closed forms that are mended where their terms cancel: which entries, their derivatives, in one graph."""

import pytest
import torch

from symres.codegen import targets
from tests.shared import runtime

MODULE = """
def difference(a, b):
    return (a + 1.0) - (1.0 + b)

def doubt(a, b):
    return 4.0 * (1.0 + torch.abs(a) + torch.abs(b))

def rule(a, b):
    seen.append(a.shape[0])
    return a - b

def one(a, b):
    return torch.ones_like(a)

def minus_one(a, b):
    return -torch.ones_like(a)

def open_(a, b):
    return _flat(rule, 64, a, b)

def open_da(a, b):
    return _flat(one, 64, a, b)

def open_db(a, b):
    return _flat(minus_one, 64, a, b)

def mended(a, b):
    return _mended(difference, doubt, open_, (open_da, open_db), a, b)
"""
FIRST = torch.tensor([0.5, 1e-7, 3.0, 2e-9], dtype=torch.float64)
SECOND = torch.tensor([0.2, 0.7e-7, 2.0, 1e-9], dtype=torch.float64)
IN_DOUBT = 2


@pytest.fixture
def module():
    target = targets.find("torch")
    space = runtime(target, MODULE)
    exec(target.finished(MODULE), space)
    return space | {"seen": space.setdefault("seen", [])}


def given():
    return FIRST.clone().requires_grad_(), SECOND.clone().requires_grad_()


def test_entries_in_doubt_alone_are_computed_otherwise(module):
    a, b = given()
    value = module["mended"](a, b)
    assert sum(module["seen"]) == IN_DOUBT
    assert ((value - (FIRST - SECOND)).abs() <= 1e-15 * (FIRST - SECOND).abs())[1::2].all()
    assert torch.equal(value[::2], module["difference"](FIRST, SECOND)[::2])
    assert [g.tolist() for g in torch.autograd.grad(value.sum(), (a, b))] == [[1.0] * 4, [-1.0] * 4]


@pytest.mark.exhaustive
def test_one_graph_has_the_same_numbers(module):
    torch._dynamo.reset()
    compiled = torch.compile(module["mended"], fullgraph=True, backend="aot_eager")
    a, b = given()
    value = compiled(a, b)
    assert torch.equal(value, module["mended"](FIRST, SECOND))
    assert [g.tolist() for g in torch.autograd.grad(value.sum(), (a, b))] == [[1.0] * 4, [-1.0] * 4]
    assert torch.equal(compiled(FIRST, SECOND), value)


def test_batches(module):
    slope = torch.func.vmap(torch.func.grad(lambda a, b: 3.0 * module["mended"](a, b)))
    assert slope(FIRST, SECOND).tolist() == [3.0] * 4


def test_second_derivatives_are_those_of_the_closed_form_or_an_error(module):
    a, b = given()
    (slope,) = torch.autograd.grad(module["mended"](a, b).sum(), a, create_graph=True)
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        torch.autograd.grad(slope.sum(), a)
    apart = FIRST[::2].clone().requires_grad_()
    product = module["mended"](apart, SECOND[::2]) * apart
    (slope,) = torch.autograd.grad(product.sum(), apart, create_graph=True)
    assert torch.autograd.grad(slope.sum(), apart)[0].tolist() == [2.0, 2.0]


@pytest.mark.exhaustive
def test_functions_of_many_arguments_have_derivatives_in_one_graph():
    torch._dynamo.reset()
    space = runtime(targets.find("torch"), "_sloped")

    def total(*arguments):
        return sum(n * a for n, a in enumerate(arguments))

    def slope(*arguments):
        return 7.0 * arguments[0]

    def function(*arguments):
        return space["_sloped"](total, (slope,) * len(arguments), *arguments)

    arguments = [torch.tensor(1.0 + n, dtype=torch.float64, requires_grad=True) for n in range(20)]
    for f in (function, torch.compile(function, fullgraph=True, backend="aot_eager")):
        assert all(g == 7.0 for g in torch.autograd.grad(f(*arguments), arguments))
        assert f(*(a.detach() for a in arguments)) == total(*arguments)
