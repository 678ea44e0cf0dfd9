"""Figures of the structure: what there is of lines, tables and rules in symres, beside what there was.

python -m tests.house                # this checkout beside house_before.json
python -m tests.house FOLDER         # another checkout
python -m tests.house FOLDER --keep  # writes house_before.json from a checkout
"""

import argparse
import ast
import io
import json
import re
import tokenize
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "symres"
BEFORE = Path(__file__).with_name("house_before.json")  # of commit 2eb16ac9
SUFFIXES = (".py", ".j2", ".h", ".c")
TARGETS = "targets"  # several targets may call the same part by the same name
SERVED = {("kernels", "NeuralKernel")}  # one class for each library, and users see one library only
CROWD = 12  # modules of a folder
TOTALS = {"lines": sum, "longest function": max, "longest folder": max}

# files at most: where there are fewer, the limit follows, and it never rises; two rules are those of softmax overlaps
# in generated code, of arrays and of single numbers, which modules contain
LIMITS = {"tables": 3, "tables of check": 2, "Gauss rules": 9, "Gauss rules of check": 3}

LEAST = 7  # elementary functions that make a table
FUNCTIONS = (
    *("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("asinh", "acosh", "atanh", "asin", "acos", "atan", "erf", "erfc", "erfinv"),
    *("sign", "Abs", "Heaviside", "sigmoid", "softplus", "expm1", "log1p", "Max", "Min", "loggamma"),
)
SPELLINGS = {
    **{name: name for name in FUNCTIONS},
    **{f"arc{name[1:]}": name for name in FUNCTIONS if re.fullmatch("a(sin|cos|tan)h?", name)},
    **dict.fromkeys(("abs", "absolute", "fabs"), "Abs"),
    **dict.fromkeys(("max", "maximum", "fmax"), "Max"),
    **dict.fromkeys(("min", "minimum", "fmin"), "Min"),
    **dict.fromkeys(("gammaln", "lgamma"), "loggamma"),
    **{"heaviside": "Heaviside", "expit": "sigmoid", "sgn": "sign", "ln": "log"},
}

QUOTED = re.compile(r"""["'](\w+)["']""")

# makers of rules in NumPy, SciPy, sympy, mpmath and flint
MAKERS = re.compile(
    r"(leg|herm|herme|lag|cheb)gauss|roots_(legendre|hermite|hermitenorm|jacobi|laguerre|cheby[tu])|(p|h|he)_roots"
    r"|gauss_(legendre|hermite|jacobi|laguerre)|(legendre|hermite)_\w*roots?"
)
NODE = re.compile(r"(.*_)?(nodes?|points?|places|units?|abscissae?)", re.IGNORECASE)
WEIGHT = re.compile(r"(.*_)?(weights?|mass(es)?)", re.IGNORECASE)
NODES = re.compile(r"(.*_)?(nodes|points|abscissae)", re.IGNORECASE)
WEIGHTS = re.compile(r"(.*_)?(weights|masses)", re.IGNORECASE)
STEP = re.compile(r"(.*_)?(step|half|weights?|mass(es)?)", re.IGNORECASE)
TYPED = re.compile(r"(nodes|points|weights)\w*(\[\w*\])* *= *[\[({]\s*-?[\d.]", re.IGNORECASE)  # in C and in templates


def sources(package=PACKAGE):
    return sorted(p for p in package.rglob("*.py") if "_templates" not in p.parts)


def texts(root=ROOT):
    """All files with code or templates of a checkout."""
    folders = (root / "symres", root / "templates")
    paths = (path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES)
    return sorted(path for path in paths if "_templates" not in path.parts)


def modules_of_folders(package=PACKAGE):
    """The modules of each folder, without its ``__init__``."""
    found = defaultdict(list)
    for path in sources(package):
        if path.stem not in ("__init__", "__main__"):
            found[path.parent].append(path)
    return found


def repeated_modules(package=PACKAGE):
    found = defaultdict(list)
    for path in sources(package):
        if path.stem not in ("__init__", "__main__") and path.parent.parent.name != TARGETS:
            found[path.stem].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def repeated_classes(package=PACKAGE):
    """Public classes of the same name."""
    found = defaultdict(list)
    for path in sources(package):
        for node in ast.parse(path.read_text()).body:
            served = (path.parent.name, getattr(node, "name", "")) in SERVED
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not served:
                found[node.name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


# ---- one module ----------------------------------------------------------------------------------------------------


def listed_functions(tree):
    """The elementary functions that code tells apart: what makes a module a table of functions.

    Counted are keys of dictionaries, items of tuples, lists and sets, arguments of isinstance and register, patterns
    of match, and what is compared by ==, in or is; as names, attributes and strings.
    """
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=items) | ast.Set(elts=items):
                pass
            case ast.Tuple(elts=items, ctx=ast.Load()) | ast.List(elts=items, ctx=ast.Load()):
                pass
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                items = [left, right]
            case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
                items = [ast.Name(keyword.arg or "") for keyword in keywords]
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, *items]):
                pass
            case ast.Call(func=ast.Attribute(attr="register"), args=items):
                pass
            case ast.FunctionDef(decorator_list=[ast.Attribute(attr="register")], args=ast.arguments(args=[first, *_])):
                items = [first.annotation]
            case ast.MatchClass(cls=item) | ast.MatchValue(value=item) | ast.Subscript(slice=item, ctx=ast.Store()):
                items = [item]
            case ast.Compare(left=left, ops=ops, comparators=others) if any(map(_is_equality, ops)):
                items = [left, *others]
            case _:
                continue
        found |= {SPELLINGS[word] for word in map(_word, items) if word in SPELLINGS}
    return found


