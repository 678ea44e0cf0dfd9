"""The small pictures of the README's gallery: ``python -m derivations.gallery.thumbnails`` runs six examples.

Writes ``docs/_static/thumbnails/NAME.png``, a picture of each, in a minute.
"""

from __future__ import annotations

from pathlib import Path

from derivations.gallery.pictures import pictures

SHOWN = (
    "plot_init_gains",
    "plot_training_where_signals_die",
    "plot_residual_branch_scale",
    "plot_phases_depth_scales",
    "plot_kernels_of_a_model",
    "plot_maths_theory_and_networks",
)
OUT = Path(__file__).parents[2] / "docs" / "_static" / "thumbnails"
WIDTH = 480  # pixels


def main() -> None:
    """Write them all."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name in SHOWN:
        *_, figure = pictures(name)
        figure.savefig(
            OUT / f"{name}.png",
            dpi=WIDTH / figure.get_size_inches()[0],
            metadata={"Software": None},
        )
        print(OUT / f"{name}.png")


if __name__ == "__main__":
    main()
