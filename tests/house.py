"""Figures of the structure: ``python -m tests.house [FOLDER]`` prints them for a package."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "symres"
TARGETS = "targets"  # several targets may call the same part by the same name
SERVED = {("kernels", "NeuralKernel")}  # one class for each library, and users see one library only


def sources(package=PACKAGE):
    return sorted(p for p in package.rglob("*.py") if "_templates" not in p.parts)


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


def uses(word, package=PACKAGE):
    """How often a name stands in the code, strings and comments left out."""
    count = 0
    for path in sources(package):
        for node in ast.walk(ast.parse(path.read_text())):
            count += isinstance(node, ast.Name) and node.id == word
            # annotations as text
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 60:
                count += bool(re.fullmatch(rf"[\w\[\], |.]*\b{word}\b[\w\[\], |.]*", node.value)) and "[" in node.value
    return count


def main(package):
    folders = modules_of_folders(package)
    longest = max(folders, key=lambda folder: len(folders[folder]))
    print(f"longest folder: {longest.relative_to(package.parent)} with {len(folders[longest])} modules")
    print(f"folders with more than 12 modules: {sum(len(found) > 12 for found in folders.values())}")
    print(f"module names that occur twice: {', '.join(repeated_modules(package)) or 'none'}")
    print(f"public class names that occur twice: {', '.join(repeated_classes(package)) or 'none'}")
    for word in ("hasattr", "Any"):
        by_room = {room.name: uses(word, room) for room in sorted(package.iterdir()) if room.is_dir()}
        told = ", ".join(f"{room} {count}" for room, count in by_room.items() if count)
        print(f"{word}: {uses(word, package)} ({told})")
    print(f"lines: {sum(len(path.read_text().splitlines()) for path in sources(package))}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else PACKAGE)
