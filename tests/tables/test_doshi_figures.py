"""The figures of Doshi et al.: small networks agree with the theory within their errors, and files are written."""

import csv
import math
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

import symres as sr
from derivations.doshi_figures import (
    apjn_with_depth,
    find_critical_weights,
    findings,
    kernels_of_pixels,
    mixer_phases,
    mlp_phases,
    resnet_batch_norm,
    resnet_layer_norm,
)
from derivations.doshi_figures.critical_search import find_critical
from derivations.doshi_figures.kernel_path import path
from derivations.doshi_figures.last_block import Trial, chi_of_last_block, images, last_two, sphere
from derivations.doshi_figures.models.deep_mlp import DeepMlp
from derivations.doshi_figures.models.resnet import ResNet
from tests.oracles.pixel_recursion import PixelRecursion
from tests.oracles.torch_blocks import Computed
from tests.shared import derived

ERRORS = 4.0
FIGURES = (apjn_with_depth, mlp_phases, resnet_layer_norm, resnet_batch_norm, mixer_phases)
PNG = b"\x89PNG"


def silent(what, share):
    assert 0 <= share <= 1 + 1e-9


@cache
def quick(module):
    settings = find_critical_weights.usual(True) if module is find_critical_weights else module.QUICK
    return module.run(settings, silent)


def rows(module, word):
    return [row for row in quick(module).comparisons if word in row.what]


@pytest.mark.parametrize(
    "module",
    [
        *(
            pytest.param(m, marks=pytest.mark.exhaustive if m in (apjn_with_depth, mixer_phases) else ())
            for m in FIGURES
        ),
        find_critical_weights,
    ],
    ids=lambda module: module.__name__,
)
def test_quick_numbers_agree_with_the_theory(module, tmp_path):
    found = quick(module)
    judged = [row for row in found.comparisons if not math.isnan(row.theory)]
    assert len(judged) >= 2 and all(row.error > 0 for row in judged)
    assert max(abs(row.z) for row in judged) < ERRORS, found.table
    picture, numbers = found.write(tmp_path / "new", "figure")
    assert picture.read_bytes().startswith(PNG)
    with numbers.open() as file:
        assert len(list(csv.DictReader(file))) == len(found.points) >= 4


def test_a_wrong_theory_is_told_from_the_measurement():
    exponent = rows(apjn_with_depth, "erf: exponent")[0]
    assert abs(findings.Comparison("of ReLU", exponent.measured, exponent.error, 0.0, exponent.allowed).z) > ERRORS
    batch = rows(resnet_batch_norm, "fully connected: chi_J, sigma_w^2 = 2, mu = 0")[0]
    one_unit = math.pi / (math.pi - 1)  # of blocks with one unit
    assert abs(findings.Comparison("one unit", batch.measured, batch.error, one_unit, batch.allowed).z) > 3


def test_skip_connections_of_weight_one_are_critical_and_others_are_not():
    dense = {row.what.rpartition("= ")[2]: row.measured for row in rows(resnet_batch_norm, "fully connected: chi_J, ")}
    assert dense["0"] > 1.8 and 1 < dense["1"] < 1.4


def test_path_is_the_recursion_of_the_theory():
    theory = derived(sr.residual("erf", gamma="1/2"))
    found = path(theory, 5, 1.5, C_W=np.array([1.0, 2.0]), C_b=0.1)
    for column, C_W in enumerate((1.0, 2.0)):
        kernels = theory.kernels(5, 1.5, C_W=C_W, C_b=0.1)
        assert found.kernels[:, column] == pytest.approx(list(map(float, kernels)), rel=1e-12)
        assert found.jacobians[-1, column] == pytest.approx(float(theory.jacobian(0, 5, 1.5, C_W=C_W, C_b=0.1)))


@pytest.mark.parametrize(("C_b", "mu", "stages"), [(0.0, 0.0, 1), (0.5, 0.5, 2)])
@pytest.mark.parametrize("padding", ["zeros", "circular"])
def test_images_have_the_kernels_of_a_recursion_by_hand(C_b, mu, stages, padding):
    pictures = images(2, 8) if padding == "zeros" else torch.ones(1, 3, 4, 4)
    derived_chi = kernels_of_pixels.chi_of_last_block(pictures, 1.5, C_b, mu, padding, stages, 3)
    by_hand = PixelRecursion(1.5, C_b, mu, padding, stages, 3).chi_of_last_block(pictures)
    assert derived_chi == pytest.approx(by_hand, rel=1e-12)


def test_zero_padding_in_networks_with_many_channels():
    pictures, channels = images(2, 4), 160
    measured = chi_of_last_block(
        lambda: ResNet(sigma_w=2**0.5, mu=0.0, channels=(channels,), blocks=3), Trial(pictures, 8, 4)
    )
    zeros, circular = (
        kernels_of_pixels.chi_of_last_block(pictures, 2.0, 0.0, 0.0, padding, 1, 3) for padding in ("zeros", "circular")
    )
    assert circular == pytest.approx(1.0)
    assert abs(measured.value - zeros) < ERRORS * measured.error < abs(measured.value - circular)


class Chain(nn.Module):
    """Blocks of which each multiplies by 1.25*sigma_w: critical at 0.8."""

    def __init__(self, sigma_w):
        super().__init__()
        self.layers = nn.Sequential(*(Computed(lambda h: 1.25 * sigma_w * h) for _ in range(3)))

    def forward(self, h):
        return self.layers(h)


