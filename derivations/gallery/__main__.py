"""Run an example of the gallery: ``python -m derivations.gallery plot_init_gains``.

It prints what it computes, checks itself, and writes its pictures to the folder that it is run in: ``NAME.png``,
``NAME_2.png`` and so on. Without a name the examples are listed, each with its question.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from derivations.gallery.pictures import EXAMPLES, pictures

DENSITY = 150  # pixels in an inch


def question(name: str) -> str:
    """What an example answers: the sentences in italics at its beginning."""
    text = (Path(__file__).parent / f"{name}.py").read_text("utf-8")
    return " ".join(re.sub(r"\*|:math:|`", "", text.split("\n\n")[1]).split())


def main(arguments: list[str] | None = None) -> list[Path]:
    """Run one example, or list them all.

    Args:
        arguments: of the command line.

    Returns:
        The pictures that were written.
    """
    parser = argparse.ArgumentParser(
        prog="python -m derivations.gallery", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "name",
        nargs="?",
        choices=EXAMPLES,
        metavar="NAME",
        help="an example; without one: all names",
    )
    name = parser.parse_args(arguments).name
    if name is None:
        print("\n".join(f"{example}\n    {question(example)}" for example in EXAMPLES))
        return []
    try:
        figures = pictures(name)
    except ModuleNotFoundError as error:
        parser.exit(
            2,
            f'{name} needs {error.name}: pip install ".[docs]" brings all that examples need\n',
        )
    paths = [
        Path(f"{name}{f'_{number}' if number > 1 else ''}.png")
        for number in range(1, len(figures) + 1)
    ]
    for path, figure in zip(paths, figures, strict=True):
        figure.savefig(path, dpi=DENSITY)
        print(path)
    return paths


if __name__ == "__main__":
    main()
