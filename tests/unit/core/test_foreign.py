"""Objects of other libraries: who reads them, and when the reader is loaded."""

import subprocess
import sys
from collections import Counter, OrderedDict

import pytest

from symres.core import foreign


@pytest.fixture(autouse=True)
def no_readers(monkeypatch):
    monkeypatch.setattr(foreign, "_loaders", {})


class Tally(Counter):
    """A class of a user, derived from one of a library."""


def test_an_object_belongs_to_the_library_of_its_class_or_a_base():
    loaded = []
    foreign.accept("collections", lambda: loaded.append(1) or len)
    assert foreign.reader(OrderedDict()) is len
    assert foreign.reader(Tally()) is len
    assert loaded == [1, 1]
    assert foreign.reader(3) is None and foreign.reader("collections") is None
    assert loaded == [1, 1]


def test_a_function_belongs_to_any_library_that_is_imported():
    foreign.accept("a_library_that_nobody_has", lambda: len)
    assert foreign.reader(test_a_function_belongs_to_any_library_that_is_imported) is None
    foreign.accept("collections", lambda: repr)
    assert foreign.reader(lambda x: x) is repr


def test_the_last_reader_counts():
    foreign.accept("collections", lambda: len)
    foreign.accept("collections", lambda: repr)
    assert foreign.reader(Tally()) is repr


def test_pytorch_is_not_imported_before_it_is_needed():
    code = """
import sys
import symres as sr
sr.activation("gelu")
try:
    sr.activation(len)
except sr.DeclarationError as error:
    print(error)
print("torch" in sys.modules, "symres.torch" in sys.modules)
import torch
print(sr.activation(torch.nn.GELU()).name)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "this is not an activation" in out[0]
    assert out[1:] == ["False False", "gelu"]
