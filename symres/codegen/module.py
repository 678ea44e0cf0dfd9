"""Generated text: written to a file, or loaded as a Python module."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ..core import files
from ..core.display import Fact, Shown, copy_button, folded, preformatted
from ..core.errors import DeclarationError
from . import targets

LATEX = "latex"  # is exported too, and is no code


def has_companions(path: Path, target: str) -> bool:
    """Whether further files belong to a module at a path; beside a device they do not."""
    return target != LATEX and not files.is_special(path) and bool(targets.find(target).companion_endings)


def require_places(path: Path, target: str) -> Path:
    """Make sure that a module and what belongs to it can be written, without touching anything.

    Args:
        path: of the module.
        target: the name of its target.

    Raises:
        DeclarationError: it cannot, or a file beside it is somebody's own.
    """
    files.require_place(path)
    for ending in targets.find(target).companion_endings if has_companions(path, target) else ():
        beside = files.require_place(path.with_suffix(ending))
        if beside == path:
            found = f"a further file that belongs to it ends in {ending}"
            raise DeclarationError(f"writing {path}", found, "give it another ending")
        if beside.is_file() and not targets.find(target).is_companion(beside.read_text("utf-8", "replace")):
            found = f"this would overwrite {beside}, which symres did not write"
            raise DeclarationError(f"writing {path}", found, "choose another name, or move that file")
    return path


@dataclass(frozen=True, repr=False)
class Module(Shown):
    """Generated text.

    Args:
        name: what it is about; part of the name under which it is loaded.
        target: the name of a target, or "latex".
        text: the text itself.
        missing: quantities that were asked for and have no code, with the reason.
        warnings: functions with values that have fewer than six digits: which, where, and how wrong they are; that a
            tangent kernel is infinite.
        functions: the names of what it holds.

    Examples:
        >>> module = sr.export({"mean": sr.expect("relu(z)^3")})
        >>> module.functions, module.missing, "import numpy as np" in module.text
        (('mean',), (), True)
    """

    name: str
    target: str
    text: str
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        held = ", ".join(self.functions) or self.name
        lacking = f"; without {'; '.join(self.missing)}" if self.missing else ""
        return f"<{self.target} module: {held}; {self._lines} lines in .text{lacking}>"

    def __str__(self) -> str:
        return self.text

    @property
    def _lines(self) -> int:
        return self.text.count("\n")

    def _title(self) -> str:
        return f"{self.target} module {self.name}"

    def _facts(self) -> list[Fact]:
        return [
            Fact("functions", ", ".join(self.functions)),
            *(Fact("missing", text) for text in self.missing),
            *(Fact("warning", text) for text in self.warnings),
        ]

    def _repr_html_(self) -> str:
        code = copy_button("code") + preformatted(self.text)
        return f"{super()._repr_html_()}{folded(f'{self._lines} lines', code)}"

    def write(self, path: str | Path) -> Path:
        """Write the text to a file, whole or not at all, and what belongs to it beside it: the header of a C source.

        Returns:
            the path written.

        Raises:
            DeclarationError: it cannot be written, or a file beside it that is no header of this kind is in the way.

        Examples:
            >>> import pathlib, tempfile
            >>> folder = tempfile.TemporaryDirectory()
            >>> path = sr.export({"mean": sr.expect("relu(z)^3")}).write(pathlib.Path(folder.name) / "averages.py")
            >>> path.name, "def mean(K" in path.read_text()
            ('averages.py', True)
            >>> folder.cleanup()
        """
        path = require_places(Path(path), self.target)
        if has_companions(path, self.target):
            for ending, text in targets.find(self.target).companions(path.stem, self.text).items():
                files.write_text(path.with_suffix(ending), text)
        return files.write_text(path, self.text)

    def load(self) -> ModuleType:
        """Run the text as a Python module.

        Each call makes a module of its own. It is kept in ``sys.modules`` under a name that no other one has, such as
        ``symres_generated_theory_1``: ``torch.compile``, ``inspect`` and ``pickle`` look modules up by name.

        Raises:
            DeclarationError: it is LaTeX, or what the code needs is not installed.

        Examples:
            >>> mean = sr.export({"mean": sr.expect("relu(z)^3")}).load().mean
            >>> mean(np.array([1.0, 4.0])).round(9)  # sqrt(2/pi)*K^(3/2)
            array([0.79788456, 6.38307649])
        """
        if self.target == LATEX:
            raise DeclarationError(f"loading {self.name}", "LaTeX is not a module", "write it to a file")
        return targets.find(self.target).load(self.name, self.text)
