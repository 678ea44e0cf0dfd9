"""The figure of the optimal aspect ratio: numbers on its logarithmic axis, curves that cover each other."""

import pytest
from matplotlib.figure import Figure

import symres as sr
from symres.report.figures import maps_figure
from symres.report.figures.maps_figure import draw_aspect_ratio
from tests.shared import derived


@pytest.mark.sample(1)
@pytest.mark.parametrize(("phi", "same"), [("relu", False), ("erf", True)])
def test_numbers_are_plain_and_covered_curves_are_said_to_be(phi, same, monkeypatch, tmp_path):
    """What neurons remember makes no difference to erf at its critical point K* = 0."""
    drawn = Figure()
    monkeypatch.setattr(maps_figure, "write_figure", lambda path, draw, **options: draw(drawn))
    draw_aspect_ratio(tmp_path / "ratio.png", derived(sr.residual(phi)).growth_curve)
    drawn.canvas.draw()
    above, below = drawn.axes
    assert above.get_legend_handles_labels()[1][1].endswith("(the same curve)") == same
    low, high = below.get_ylim()
    labels = [*below.yaxis.get_ticklabels(), *below.yaxis.get_ticklabels(minor=True)]
    written = [text.get_text() for text in labels if low <= text.get_position()[1] <= high and text.get_text()]
    assert len(written) >= 3 and all(float(text) > 0 for text in written)
