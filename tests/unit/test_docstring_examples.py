"""Every public name has an example that shows a result, and the results are those of the code."""

import inspect
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
import sympy as sp

import symres as sr
from symres.theory.names_by_purpose import THEORY_NAMES
from tests import docstrings
from tests.command_line import process

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(REFERENCE.rglob("*.md"))}
MEMBERS = [name for names in THEORY_NAMES.values() for name in names]

# the examples of these modules take some seconds each; those of all others together less than 40
SLOW = {
    "kernels/gpytorch.py",
    "kernels/sklearn.py",
    "kernels/zonal.py",
    "report/figures/phase_picture.py",
    "studies/compare_activations.py",
    "results/verdict.py",
    "studies/survey.py",
    "theory/critical_theory.py",
    "torch/reading/model_reading.py",
}


def modules():
    """The modules with examples; those that take long are exhaustive."""
    marks = {key: [pytest.mark.exhaustive] for key in SLOW}
    return [pytest.param(key, marks=marks.get(key, []), id=key) for key in docstrings.examples()]


@pytest.fixture
def no_new_nodes():
    """A node that an example declares is unknown afterwards."""
    from symres.layers import nodes

    kept = dict(nodes._classes)
    yield
    for name in nodes._classes.keys() - kept.keys():
        del nodes._classes[name]


def room_of(key):
    return key.partition("/")[0]


@pytest.mark.parametrize("key", modules())
def test_the_examples_of_a_module(key, no_new_nodes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text, line in docstrings.examples()[key]:
        assert not (report := docstrings.failures(text, f"symres/{key}: {name}", room_of(key), line)), report


@pytest.mark.parametrize(("name", "text"), [part[:2] for part in docstrings.observables()])
def test_the_examples_of_observables(name, text):
    assert not (report := docstrings.failures(text, f"Theory.{name}")), report


def pages_with_examples():
    return [name for name, text in PAGES.items() if "```pycon" in text]


@pytest.mark.parametrize("page", pages_with_examples())
def test_the_examples_of_a_page(page):
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)
    room = next((room for room in docstrings.IN_ROOMS if room in page), "")
    assert not (report := docstrings.failures("\n".join(blocks), page, room)), report


def test_no_example_hides_its_result():
    texts = [(key, name, text) for key, parts in docstrings.examples().items() for name, text, _ in parts]
    for key, name, text in texts:
        assert "# doctest:" not in text, (key, name)
        assert not re.search(r"0x[0-9a-f]{6}", text), (key, name)


def public(package):
    """The public names of a package but symbols and tables, which have no docstring of their own."""
    for name in package.__all__:
        value = getattr(package, name)
        if not isinstance(value, sp.Symbol | Mapping):
            yield name, value


def packages():
    import symres.kernels
    import symres.torch

    return sr, symres.kernels, symres.torch


def test_every_public_name_has_an_example():
    lacking = [
        f"{package.__name__}.{name}"
        for package in packages()
        for name, value in public(package)
        if ">>> " not in (value.__doc__ or "")
    ]
    assert not lacking


def test_every_public_member_of_a_theory_has_an_example():
    of_class = sr.Theory.__doc__ or ""
    for name in MEMBERS:
        member = inspect.getattr_static(sr.Theory, name, None)  # None: of instances, in the class's example
        text = of_class if member is None else member.__doc__ or of_class
        assert ">>> " in text, name
        assert f".{name}" in text or f'"{name}"' in text, name


def results():
    """Classes of results whose members users call."""
    from symres.codegen.module import Module
    from symres.results.advice.advice import Advice
    from symres.results.verdict import CheckReport
    from symres.studies.compare_activations import ActivationComparison

    yield from (sr.Quantity, sr.Network, sr.DepthLimit, sr.PhaseDiagram, sr.Layer, sr.Activation)
    yield from (Module, Advice, CheckReport, ActivationComparison)
    if find_spec("torch"):
        import symres.torch as st

        yield from (st.Measurement, st.Reading, st.ReadBlock, st.InitReport, st.TuningReport)
        yield from (st.TangentKernel, st.WidthScaling)


@pytest.mark.parametrize("kind", list(results()), ids=lambda kind: kind.__name__)
def test_every_method_of_a_result_is_shown(kind):
    for name in [name for names in getattr(kind, "_names", {}).values() for name in names] or dir(kind):
        member = inspect.getattr_static(kind, name, None)  # none where it is a field
        is_method = inspect.isfunction(member) or isinstance(member, property) or hasattr(member, "func")
        if not name.startswith("_") and is_method:
            assert ">>> " in (member.__doc__ or "") or f".{name}" in kind.__doc__.partition("Examples:")[2], name


def is_attribute(member):
    return isinstance(member, property) or not (inspect.isroutine(member) or inspect.isclass(member))


@pytest.mark.parametrize("kind", [sr.Theory, *results()], ids=lambda kind: kind.__name__)
def test_no_attribute_reads_as_if_its_first_words_were_a_type(kind):
    """Google's style of docstrings takes what stands before a colon in the first line of an attribute for its type."""
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if (
            not name.startswith("_")
            and is_attribute(member)
            and member.__doc__
            and type(member).__doc__ != member.__doc__
        ):
            assert ": " not in re.sub(r"`[^`]*`", "", member.__doc__.split("\n")[0]), name


def test_thirty_activations_and_layers_stand_in_one_example_only():
    alone = [formula for formula, count in docstrings.shown().items() if count == 1]
    assert len(alone) >= 30, sorted(alone)


def test_every_public_name_stands_on_a_page_of_the_reference():
    text = "\n".join(PAGES.values())
    for package in packages():
        for name in package.__all__:
            assert re.search(rf"(?:::|`)\s*(?:{package.__name__}\.|sr\.|st\.)?{name}\b", text), (package.__name__, name)
    for name in MEMBERS:
        assert re.search(rf":: Theory\.{name}$", text, re.MULTILINE), name


def test_what_is_not_public_does_not_complete():
    for package in packages():
        assert set(dir(package)) == set(package.__all__), package.__name__
    assert sorted(MEMBERS) == dir(sr.derive("relu"))
    assert len(set(MEMBERS)) == len(MEMBERS)
    assert all(not name.startswith("_") for name in dir(sr.derive("relu").kernel_map))


def test_every_attribute_of_a_theory_is_public_or_for_other_rooms():
    """A new attribute is named in ``THEORY_NAMES``, or here."""
    inner = {"attempted", "depth_observables", "derived", "flow_maps", "fluctuating", "given_up"}
    inner |= {
        "is_exchangeable",
        "is_uncorrelated",
        "sequence_length",
        "moves_together",
        "observables",
        "of_section",
        "token_maps",
        "walks",
    }
    names = {name for name in object.__dir__(sr.derive("relu")) if not name.startswith("_")}
    assert names - inner - set(MEMBERS) == set()


@pytest.mark.exhaustive  # each command is a process of its own
def test_the_command_line_prints_what_its_page_shows():
    shown = re.findall(r"^```console\n\$ symres ([^\n]*)\n(.*?)\n```$", PAGES["commands.md"], re.MULTILINE | re.DOTALL)
    assert {arguments.split()[0] for arguments, _ in shown} >= {"derive", "check", "export", "plot", "compare", "torch"}
    for arguments, text in shown:
        printed = process(*arguments.split(), COLUMNS="80").stdout.decode()
        assert printed.rstrip() == text, arguments