CHAIN = Trial(torch.ones(1, 8), 2, blocks="layers")


def test_the_search_finds_a_known_scale():
    found = find_critical(Chain, CHAIN, 0.3, 3.0)
    assert found.sigma_w == pytest.approx(0.8, abs=1e-6) and found.slope == pytest.approx(2.0, rel=1e-5)
    assert found.error < 1e-5 and found.fresh.value == pytest.approx(1.0, abs=1e-5)


def test_a_range_without_a_crossing_is_refused():
    with pytest.raises(ValueError, match=r"one side of 1; take another range"):
        find_critical(Chain, CHAIN, 1.0, 3.0)
    with pytest.raises(ValueError, match=r"chi_J is 0.0, no positive number"):
        find_critical(lambda sigma_w: Chain(0.0), CHAIN, 1.0, 3.0)


def test_the_last_two_blocks_have_to_be_there():
    assert last_two(Chain(1.0), "layers") == ("layers.1", "layers.2")
    with pytest.raises(ValueError, match="no list of two blocks"):
        last_two(DeepMlp(4, 4, 1, "erf", sigma_w=1.0), "blocks")
    with pytest.raises(ValueError, match="no list of two blocks"):
        last_two(DeepMlp(4, 4, 2, "erf", sigma_w=1.0), "read_in")


def test_a_power_law_is_fitted():
    xs = np.array([2.0, 4.0, 8.0])
    slope, error = mixer_phases.power_law(xs, 3 / xs, 0.03 / xs)
    assert slope == pytest.approx(-1.0) and error == pytest.approx(0.01 / (2**0.5 * math.log(2)))


def test_arrangements_of_layer_norm():
    x = sphere(3, 32)
    for norm in ("pre", "act", "post"):
        torch.manual_seed(0)
        net = DeepMlp(32, 32, 3, "relu", sigma_w=2.0, norm=norm, mu=0.5)
        h = net.blocks[0](x)
        normal = nn.functional.layer_norm(x if norm == "pre" else torch.relu(x), (32,))
        active = {"pre": torch.relu(normal), "act": normal, "post": torch.relu(x)}[norm]
        expected = 0.5 * x + active @ net.blocks[0].dense.weight.T + net.blocks[0].dense.bias
        torch.testing.assert_close(h, nn.functional.layer_norm(expected, (32,)) if norm == "post" else expected)


def test_drawn_weights_have_the_variances_that_are_asked_for():
    torch.manual_seed(1)
    net = ResNet(sigma_w=1.5, sigma_b=0.5, channels=(32, 64), blocks=1)
    conv, skip = net.blocks[1].branch[5], net.blocks[1].skip
    convolutions = [m for m in net.modules() if isinstance(m, nn.Conv2d)]
    biases = torch.cat([m.bias for m in convolutions])
    for tensor, variance in ((conv.weight, 2.25 / (9 * 64)), (skip.weight, 2.25 / 32), (biases, 0.25)):
        four_errors = 4 * math.sqrt(2 / tensor.numel())
        assert float(tensor.detach().square().mean()) == pytest.approx(variance, rel=four_errors)


def test_chi_of_a_block_of_known_norm():
    found = chi_of_last_block(lambda: Chain(2.0), CHAIN)
    assert found.value == pytest.approx(6.25, rel=1e-5)


def test_the_command_line_writes_and_prints(tmp_path, capsys):
    arguments = ["--quick", "--out", str(tmp_path)]
    findings.main("mlp_phases", "about", lambda size, progress: quick(mlp_phases), 1, 2, arguments)
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].split() == list(findings.COLUMNS) and "mlp_phases.csv" in printed
    assert {path.name for path in tmp_path.iterdir()} == {"mlp_phases.png", "mlp_phases.csv"}


def test_a_model_of_ones_own_is_searched_from_the_command_line(tmp_path, capsys):
    chain = "tests.tables.test_doshi_figures:Chain"
    model = ["--model", chain, "--shape", "8", "--blocks", "layers", "--networks", "2"]
    find_critical_weights.main([*model, "--out", str(tmp_path)])
    assert "Chain: sigma_w where chi_J = 1 0.8" in " ".join(capsys.readouterr().out.split())
    for options, message in (
        (["--range", "1", "3"], "take another range"),
        (["--range", "0", "3"], "take 0 < low < high"),
        (["--blocks", "layer"], "layer"),
        (["--shape", "a"], "a"),
        (["--model", "tests.tables.test_doshi_figures:Missing"], "Missing"),
        (["--model", "no_such_module:Missing"], "no_such_module"),
    ):
        with pytest.raises(SystemExit, match=f"^find_critical_weights: .*{message}"):
            find_critical_weights.main([*model, "--out", str(tmp_path / "none"), *options])
    assert not (tmp_path / "none").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("norm", "mu"), [("none", 0.0), ("none", 1.0)])
def test_weights_off_by_five_percent_are_refuted(norm, mu):
    size = mlp_phases.PhaseSettings(12, 512, 4, 6, 5, ("relu",))
    pixels = mlp_phases.measured_pixels("relu", norm, mu, size, 7, silent)
    ratio, error = pixels.ratio
    allowed = mlp_phases.ALLOWED / size.width
    assert abs(findings.Comparison("right", ratio, error, 1.0, allowed).z) < ERRORS
    assert abs(findings.Comparison("wrong", ratio, error, 1.05, allowed).z) > ERRORS  # chi_J - mu^2 = C_W/2
