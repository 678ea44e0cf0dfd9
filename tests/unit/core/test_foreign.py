"""Objects of other libraries: who reads them, and when the reader is loaded."""

import subprocess
import sys
from collections import Counter, OrderedDict

import pytest

from symres.core import foreign


class Tally(Counter):
    """A class of a user, derived from one of a library."""


def test_an_object_belongs_to_a_library_by_its_class_and_a_function_to_any_that_is_imported(monkeypatch):
    monkeypatch.setattr(foreign, "_places", {})
    foreign.accept("a_library_that_nobody_has", "a_library_that_nobody_has:read")
    foreign.accept("collections", "math:sqrt")
    foreign.accept("collections", "builtins:len")  # the last one counts
    assert all(foreign.reader(what) is len for what in (OrderedDict(), Tally(), lambda x: x))
    assert foreign.reader(3) is None and foreign.reader("collections") is None
    with pytest.raises(ImportError):
        foreign.reader_of("a_library_that_nobody_has")


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
