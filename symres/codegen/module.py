"""Generated text: written to a file, or loaded as a Python module."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Literal

from ..core import files
from ..core.display import Fact, Shown, preformatted
from ..core.errors import DeclarationError

Target = Literal["numpy", "torch", "latex"]
TARGETS: tuple[Target, ...] = ("numpy", "torch", "latex")


@dataclass(frozen=True, repr=False)
class Module(Shown):
    """Generated text.

    Args:
        name: what it is about; part of the name under which it is loaded.
        target: "numpy", "torch" or "latex".
        text: the text itself.
        missing: quantities that were asked for and have no code, with the reason.
        warnings: functions with values that have fewer than six digits: which, where, and how wrong they are.
        functions: the names of what it holds.
    """

    name: str
    target: Target
    text: str
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        held, lines = ", ".join(self.functions) or self.name, self.text.count("\n")
        lacking = f"; without {'; '.join(self.missing)}" if self.missing else ""
        return f"<{self.target} module: {held}; {lines} lines in .text{lacking}>"

    def __str__(self) -> str:
        return self.text

    def _title(self) -> str:
        return f"{self.target} module {self.name}"

    def _facts(self) -> list[Fact]:
        return [
            Fact("functions", ", ".join(self.functions)),
            *(Fact("missing", text) for text in self.missing),
            *(Fact("warning", text) for text in self.warnings),
        ]

    def _repr_html_(self) -> str:
        return preformatted(self.text)

    def write(self, path: str | Path) -> Path:
        """Write the text to a file, whole or not at all.

        Returns:
            the path written.
        """
        return files.write_text(Path(path), self.text)

    def load(self) -> ModuleType:
        """Run the text as a Python module.

        Each call makes a module of its own. It is kept in ``sys.modules`` under a name that no other one has, such as
        ``symres_generated_theory_1``: ``torch.compile``, ``inspect`` and ``pickle`` look modules up by name.

        Raises:
            DeclarationError: it is LaTeX, or the library that it imports is not installed.
        """
        if self.target == "latex":
            raise DeclarationError(f"loading {self.name}", "LaTeX is no module", "write it to a file")
        if importlib.util.find_spec(self.target) is None:
            raise DeclarationError(
                f"loading {self.name}", f"{self.target} is not installed", f"pip install {self.target}"
            )
        module = ModuleType(_unused_name(self.name))
        sys.modules[module.__name__] = module
        try:
            exec(compile(self.text, f"<generated {self.name}>", "exec"), module.__dict__)
        except BaseException:
            del sys.modules[module.__name__]
            raise
        return module


def _unused_name(name: str) -> str:
    """A name for a loaded module that no other module has."""
    names = (f"symres_generated_{name}_{number}" for number in count(1))
    return next(candidate for candidate in names if candidate not in sys.modules)