def _is_equality(operator):
    return isinstance(operator, ast.Eq | ast.NotEq | ast.In | ast.NotIn | ast.Is | ast.IsNot)


def _word(node):
    """A name without what stands in front of its dots."""
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word):
            return word
        case ast.Constant(value=str(text)):
            return text.rpartition(".")[2]
    return None


def rules(tree):
    """Where code has nodes and weights of its own: signs of a rule of Gauss, or of another quadrature.

    They are: a call of a library that makes a rule; nodes and weights that one statement or one function binds, or that
    are imported as constants; and a Gaussian times a step.
    """
    found = []
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    near = {alias.asname or alias.name for node in imports for alias in node.names}
    near |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    constants = [name for name in near if name.isupper()]
    if any(map(NODES.fullmatch, constants)) and any(map(WEIGHTS.fullmatch, constants)):
        found.append("constants")
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) if MAKERS.fullmatch(word) and word not in near:
                found.append(word)
            case ast.Tuple(elts=items, ctx=ast.Store()):
                words = [_word(item) or "" for item in items]
                found += [f"{x}, {w}" for x, w in pairwise(words) if NODE.fullmatch(x) and WEIGHT.fullmatch(w)]
            case ast.Module() | ast.FunctionDef():
                bound = _bound(node)
                if any(map(NODES.fullmatch, bound)) and any(map(WEIGHTS.fullmatch, bound)):
                    found.append(getattr(node, "name", "module"))
            case ast.BinOp(op=ast.Mult() | ast.Div()) if _has_gaussian(node):
                if any(isinstance(part, ast.Name) and STEP.fullmatch(part.id) for part in ast.walk(node)):
                    found.append(ast.unparse(node))
            case ast.Assign(targets=[ast.Name(id=word)], value=value):
                if WEIGHT.fullmatch(word) and _has_gaussian(value):
                    found.append(ast.unparse(node))
    return found


def _bound(scope):
    """The names that a scope binds, those of functions inside of it left out."""
    found, nodes = set(), list(ast.iter_child_nodes(scope))
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return found


def _has_gaussian(node):
    """Whether code has exp(-...) or (-...).exp()."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and _word(part.func) == "exp":
            exponents = part.args or [getattr(part.func, "value", part.func)]
            if ast.unparse(exponents[0]).startswith("-"):
                return True
    return False


def tuned_constants(tree):
    """Names in capitals that a module binds to a number, or to a tuple of numbers."""
    found = []
    for node in tree.body:
        match node:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value):
                pairs = [(target, value)]
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = list(zip(target.elts, value.elts, strict=False))
                found += [
                    name.id
                    for name, number in pairs
                    if isinstance(name, ast.Name) and re.fullmatch("_*[A-Z][A-Z0-9_]*", name.id) and _is_number(number)
                ]
    return found


def _is_number(node):
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Tuple(elts=[_, *_] as items):
            return all(map(_is_number, items))
    return False


def functions(tree, name=""):
    """The functions of a module with their lines, by qualified name."""
    found = {}
    for node in ast.iter_child_nodes(tree):
        within = name
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            within = f"{name}.{node.name}".lstrip(".")
        if isinstance(node, ast.FunctionDef):
            found[within] = node.end_lineno - node.lineno + 1
        found |= functions(node, within)
    return found


def commentary(text):
    """The lines of docstrings and those that are comments alone; blank ones left out."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, False) is not None:
            found |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found |= {t.start[0] for t in tokens if t.type == tokenize.COMMENT and t.line.strip().startswith("#")}
    return [line for number, line in enumerate(text.splitlines(), 1) if number in found and line.strip()]


# ---- a checkout ----------------------------------------------------------------------------------------------------


