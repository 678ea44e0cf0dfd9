"""The lowest version of every dependency, as constraints for pip: ``python tests/lowest.py``, see ``make lowest``."""

import re
import tomllib
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENT = re.compile(r"([\w-]+)(?:\[[\w,]+\])?(?:>=|==)([\d.]+)(?:,<[\d.]+)?")


def lowest_versions():
    """{name: version} of all dependencies, those of all extras among them.

    Raises:
        ValueError: a dependency has no lowest version, or two.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = {}
    for requirement in chain(project["dependencies"], *project["optional-dependencies"].values()):
        read = REQUIREMENT.fullmatch(requirement)
        if read is None:
            raise ValueError(f"{requirement} names no lowest version")
        name, version = read.groups()
        if _numbers(found.setdefault(name, version)) != _numbers(version):
            raise ValueError(f"{name}: {found[name]} and {version} are both its lowest version")
    return found


def _numbers(version):
    """2.13 and 2.13.0 are one version."""
    return re.sub(r"(\.0)+$", "", version)


if __name__ == "__main__":
    for package, number in lowest_versions().items():
        print(f"{package}=={number}")
