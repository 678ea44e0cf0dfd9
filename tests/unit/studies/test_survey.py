"""A survey finds the same in this process, in threads and in other processes, in the order of its subjects."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import symres as sr
from tests.shared import derived


def kernel_of(layer):
    return sr.derive(layer).kernel_map.expr


def test_without_an_executor_a_subject_is_studied_when_it_is_asked_for():
    seen = []
    found = sr.survey(lambda k: seen.append(k) or k * k, range(3))
    assert (next(found), seen) == (0, [0])
    assert list(found) == [1, 4]


def test_other_processes_find_the_same_in_the_same_order():
    layers = [sr.mlp("relu"), sr.residual("relu"), sr.Layer(sr.Dense(sr.z))]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert list(sr.survey(kernel_of, layers, pool)) == list(sr.survey(kernel_of, layers))


def test_studies_of_an_activation_take_its_name():
    assert [one.key for one in sr.averages("relu")] == [one.key for one in sr.averages(sr.activation("relu"))]
    with pytest.raises(sr.DeclarationError, match="it has 2 activations"):
        sr.averages(sr.layer("Dense(relu(z)) + Dense(tanh(z))"))
    with pytest.raises(sr.DeclarationError, match="gleu"):
        sr.criticality("gleu")


def test_studies_take_a_layer_or_a_theory():
    theory = derived(sr.residual("relu"))
    assert [one.quantity.expr for one in sr.averages(theory)] == [one.quantity.expr for one in sr.averages("relu")]
    (row,) = sr.criticality(theory.layer)
    assert (row.layer, row.critical_points) == ("residual", theory.critical_points)


@pytest.mark.exhaustive
def test_studies_come_back_from_other_processes():
    relu = sr.activation("relu")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        (report,) = sr.survey(sr.derivation, [relu], pool)
        (checked,) = sr.survey(sr.quadrature_check, [relu], pool)
        (known,) = sr.survey(sr.averages, [relu], pool)
        (found,) = sr.survey(sr.criticality, [relu], pool)
    assert report.critical_points == sr.derive("relu").critical_points
    assert checked.verdicts and str(checked.outcome) == "PASSED"
    assert [one.quantity.expr for one in known] == [one.quantity.expr for one in sr.averages(relu)]
    assert [one.universality_class for one in found][:2] == ["scale-invariant"] * 2


def test_an_error_is_that_of_the_first_subject_that_fails():
    with ThreadPoolExecutor(1) as pool:
        found = sr.survey(sr.activation, ["relu", "1/z", "no such"], pool)
        assert next(found).name == "relu"
        with pytest.raises(sr.SymresError, match="1/z"):
            next(found)
