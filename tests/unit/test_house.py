"""The figures of the structure: counters that count, and limits that only tighten."""

import ast
import json

import pytest

from tests import house

TREE = {
    "symres/room/module.py": """\
'''A module,
of two lines.'''

_LEAST, MANY = 1e-3, (1, 2)
SCALE: float = -2.0**5
NAME = "text"
Total = 3


class Table:
    def longest(self):
        # a comment
        return 1
""",
    "symres/other/table.h": "static const double nodes[2] = {0.1, 0.9};\n",
    "templates/page.j2": "{{ text }}\n\n",
    "tests/test_it.py": "assert True\n",
}
SEVEN = ("exp", "log", "sin", "cos", "tanh", "erf", "arcsinh")


@pytest.fixture
def checkout(tmp_path):
    """A small repository."""
    for path, text in TREE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def listed(code):
    return house.listed_functions(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "TABLE = {sp.exp: 1, 'np.erf': 2}",
        "TABLE = dict(exp=1, erf=2)",
        "TABLE = {f: f.__name__ for f in (sp.exp, sp.erf)}",
        "TABLE[exp] = TABLE[erf] = 1",
        "isinstance(e, sp.exp | sp.erf)",
        "isinstance(e, sp.exp) or isinstance(e, (A, sp.erf))",
        "match e:\n case sp.exp() | sp.erf(): pass",
        "match e:\n case 'exp' | sp.erf: pass",
        "f.register(sp.exp, one)\n@f.register(sp.erf)\ndef _(e): pass",
        "@f.register\ndef _(e: sp.exp): pass\n@f.register\ndef _(e: sp.erf): pass",
        "e.func == sp.exp or sp.erf is e.func",
        "name in {'exp', 'erf'}",
        "exp not in [a] and 'erf' != name",
        "HEADS = sp.exp | sp.erf",
    ],
)
def test_every_way_of_telling_functions_apart_counts(code):
    assert listed(code) == {"exp", "erf"}


def test_spellings_of_a_function_are_one_name():
    assert listed("{sp.asinh: 1, np.arcsinh: 2, sp.Max: 3, 'maximum': 4, 'abs': 5}") == {"asinh", "Max", "Abs"}


@pytest.mark.parametrize(
    "code", ["sp.exp(z) + sp.erf(z)", "e < exp", "expr.has(sp.exp)", "import exp", "'''exp erf'''", "exp, erf = 1, 2"]
)
def test_functions_that_are_only_called_do_not_count(code):
    assert not listed(code)


@pytest.mark.parametrize(
    "code",
    [
        "x, w = np.polynomial.legendre.leggauss(8)",
        "pair = arb.legendre_p_root(n, k, weight=True)",
        "from sympy.integrals.quadrature import gauss_legendre\npair = gauss_legendre(5, 17)",
        "nodes, weights = rule(8)",
        "_NODES = [0.5]\n_WEIGHTS = [1.0]",
        "total = sum(mass * f(node) for node, mass in rule)",
        "from .panels import NODES, WEIGHTS",
        "value = step * exp(-0.5 * x * x) / sqrt(2 * pi)",
        "weights = np.exp(-x * x / 2)",
        "total += mass * (-y * y / 2).exp()",
    ],
)
def test_a_rule_made_in_place_is_seen(code):
    assert house.rules(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "from .panels import gauss_legendre\nrule = gauss_legendre(8)",
        "nodes = sorted(tree)\ndef f():\n    weights = model.weights",
        "density = exp(-x * x / 2)",
        "roots_of = 1",
    ],
)
def test_whoever_uses_a_rule_of_another_module_has_none(code):
    assert not house.rules(ast.parse(code))


def test_files_are_told_apart_by_rooms():
    table = ast.parse(f"TABLE = {dict.fromkeys(SEVEN, 1)}")
    six = ast.parse(f"TABLE = {dict.fromkeys(SEVEN[1:], 1)}")
    rule = ast.parse("nodes, weights = rule(8)")
    texts = {"symres/a.h": TREE["symres/other/table.h"], "symres/b.j2": " ".join(map(repr, SEVEN))}
    paths = {"symres/one.py": table, "symres/functions/two.py": table, "symres/check/three.py": table}
    found = house.counted_files({**paths, "symres/four.py": six, "symres/check/five.py": rule, **texts})
    assert found == {
        "tables": {"symres/one.py": 7, "symres/b.j2": 7},
        "tables of check": {"symres/check/three.py": 7},
        "Gauss rules": {"symres/a.h": 1},
        "Gauss rules of check": {"symres/check/five.py": 2},
    }


def test_figures_of_a_small_checkout(checkout):
    found = house.figures(checkout)
    assert found["lines"] == {"other": 1, "room": 13, "templates": 2}
    assert (found["files"], found["lines of tests"], found["tuned constants"]) == (3, 1, 3)
    assert found["longest function"] == {"symres/room/module.py: Table.longest": 3}
    assert found["longest folder"] == {"symres/room": 1}
    assert found["share of commentary, %"] == 30.0  # a docstring of two lines and a comment, of ten lines
    written = [line for path in list(TREE)[:3] for line in TREE[path].splitlines() if line]
    assert found["mean length of a line"] == pytest.approx(sum(map(len, written)) / len(written), abs=0.05)
    assert found["Gauss rules"] == {"symres/other/table.h": 1}


def test_the_table_has_before_now_and_the_difference():
    before = {"lines": {"a": 3, "b": 4}, "tables": {"a.py": 7}, "longest folder": {"x": 9}, "mean": 1.5}
    now = {"lines": {"a": 5, "c": 1}, "tables": {}, "longest folder": {"y": 8}, "mean": 1.2}
    rows = [row.split() for row in house.table(before, now).splitlines()]
    assert rows == [
        ["before", "now", "difference"],
        ["lines", "7", "6", "-1"],
        *(["a", "3", "5", "+2"], ["c", "-", "1", "+1"], ["b", "4", "-", "-4"]),
        ["tables", "1", "0", "-1"],
        ["a.py", "7", "-", "-7"],
        ["longest", "folder", "9", "8", "-1"],
        *(["y", "-", "8", "+8"], ["x", "9", "-", "-9"]),
        ["mean", "1.5", "1.2", "-0.3"],
    ]


def test_limits_hold_and_only_tighten():
    before, now = json.loads(house.BEFORE.read_text()), house.counted_files(house.parsed())
    assert now.keys() == house.LIMITS.keys()
    for label, limit in house.LIMITS.items():
        assert house.total(label, now[label]) <= limit <= house.total(label, before[label]), (label, sorted(now[label]))
