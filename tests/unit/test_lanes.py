"""The two lanes of the suite: a table that is sampled keeps some of its cases, of every row if that is asked."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUITE = """
import pytest

@pytest.mark.sample(2)
@pytest.mark.parametrize("n", range(10))
def test_spread(n):
    pass

@pytest.mark.sample(1, every="row")
@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("row", range(4))
def test_rows(row, column):
    pass

def test_alone():
    pass
"""


@pytest.fixture
def suite(pytester):
    from tests import conftest

    pytester.makeconftest(Path(conftest.__file__).read_text())
    pytester.makepyfile(SUITE)
    pytester.makeini("[pytest]\nmarkers = sample\n exhaustive\n")
    return pytester


def names(result):
    return [row.partition("::")[2] for row in result.outlines if "::" in row]


def test_every_case_is_in_one_lane(suite):
    fast, rest = (
        names(suite.runpytest("--collect-only", "-q", "-m", lane)) for lane in ("not exhaustive", "exhaustive")
    )
    assert len(fast) + len(rest) == 10 + 12 + 1 and not set(fast) & set(rest)
    assert [name for name in fast if "spread" in name] == ["test_spread[0]", "test_spread[5]"]
    assert "test_alone" in fast


def test_every_row_keeps_a_case(suite):
    fast = [name for name in names(suite.runpytest("--collect-only", "-q", "-m", "not exhaustive")) if "rows" in name]
    assert [name.split("[")[1].split("-")[0] for name in fast] == list("0123")
    assert len({name.split("-")[1] for name in fast}) == 3  # with different columns
