"""What CONTRIBUTING and the Makefile name, exists; the walk-through of a node works as it is printed."""

import re
import textwrap
from pathlib import Path

import pytest
import sympy as sp

import symres as sr
from symres.layers import nodes
from symres.layers.equation_parser import written
from symres.layers.nodes import node_classes
from symres.results.observable import Section
from symres.theory.observables.layer_observable import OfOneInput

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
MAKE = (ROOT / "Makefile").read_text()
PLACES = re.findall(r"(?<![\w/])(?:symres|tests|templates|derivations)/[\w/.]*\w", TEXT)
SHOWN = {
    "CatalogueEntry",
    "Dialect",
    "Claim",
    "QuadratureOracle",
    "SymresError",
    "OBSERVABLES",
    "REFERENCE",
    "Target",
    "ArrayTarget",
    "FACTS",
    "BUILD",
}


@pytest.mark.parametrize("place", sorted({place for place in PLACES if "NAME" not in place}))
def test_a_place_that_is_named_exists(place):
    assert (ROOT / place).exists()


def test_names_in_the_walk_throughs_exist():
    """Names in one line with their module are written there."""
    found = 0
    for line in TEXT.splitlines():
        modules = [ROOT / place for place in re.findall(r"(?:symres|tests|derivations)/[\w/]*\.py", line)]
        modules = [path for path in modules if path.exists()]
        for name in SHOWN & set(re.findall(r"\w+", line)):
            if modules:
                assert any(re.search(rf"\b{name}\b", path.read_text()) for path in modules), name
                found += 1
    assert found >= 6


def test_commands_of_make_exist():
    targets = set(re.findall(r"^(\w+):", MAKE, re.MULTILINE))
    assert set(re.findall(r"`?make (\w+)", TEXT)) <= targets
    assert set(re.search(r"\.PHONY: (.*)", MAKE)[1].split()) == targets


def test_the_subject_that_is_shown_keeps_its_rule():
    (subject,) = re.findall(r"at most (\d+) characters: `([^`]+)`", TEXT)
    assert len(subject[1]) <= int(subject[0])


BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_observable_that_is_shown_works():
    """tests/unit/test_end_to_end.py adds the same record."""
    namespace = {"OfOneInput": OfOneInput, "Section": Section}
    exec(textwrap.dedent(next(block for block in BLOCKS if "CURVATURE" in block)), namespace)
    expected = sp.diff(2 / sp.pi * sp.asin(2 * sr.K / (1 + 2 * sr.K)), sr.K, 2)
    assert sp.simplify(namespace["CURVATURE"].of(sr.derive("erf")).expr - sr.C_W * expected) == 0


def test_the_node_that_is_shown_works():
    code = next(block for block in BLOCKS if "Centred" in block)
    code = code.replace("Centred", "CentredOfTests")  # who follows the text adds a node of that name
    exec(textwrap.dedent(code), vars(nodes) | {"__name__": __name__})
    erf = sr.activation("erf")
    layer = written("Dense(phi(CentredOfTests(z)))", erf)
    assert type(layer.forward.args[0].args[1]) is node_classes["CentredOfTests"]
    assert sr.derive(layer).kernel_map.expr == sr.derive(sr.mlp(erf)).kernel_map.expr  # neurons have mean 0
    assert sr.check(sr.derive(layer), quantities=["kernel_map"]).outcome.value == "PASSED"
