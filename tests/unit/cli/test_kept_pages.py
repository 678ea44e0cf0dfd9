"""A command says the same with and without its cache, and what somebody else's code computes is not kept."""

import pytest
import sympy as sp

import symres as sr
from symres import cli
from symres.cli.commands import derive_command
from symres.cli.kept_pages import activation_key, layer_key
from symres.core.disk_cache import DiskCache
from symres.theory.observables import registry
from symres.theory.observables.registry import observables
from tests.command_line import page


def test_the_second_page_is_the_first(capsys, tmp_path, monkeypatch):
    words = ("derive", "relu", "--depth", "3", "--width", "8")
    monkeypatch.delenv("SYMRES_NO_CACHE")
    monkeypatch.setenv("SYMRES_CACHE_DIR", str(tmp_path))
    without = page(capsys, *words, "--no-cache")
    assert not list(tmp_path.iterdir())
    assert page(capsys, *words) == without
    monkeypatch.setattr(derive_command, "_derived", None)  # nothing is derived again
    assert page(capsys, *words) == without
    for others in (("--no-cache",), ("--width", "9"), ("--json",), ("--explain",), ("--set", "C_b=0")):
        with pytest.raises(TypeError):
            cli.main([*words, *others])


def test_a_survey_is_the_same_from_disk(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("SYMRES_NO_CACHE")
    monkeypatch.setenv("SYMRES_CACHE_DIR", str(tmp_path))
    for words in (("list", "averages", "relu"), ("list", "averages", "relu", "--json")):
        assert page(capsys, *words) == page(capsys, *words, "--no-cache") == page(capsys, *words)


def test_the_cache_is_shown_and_emptied(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SYMRES_CACHE_DIR", str(tmp_path))
    cache = DiskCache(tmp_path)
    cache.recall(("subject",), "name", lambda: "text")
    cache.flush()
    assert page(capsys, "cache") == f"{tmp_path}: 1 files, 0.0 of at most 64 MB\n"
    assert page(capsys, "cache", "--clear") == f"removed 1 files from {tmp_path}\n"
    assert not list(tmp_path.iterdir())


def test_layers_that_differ_in_anything_shown_have_other_keys():
    a, b = sp.symbols("a b", positive=True)
    phi = sr.Activation("mine", sp.tanh(sr.z))
    layers = [
        sr.mlp(phi),
        sr.mlp("tanh"),
        sr.residual(phi),
        sr.residual(phi, gamma="1/2"),
        sr.Layer(sr.Dense(phi(sr.z)), "other"),
        sr.mlp(sr.Activation("mine", sp.tanh(a * sr.z), (a,))),
        sr.mlp(sr.Activation("mine", sp.tanh(b * sr.z), (b,))),
        sr.mlp(sr.Activation("mine", sp.tanh(sp.Symbol("a", real=True) * sr.z), (sp.Symbol("a", real=True),))),
    ]
    keys = [layer_key(layer) for layer in layers]
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_nodes_functions_and_observables_of_somebody_else_are_not_kept(monkeypatch):
    class Halved(sr.Node):
        def lower(self, program, u):
            return u / 2

        def sample(self, net, u):
            return u / 2

    assert layer_key(sr.mlp("relu")) is not None
    assert layer_key(sr.Layer(sr.Dense(sr.activation("relu")(Halved(sr.z))))) is None
    monkeypatch.setattr(registry, "observables", observables | {"curvature": _curvature()})
    assert layer_key(sr.mlp("relu")) is None
    assert activation_key(sr.activation("gelu")) is not None


def _curvature():
    from dataclasses import replace

    return replace(observables["h"], name="bend_of_tests", define=lambda walks: walks.next_kernel)