def figures(root=ROOT):
    """The figures of a checkout: a number, or numbers by what they are of."""
    package = root / "symres"
    files = parsed(root)
    trees = {path: tree for path, tree in files.items() if not isinstance(tree, str)}
    lines = {path.relative_to(root): path.read_text().splitlines() for path in texts(root)}
    by_room = Counter()
    for path, found in lines.items():
        by_room[_room(path)] += len(found)
    written = [line for found in lines.values() for line in found if line.strip()]
    code = [path.read_text() for path in sources(package)]
    comments = sum(len(commentary(text)) for text in code)
    folders = {str(f.relative_to(root)): len(found) for f, found in modules_of_folders(package).items()}
    lengths = {f"{name}: {f}": size for name, tree in trees.items() for f, size in functions(tree).items()}
    return {
        "lines": dict(sorted(by_room.items())),
        "lines of tests": sum(map(_length, (root / "tests").rglob("*.py"))),
        "files": len(lines),
        **counted_files(files),
        "tuned constants": sum(len(tuned_constants(tree)) for tree in trees.values()),
        "longest function": _largest(lengths),
        "longest folder": _largest(folders),
        f"folders of more than {CROWD} modules": {name: size for name, size in folders.items() if size > CROWD},
        "module names that occur twice": {name: len(paths) for name, paths in repeated_modules(package).items()},
        "public class names that occur twice": {name: len(paths) for name, paths in repeated_classes(package).items()},
        "mean length of a line": round(sum(map(len, written)) / len(written), 1),
        "share of commentary, %": round(100 * comments / sum(bool(r.strip()) for t in code for r in t.splitlines()), 1),
    }


def _length(path):
    """The lines of a test; what generated modules looked like is kept as text and is none."""
    return 0 if "kept" in path.parts else len(path.read_text().splitlines())


def counted_files(trees):
    """The files that are tables of functions and that have rules of quadrature, with how many they have of them.

    Args:
        trees: by path, what is parsed of Python, and the texts of other files.
    """
    found = {name: {} for name in LIMITS}
    for path, tree in trees.items():
        if isinstance(tree, str):
            names = {SPELLINGS[word] for word in QUOTED.findall(tree) if word in SPELLINGS}
            signs = [*TYPED.findall(tree), *MAKERS.findall(tree)]
        else:
            names, signs = listed_functions(tree), rules(tree)
        of_check = " of check" * path.startswith("symres/check/")
        if not path.startswith("symres/functions/") and len(names) >= LEAST:
            found[f"tables{of_check}"][path] = len(names)
        if signs and not path.startswith("symres/numerics/"):
            found[f"Gauss rules{of_check}"][path] = len(signs)
    return found


def parsed(root=ROOT):
    """The files of a checkout by path: trees of Python, texts of others."""
    found = {str(path.relative_to(root)): path.read_text() for path in texts(root)}
    return {path: ast.parse(text) if path.endswith(".py") else text for path, text in found.items()}


def _room(path):
    """The folder directly under symres, or that of the templates."""
    return path.parts[1] if path.parts[0] == "symres" and len(path.parts) > 2 else path.parts[0]


def _largest(sizes):
    return dict([max(sizes.items(), key=lambda item: item[1])])


# ---- the table -----------------------------------------------------------------------------------------------------


def total(label, figure):
    """One number of a figure: for lines and uses their sum, for the longest its size, for files how many there are."""
    return TOTALS.get(label, len)(figure.values()) if isinstance(figure, dict) else figure


def table(before, now):
    """Rows of before, now and the difference; below a figure what it is of."""
    rows = [("", "before", "now", "difference")]
    for label in now:
        was, found = before.get(label, 0), now[label]
        rows.append(_row(label, total(label, was), total(label, found)))
        parts = [part if isinstance(part, dict) else {} for part in (was, found)]
        rows += [_row(f"  {name}", *(p.get(name) for p in parts)) for name in dict.fromkeys([*parts[1], *parts[0]])]
    width = max(len(row[0]) for row in rows)
    return "\n".join(f"{name:{width}} {was:>8} {found:>8} {by:>10}".rstrip() for name, was, found, by in rows)


def _row(name, was, found):
    difference = round((found or 0) - (was or 0), 1)
    shown = ("-" if number is None else str(number) for number in (was, found))
    return (name, *shown, f"{difference:+}" if difference else "0")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT, help="a checkout")
    parser.add_argument("--keep", action="store_true", help="keep its figures as those before")
    asked = parser.parse_args()
    now = figures(asked.folder.resolve())
    if asked.keep:
        BEFORE.write_text(json.dumps(now, indent=1) + "\n")
    print(table(json.loads(BEFORE.read_text()), now))


if __name__ == "__main__":
    main()
