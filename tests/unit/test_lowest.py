"""The lowest versions of dependencies: each is named once, and none is one that is known not to work."""

import pytest

from tests import lowest

NOT_WORKING = {  # each was tried: what it breaks
    "typer": "0.18",  # 0.12.5 prints the version in place of every command, 0.13 to 0.17 have no help, 0.18 loads rich
    "sympy": "1.13.3",  # functions for NumPy of max(0, z) fail
    "scipy": "1.12",  # made for NumPy 1
    "transformers": "5.8",  # other names of the layers of vision transformers
    "torch": "2.12",  # no build for processors alone was to be had
}


def numbers(version):
    return [int(part) for part in version.split(".")]


@pytest.mark.parametrize("name", NOT_WORKING)
def test_no_bound_allows_what_does_not_work(name):
    assert numbers(lowest.lowest_versions()[name]) > numbers(NOT_WORKING[name])


def test_every_dependency_has_one_lowest_version(tmp_path, monkeypatch):
    assert len(lowest.lowest_versions()) > 25
    monkeypatch.setattr(lowest, "ROOT", tmp_path)
    for listed, message in (('"a"', "a names no lowest"), ('"a>=1", "a>=2"', "a: 1 and 2"), ('"a<2"', "no lowest")):
        text = f'[project]\ndependencies = [{listed}]\n[project.optional-dependencies]\ntest = ["b==1.0", "b>=1"]\n'
        (tmp_path / "pyproject.toml").write_text(text)
        with pytest.raises(ValueError, match=message):
            lowest.lowest_versions()
