"""The table, the text, JSON and the figure of a measurement, with and without a theory."""

import json
import math

import numpy as np
import pytest
import torch
from torch import nn

import symres.torch as st

COLUMNS = [
    *("place", "kernel", "kernel_error", "mean", "cosine", "apjn_forward", "apjn_forward_error"),
    *("apjn_backward", "apjn_backward_error"),
]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(6, 6) for _ in range(5)))


@pytest.fixture(scope="module")
def inputs():
    return torch.randn(3, 6)


def test_columns_and_rows_text_and_json(model, inputs):
    measured = st.measure(model, inputs, probes=2)
    frame = measured.frame()
    assert list(frame.columns[: len(COLUMNS)]) == COLUMNS
    assert list(frame["place"]) == list("01234")
    assert {"covariance", "token_cosine", "gradient_norm", "cosine_error", "entries", "axes"} <= set(frame.columns)
    assert (frame["kernel_error"] > 0).all() and frame["gradient_norm"].isna().all()
    assert not [name for name in frame.columns if "theory" in name]
    text = str(measured)
    assert text.startswith("signals at 5 places of 1 network, 3 inputs")
    assert "errors: standard errors over inputs" in text
    read = json.loads(measured.to_json())
    assert [row["place"] for row in read["places"]] == list("01234")
    assert read["places"][3]["kernel"] == measured["3"].kernel and read["places"][0]["gradient_norm"] is None
    with pytest.raises(KeyError):
        measured["nowhere"]


def test_theory_of_every_form(model, inputs):
    measured = st.measure(model, inputs, probes=2)
    pairs = [(float(place.kernel), float(place.apjn_forward)) for place in measured.places]

    class Reading:
        predictions = tuple(st.Prediction(kernel=k, apjn_forward=j) for k, j in pairs)

    for theory in (pairs, list(Reading.predictions), Reading(), dict(zip("01234", Reading.predictions, strict=True))):
        frame = st.measure(model, inputs, probes=2, theory=theory).frame()
        np.testing.assert_allclose(frame["kernel_theory"], frame["kernel"])
        assert (frame["kernel_z"] == 0).all() and (frame["apjn_forward_z"] == 0).all()
        assert not [name for name in frame if name.startswith(("apjn_backward_", "cosine_")) and "error" != name[-5:]]
        assert len([name for name in frame if "_theory" in name or "_z" in name]) == 6


def test_z_scores_have_the_errors_of_both_sides(model, inputs):
    plain = st.measure(model, inputs, probes=2).places[2].kernel
    theory = {"2": st.Prediction(kernel=plain + 3 * plain.error, kernel_error=plain.error)}
    frame = st.measure(model, inputs, probes=2, theory=theory).frame()
    assert frame["kernel_z"][2] == pytest.approx(-3 / math.sqrt(2)) and math.isnan(frame["kernel_z"][1])


