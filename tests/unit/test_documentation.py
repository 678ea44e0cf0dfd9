"""What the documentation says, happens: its examples run, its paths and links exist."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import process

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OTHERS = {"_build", "gallery", "reference"}  # the reference is made of docstrings
PAGES = sorted(path for path in DOCS.rglob("*.md") if not OTHERS.intersection(path.relative_to(DOCS).parts[:-1]))
SLOW = {
    "first_page",
    "layers",
    "positions",
    "criticality",
    "finite_width",
    "kernels",
    "pytorch",
    "conventions",
    "reliability",
}  # more than 5 s
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCTEST = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name(path):
    return path.relative_to(DOCS).with_suffix("").as_posix()


def blocks(path, *languages):
    return [(language, code) for language, code in FENCE.findall(path.read_text("utf-8")) if language in languages]


def pages_with(*languages):
    marks = {True: [pytest.mark.exhaustive], False: []}
    return [
        pytest.param(path, id=name(path), marks=marks[path.stem in SLOW]) for path in PAGES if blocks(path, *languages)
    ]


@pytest.fixture
def functions_as_before():
    """Takes away the functions that an example registers."""
    from symres.functions.function_record import RECORDS

    kinds = set(RECORDS)
    yield
    for kind in set(RECORDS) - kinds:
        del RECORDS[kind]


@pytest.mark.parametrize("path", pages_with("python", "pycon"))
@pytest.mark.usefixtures("functions_as_before")
def test_the_examples_of_a_page_run_in_order(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    names = {"__name__": "__main__"}
    for number, (language, code) in enumerate(blocks(path, "python", "pycon")):
        label = f"{name(path)}, block {number}"
        if language == "python":
            exec(compile(code, label, "exec"), names)
            continue
        examples = doctest.DocTestParser().get_doctest(code, names, label, str(path), 0)
        said = []
        runner = doctest.DocTestRunner(optionflags=DOCTEST)
        failed, _ = runner.run(examples, out=said.append, clear_globs=False)
        names.update(examples.globs)
        assert not failed, "".join(said)
    if path.stem == "index" and "formula" in names:  # shown below the example
        assert rf"\chi_\perp = {names['formula']}" in path.read_text("utf-8")


def test_the_page_that_is_read_is_the_golden_one():
    ((_, shown),) = blocks(DOCS / "guide" / "first_page.md", "console")
    command, shown = shown.split("\n", 1)
    assert command == "$ symres derive gelu --layer residual"
    golden = (ROOT / "tests" / "golden" / "kept" / "gelu_residual" / "page.txt").read_text("utf-8")
    assert shown.startswith(golden.partition("\nCheck ──")[0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", pages_with("console"))
def test_a_page_of_the_command_line_is_what_the_command_prints(path):
    for _, shown in blocks(path, "console"):
        command, *lines = shown.rstrip("\n").splitlines()
        printed = process(*shlex.split(command.removeprefix("$ symres ")), PYTHONIOENCODING="utf-8").stdout.decode()
        assert printed.rstrip("\n").splitlines() == lines, command


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_files_that_are_named_exist(path):
    text = FENCE.sub("", path.read_text("utf-8"))
    folders = {entry.name for entry in ROOT.iterdir() if entry.is_dir() and not entry.name.startswith(".")}
    for place in re.findall(r"`([\w.-]+/[\w./-]*)`", text):
        if place.partition("/")[0] in folders:
            assert (ROOT / place).exists(), place


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_between_pages_resolve(path):
    text = FENCE.sub("", path.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            file = target.partition("#")[0]
            assert not file or (path.parent / file).exists(), target


def test_pages_are_in_the_tables_of_contents():
    listed = set()
    for path in PAGES:
        for body in re.findall(r"^```\{toctree\}\n(.*?)^```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            listed |= {
                (path.parent / line).relative_to(DOCS).as_posix()
                for line in body.splitlines()
                if line and not line.startswith(":")
            }
    assert {name(path) for path in PAGES} - {"index"} <= listed


def test_every_room_is_in_the_architecture():
    rooms = {path.parent.name for path in (ROOT / "symres").glob("*/__init__.py")}
    text = (DOCS / "architecture.md").read_text("utf-8")
    assert rooms == set(re.findall(r"^\| `symres/(\w+)/`", text, re.MULTILINE))
    picture = (DOCS / "_static" / "rooms.svg").read_text("utf-8")
    assert not {room for room in rooms if not re.search(rf"\b{room}\b", picture)}


def test_budgets_are_those_of_the_program():
    from symres.core.work_budget import Stage

    told = re.findall(
        r"^\| (.*?) \| ([\d,]+) \| (\d+) \|$", (DOCS / "guide" / "running.md").read_text("utf-8"), re.MULTILINE
    )
    assert told == [(stage.title, f"{stage.operations:,}", str(stage.seconds)) for stage in Stage]


@pytest.mark.parametrize(
    "file", ["symres/cli/app.py", "docs/guide/layers.md", "docs/reference/commands.md", "docs/cheatsheet.tex"]
)
def test_the_functions_of_formulas_are_those_of_the_records(file):
    """Help loads no table of functions, so its list is typed; ``where`` may have a sentence of its own."""
    from symres.activations.formula_parser import PARSED_FUNCTIONS

    lists = re.findall(r"\bexp log ln[\w\s]*", (ROOT / file).read_text("utf-8"))
    assert lists, f"{file} has no list of the functions that formulas may name"
    for names in lists:
        wrong = {"where", *names.split()} ^ set(PARSED_FUNCTIONS)
        assert not wrong, f"in the list of functions of {file}, add or take away: {', '.join(sorted(wrong))}"


def commands_of_shells():
    for path in PAGES:
        for _, code in blocks(path, "sh"):
            for line in code.splitlines():
                words = shlex.split(line, comments=True)
                if words and words[0] == "symres":
                    yield pytest.param(words[1:], id=f"{name(path)}: {' '.join(words)}"[:70])
    sheet = (DOCS / "cheatsheet.tex").read_text("utf-8").replace("{}", "").replace("-{}-", "--")
    for line in re.findall(r"\\code\{(symres [^\\]*)\}", sheet.replace(r"{-}", "-")):
        yield pytest.param(shlex.split(line)[1:], id=f"cheat sheet: {line}"[:70])


@pytest.mark.parametrize("words", list(commands_of_shells()))
def test_commands_have_the_options_that_are_shown(words):
    """Parsed, not run: names of commands and options."""
    import typer

    from symres.cli import app

    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        first, *words = words
        command = command.commands[first]
    command.make_context(command.name, words)


EXTERNAL = {  # looked at by hand: a release is a good time to do it again
    "https://github.com/google/neural-tangents",
    "https://github.com/microsoft/mup",
    "https://keepachangelog.com/en/1.1.0/",
    "https://semver.org/spec/v2.0.0.html",
}


def test_links_to_other_places_are_known():
    texts = [*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "derivations" / "gallery").glob("*.py")]
    links = {
        link.rstrip(".,;")
        for path in texts
        if "_build" not in path.parts
        for link in re.findall(r"https?://[^\s)>\"'`]+", path.read_text("utf-8"))
    }
    assert links == EXTERNAL


def test_the_page_of_the_gallery_has_all_topics():
    """An example, ``plot_TOPIC_NAME.py``, stands under the heading of its topic and in the list of pages."""
    page = (DOCS / "gallery.rst").read_text("utf-8")
    topics = {path.stem.split("_")[1] for path in (ROOT / "derivations" / "gallery").glob("plot_*.py")}
    for shown in (r"minigallery:: \.\./derivations/gallery/plot_(\w+?)_\*\.py", r"^ +gallery/plot_(\w+?)_\*$"):
        assert set(re.findall(shown, page, re.MULTILINE)) == topics


def test_the_page_of_the_literature_has_the_tables_of_its_data():
    """``python -m docs.extensions.literature_tables`` writes them."""
    from docs.extensions.literature_tables import PAGE, written

    page = PAGE.read_text("utf-8")
    assert page == written(page)
    assert page.count("| (") > 30
