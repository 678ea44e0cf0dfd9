"""Budgets of work: counted in operations, or in processor time where nothing counts; what is given up is said."""

from __future__ import annotations

import threading
import time

import pytest

import symres as sr
from symres.core.work_budget import VARIABLE, Stage, factor, limited, spend
from symres.theory.criticality import critical_line


def use(operations: int) -> None:
    for _ in range(operations // 1000):
        spend(1000)


def test_a_stage_ends_with_its_budget_and_says_how_to_ask_for_more():
    with pytest.raises(sr.OutOfBudget) as caught, limited(Stage.LINE, "the line of gelu"):
        use(2 * Stage.LINE.operations)
    assert caught.value.asked == "the line of gelu" and VARIABLE in caught.value.remedy
    assert f"{Stage.LINE.operations / 1e6:.3g} million operations" in caught.value.found
    with limited(Stage.LINE):
        use(Stage.LINE.operations // 2)
    use(10**9)  # outside of stages nothing is limited


def test_handlers_of_errors_do_not_take_it_for_an_answer():
    with pytest.raises(sr.OutOfBudget), limited(Stage.LINE):
        try:
            use(2 * Stage.LINE.operations)
        except Exception:
            pytest.fail("an ordinary handler saw it")


def test_a_stage_inside_of_another_has_what_is_left():
    with pytest.raises(sr.OutOfBudget, match="the work that remained for a quantity"), limited(Stage.QUANTITY):
        use(Stage.QUANTITY.operations // 10)
        for _ in range(10):
            with limited(Stage.AVERAGE):
                use(Stage.AVERAGE.operations // 2)


def test_a_page_limits_its_parts_and_goes_on():
    reasons = []
    with limited(Stage.PAGE, ends=False):
        for _ in range(20):
            try:
                with limited(Stage.CRITICALITY):
                    use(Stage.CRITICALITY.operations // 2)
            except sr.OutOfBudget as error:
                reasons.append(error.found)
        spend(1000)  # what puts the page together
    assert reasons[-1] == "it was not begun, no work remained for the whole page"
    assert len(reasons) == 20 - Stage.PAGE.operations // (Stage.CRITICALITY.operations // 2)


def busy(until: float) -> None:
    while time.process_time() < until:
        pass


def with_page(work) -> None:
    with limited(Stage.PAGE, ends=False), limited(Stage.LINE):
        work()


def test_work_that_nothing_counts_is_limited_by_processor_time():
    start = time.process_time()
    with pytest.raises(sr.OutOfBudget, match="processor time"), sr.budget(0.2 / Stage.LINE.seconds):
        with_page(lambda: busy(start + 60))
    with limited(Stage.LINE), sr.budget(1e-4), pytest.raises(sr.OutOfBudget), limited(Stage.AVERAGE):
        busy(start + 60)
    assert time.process_time() < start + 30
    busy(time.process_time() + 0.3)  # no timer is left behind


def test_other_threads_count_operations_only():
    ends = []

    def run() -> None:
        try:
            with limited(Stage.LINE):
                use(2 * Stage.LINE.operations)
        except sr.OutOfBudget as error:
            ends.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(ends) == 1


def test_factors_come_from_the_caller_or_the_environment(monkeypatch):
    monkeypatch.setenv(VARIABLE, "10")
    assert factor() == 10
    with sr.budget("inf"):
        assert factor() == float("inf")
    for wrong in ("0", "-1", "nan", "much", ""):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(sr.DeclarationError, match="positive number"):
            factor()


def test_a_page_says_what_it_gave_up_and_keeps_the_rest(monkeypatch):
    monkeypatch.setattr(Stage.CRITICALITY, "operations", 10)
    page = sr.derive("tanh").page()
    monkeypatch.undo()
    assert "Given up" in page and "SYMRES_BUDGET" in page and "K'" in page
    assert "Given up" not in sr.derive("tanh").page()


def test_theories_say_what_they_gave_up(monkeypatch):
    monkeypatch.setattr(Stage.CRITICALITY, "operations", 10)
    theory = sr.derive("tanh")
    assert theory.critical_points == () and theory.universality_class == "unknown"
    assert "critical points" in theory.given_up
    assert any("given up" in remark for remark in theory.remarks)


@pytest.mark.exhaustive
def test_what_is_said_of_the_critical_line_has_a_budget(monkeypatch):
    for part in ("separation", "line_weights"):
        monkeypatch.setattr(critical_line, part, lambda *_: spend(Stage.LINE.operations + 1))
    theory = sr.derive("relu(z) + 1")
    page = theory.page()
    assert "K'" in page and "side of the critical line" in theory.given_up


def test_an_average_that_takes_too_much_stays_a_number(monkeypatch):
    monkeypatch.setattr(Stage.AVERAGE, "operations", 10)
    quantity = sr.derive("z*gelu(z) + 1").phi_squared
    monkeypatch.undo()
    assert quantity.status is sr.Status.NUMERIC and "given up" in quantity.reason
    assert sr.derive("z*gelu(z) + 1").phi_squared.status is sr.Status.EXACT
    assert quantity.evalf(K=1) == pytest.approx(float(sr.derive("z*gelu(z) + 1").phi_squared.evalf(K=1)))


# what ran for minutes, or took gigabytes, without a word
@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", ["erfc(z-1e10)", pytest.param("nested", marks=pytest.mark.exhaustive)])
def test_formulas_beyond_all_budgets_end(formula):
    if formula == "nested":
        formula = "z"
        for _ in range(20):
            formula = f"sigmoid({formula})"
    start = time.process_time()
    with sr.budget(0.1):
        assert sr.derive(formula).page()
    assert time.process_time() - start < 0.3 * Stage.PAGE.seconds  # a tenth of the page, and what no stage limits