def orthogonal(depth, gain):
    """Layers that multiply every vector by the gain."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(6, 6, bias=False) for _ in range(depth)))
    for module in model:
        nn.init.orthogonal_(module.weight, gain=gain)
    return model


def test_the_figure_shows_every_number_with_its_error(model, inputs):
    measured = st.measure(model, inputs, probes=2, loss=lambda y: y.square().mean())
    panels = measured.plot().axes
    assert len(panels) == 3 and all(panel.get_yscale() == "log" for panel in panels)
    drawn = [container for panel in panels for container in panel.containers]
    names = ["kernel", "apjn_forward", "apjn_backward", "gradient_norm"]
    assert len(drawn) == len(names)
    for name, container in zip(names, drawn, strict=True):
        expected = [float(place.number(name)) for place in measured.places]
        np.testing.assert_allclose(container.lines[0].get_ydata(), expected)
        assert container.has_yerr
    assert [label.get_text() for label in panels[-1].get_xticklabels()] == list("01234")


def test_the_figure_tells_what_happens(inputs):
    model = orthogonal(8, 2)
    readout = nn.Linear(6, 2, bias=False)
    nn.init.zeros_(readout.weight[:, 2:]), nn.init.eye_(readout.weight[:, :2])
    for stack, end in ((model, ""), (nn.Sequential(*model, readout), " before the readout")):
        panels = st.measure(stack, inputs, exact=True).plot().axes
        assert panels[0].get_title() == f"kernels grow by a factor 1.64e+04{end}"
        assert panels[1].get_title().startswith(f"forward Jacobian norms grow by a factor 1.64e+04{end}")


@pytest.mark.parametrize(("gain", "size"), [(1.0, 1.6), (1.02, 0.14), (1.3, 0.37), (2.0, 1.1)])
def test_axes_have_numbers_whatever_their_range(gain, size):
    """Between 0.67 and 1.5 all multiples of a power of ten lie below the middle."""
    figure = st.measure(orthogonal(5, gain), size**0.5 * torch.ones(1, 6), exact=True).plot()
    figure.canvas.draw()
    for panel in figure.axes:
        low, high = panel.get_ylim()
        labels = [*panel.yaxis.get_ticklabels(), *panel.yaxis.get_ticklabels(minor=True)]
        places = {t.get_position()[1] for t in labels if t.get_text() and low <= t.get_position()[1] <= high}
        assert len(places) >= 3
        assert math.log(max(places) / min(places)) > 0.5 * math.log(high / low)


def test_curves_that_cover_each_other_are_said_to(inputs):
    for gain, same in ((1.0, True), (1.2, False)):
        labels = st.measure(orthogonal(4, gain), inputs, exact=True).plot().axes[1].get_legend_handles_labels()[1]
        assert ("from the place to the output (the same curve)" in labels) == same


def test_the_figure_draws_theory_and_dead_places(inputs):
    model = nn.Sequential(nn.Linear(6, 6), nn.Threshold(1e9, 0.0), nn.Linear(6, 6))
    theory = [st.Prediction(kernel=1.0, kernel_error=0.1, apjn_forward=2.0), None, st.Prediction(apjn_backward=1.0)]
    panels = st.measure(model, inputs, "*", theory=theory, exact=True).plot().axes
    labels = {text for panel in panels for text in panel.get_legend_handles_labels()[1]}
    assert {"theory, kernel", "theory, from the input to the place", "kernel"} <= labels
    assert "0" in {text.get_text() for text in panels[0].texts}


def test_predictions_without_neighbours_are_seen(model, inputs):
    theory = {"1": st.Prediction(kernel=3.0, kernel_error=0.5), "4": st.Prediction(kernel=2.0, kernel_error=0.1)}
    panel = st.measure(model, inputs, probes=2, theory=theory).plot().axes[0]
    short = {tuple(line.get_ydata()): line.get_xdata() for line in panel.lines if len(line.get_xdata()) == 2}
    for place, kernel in ((2, 3.0), (5, 2.0)):
        low, high = short[kernel, kernel]
        assert low < place < high
    extents = [(p.vertices[:, 0].min(), *np.percentile(p.vertices[:, 1], [0, 100]))
               for band in panel.collections for p in band.get_paths() if len(p.vertices)]  # fmt: skip
    assert any(np.allclose(found, (1.7, 2.5, 3.5)) for found in extents)
    assert "band: what the theory allows" in panel.get_legend_handles_labels()[1]
    plain = st.measure(model, inputs, probes=2, theory=[(1.0, 1.0)] * 5).plot().axes[0]
    assert "band: what the theory allows" not in plain.get_legend_handles_labels()[1]


def test_text_has_the_theory_and_leaves_out_the_middle_of_long_models():
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(40)))
    theory = {"3": st.Prediction(kernel=1.0, kernel_error=0.5, apjn_forward=2.0, apjn_forward_error=1.0)}
    found = st.measure(model, torch.randn(3, 4), probes=2, theory=theory, progress=False)
    lines = str(found).splitlines()
    assert len(lines) < 30 and "  ...: 20 more places, all of them in .frame()" in lines
    row, line = found.rows()[3], lines[4]
    assert f"theory 1 +- 0.5 (z = {row['kernel_z']:.2g})" in line and "theory 2 +- 1 (z = " in line
    assert "  theory: kernel at 1 of 40 places" in str(found)


def test_notebooks_show_the_figure(model, inputs):
    """IPython knows figures of pyplot only; this one has a picture of its own, in the style of all figures."""
    figure = st.measure(model, inputs, probes=1).plot()
    first = figure._repr_png_()
    assert first.startswith(b"\x89PNG") and figure._repr_png_() == first


def test_the_figure_says_whether_the_theory_predicts_the_network():
    torch.manual_seed(0)
    model = nn.Sequential(*(m for _ in range(4) for m in (nn.Linear(64, 64), nn.Tanh())), nn.Linear(64, 8))
    inputs = torch.randn(6, 64)
    right = st.predict(model, inputs).plot().get_suptitle()
    assert "the theory agrees at 5 of 5 places" in right
    wrong = st.measure(model, inputs, [str(2 * k) for k in range(4)], theory=[(5.0, 1.0)] * 4, probes=2)
    assert "the theory does not predict" in wrong.plot().get_suptitle()
