"""Generated functions of gamma that contain sums over its powers."""

import numpy as np
import pytest

import symres as sr
from tests.shared import derived


@pytest.fixture(scope="module")
def theory():
    return derived(sr.residual("relu"))


def test_numpy(theory):
    module = sr.export(theory.nu, target="numpy").load()
    gammas = np.array([[-0.5, 0.0], [0.5, 0.99]])
    expected = [[float(theory.nu.evalf(gamma=float(g))) for g in row] for row in gammas]
    assert np.allclose(module.nu(gammas), expected, rtol=1e-13)
    assert module.nu(0.5) == pytest.approx(6.49631254396469, rel=1e-14)
    assert np.isnan(module.nu(1.0))


def test_the_aspect_ratio_broadcasts(theory):
    module = sr.export(theory.aspect_ratio, target="numpy").load()
    found = module.aspect_ratio(np.array([0.0, 0.5])[:, None], np.array([1.0, 10.0]))
    assert found.shape == (2, 2)
    assert found[1, 1] == pytest.approx(float(theory.aspect_ratio.evalf(gamma="1/2", n_L=10)), rel=1e-14)


def test_torch_is_differentiable(theory):
    torch = pytest.importorskip("torch")
    module = sr.export(theory.nu, target="torch").load()
    gamma = torch.tensor([0.3, 0.5], dtype=torch.float64, requires_grad=True)
    values = module.nu(gamma)
    values.sum().backward()
    step = 1e-5
    slope = (theory.nu.evalf(20, gamma=repr(0.5 + step)) - theory.nu.evalf(20, gamma=repr(0.5 - step))) / (2 * step)
    assert values[1].item() == pytest.approx(6.49631254396469, rel=1e-14)
    assert gamma.grad[1].item() == pytest.approx(float(slope), rel=1e-7)


def test_polynomials_and_latex_as_before(theory):
    assert sr.export(derived(sr.residual("tanh")).nu, target="numpy").load().nu(0.5) == 0.625
    assert r"\sum" in sr.export(theory.nu, target="latex").text


def test_averages_without_a_closed_form_have_no_code():
    nu = derived(sr.residual("softplus")).nu
    if nu.status is sr.Status.NUMERIC:
        with pytest.raises(sr.NoClosedForm, match="two times"):
            sr.export(nu, target="numpy")


def test_the_stated_error_is_measured(theory):
    assert "relative at gamma" in sr.export(theory.nu, target="numpy").text
