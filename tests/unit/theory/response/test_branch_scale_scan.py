"""Reported maxima of the response against scans of recursions written by hand, with averages in closed form."""

from functools import partial

import numpy as np
import pytest
import sympy as sp
from scipy import integrate, optimize

import symres as sr
from tests.shared import derived

C_W, C_B = 1.25, 0.05
FISCHER = {"C_W": "5/4", "C_b": "1/20"}
STEP = 1e-30  # of derivatives along the imaginary axis, which do not cancel


def pair_of_erfs(terms, K, C):
    """``<phi(z1) phi(z2)>`` at variances K and covariance C for phi = sum of a*erf(b*z)."""
    return sum(
        a * c * 2 / np.pi * np.arcsin(2 * b * d * C / np.sqrt((1 + 2 * b * b * K) * (1 + 2 * d * d * K)))
        for a, b in terms
        for c, d in terms
    )


def of_erfs(terms):
    """``<phi^2>``."""
    return lambda K: pair_of_erfs(terms, K, K)


def slope(average, K):
    return np.imag(average(K + 1j * STEP * K)) / (STEP * K)


FORMULAS = {
    "erf(z)": of_erfs([(1, 1)]),
    "erf(z)+erf(z/30)": of_erfs([(1, 1), (1, 1 / 30)]),
    "erf(z)+8*erf(z/30)": of_erfs([(1, 1), (8, 1 / 30)]),
    "8*erf(z/30)-erf(z)": of_erfs([(-1, 1), (8, 1 / 30)]),
    "erf(z)+20*erf(z/2000)": of_erfs([(1, 1), (20, 1 / 2000)]),
    "erf(10*z)-2*erf(z)+3*erf(z/10)": of_erfs([(1, 10), (-2, 1), (3, 1 / 10)]),
    "z*exp(-z^2/2)": lambda K: K / (1 + 2 * K) ** 1.5,
    "exp(-z^2/2)": lambda K: 1 / np.sqrt(1 + 2 * K),
    "erf(z/10)": of_erfs([(1, 0.1)]),
}


def response(name, depth, K, xi, gamma=1.0, readout=None):
    """chi_out for an array of xi, by the recursion of the kernel and the product of slopes."""
    phi, last = FORMULAS[name], FORMULAS[readout or name]
    kernel, total = K + 0 * xi, 1.0
    for _ in range(depth):
        total = total * (gamma**2 + xi**2 * C_W * slope(phi, kernel))
        kernel = gamma**2 * kernel + xi**2 * (C_B + C_W * phi(kernel))
    return total * C_W * slope(last, kernel)


def scanned(respond, places):
    """(the place, its response) where the response is largest in size; None if that is at an end."""
    values = np.abs(respond(places))
    k = int(np.argmax(values))
    if values[k] <= max(values[0], values[-1]) * (1 + 1e-6):
        return None
    around = np.log(places[k - 1]), np.log(places[k + 1])
    best = optimize.minimize_scalar(
        lambda u: -abs(respond(np.array([np.exp(u)]))[0]), bounds=around, method="bounded", options={"xatol": 1e-10}
    )
    place = float(np.exp(best.x))
    return place, float(respond(np.array([place]))[0])


SCALES = np.geomspace(1e-7, 1e5, 60001)
TABLE = [
    ("erf(z)+erf(z/30)", 6, "0.4", 1),
    ("erf(z)+erf(z/30)", 6, "0.01", 1),
    ("z*exp(-z^2/2)", 40, "0.3", 1),
    ("z*exp(-z^2/2)", 6, "3", 1),
    ("z*exp(-z^2/2)", 6, "0.01", 1),
    ("z*exp(-z^2/2)", 30, "0.3", "1/2"),
    ("erf(z)+8*erf(z/30)", 5, "0.05", 1),
    ("erf(z)+8*erf(z/30)", 400, "0.05", 1),
    ("8*erf(z/30)-erf(z)", 10, "0.05", 1),
    ("8*erf(z/30)-erf(z)", 3, "20", 1),
    ("erf(z)+20*erf(z/2000)", 10, "0.05", 1),
    ("erf(10*z)-2*erf(z)+3*erf(z/10)", 8, "0.001", 1),
    ("erf(10*z)-2*erf(z)+3*erf(z/10)", 8, "0.2", 1),
    ("exp(-z^2/2)", 4, "0.001", 1),
    ("erf(z)", 10, "0.05", 1),
    ("erf(z)", 10, "0.05", "1/2"),
]


def compared(call, expected, error=sr.NoClosedForm):
    """A call that returns places and the response there, or refuses, with what the scan says."""
    if expected is None:
        with pytest.raises(error, match=r"no interior maximum|highest maximum"):
            call()
        return
    *places, height = call()
    assert places == pytest.approx(expected[:-1], rel=1e-4)
    assert float(height) == pytest.approx(expected[-1], rel=1e-7)


def scale_and_response(theory, *arguments, **named):
    found = theory.branch_scale(*arguments, **named, **FISCHER)
    return float(found), found.response


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "depth", "K", "gamma"), TABLE)
def test_branch_scales(name, depth, K, gamma):
    theory = derived(sr.residual(name, gamma=gamma, xi=sr.xi))
    expected = scanned(partial(response, name, depth, float(K), gamma=float(sp.Rational(gamma))), SCALES)
    compared(lambda: scale_and_response(theory, depth, K), expected)


def test_the_local_maximum_that_is_smaller_is_said():
    theory = derived(sr.residual("erf(z)+erf(z/30)", gamma=1, xi=sr.xi))
    with pytest.raises(sr.NoClosedForm, match=r"is 0\.09568, at xi = 5\.5228; without the branch it is 0\.6116"):
        theory.branch_scale(6, "0.4", **FISCHER)


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("name", ["erf(z)+erf(z/30)", "8*erf(z/30)-erf(z)"])
def test_generated_searches(name, target):
    module = sr.export(derived(sr.residual(name, gamma=1, xi=sr.xi)).branch_scale_procedure(), target=target).load()
    for depth, K in ((6, 0.4), (5, 0.01), (10, 0.05)):
        at = depth, K, C_W, C_B
        expected = scanned(partial(response, name, depth, K), SCALES)
        compared(lambda at=at: (module.branch_scale(*at), module.response_at_branch_scale(*at)), expected, ValueError)


@pytest.mark.exhaustive
def test_negative_responses_have_their_sign():
    """More kernel at the input makes less of it in one layer: chi_out = -14 at its largest size."""
    theory, readout = derived(sr.residual("exp(-z^2/2)", gamma=1, xi=sr.xi)), derived(sr.mlp("erf(z/10)"))
    expected = scanned(partial(response, "exp(-z^2/2)", 1, 0.001, readout="erf(z/10)"), SCALES)
    assert expected[1] < 0
    found = theory.branch_scale(1, "0.001", readout=readout, **FISCHER)
    compared(lambda: (found, found.response), expected)
    assert found.searched[0] < 1e-10 and found.searched[1] > 1e6
    module = sr.export(theory.branch_scale_procedure(readout)).load()
    assert module.response_at_branch_scale(1, 0.001, C_W, C_B) == pytest.approx(expected[1], rel=1e-7)


@pytest.mark.exhaustive
def test_two_inputs():
    """dK12_out/dK12 of erf(z)+8*erf(z/30), by the covariance map by hand."""
    name, depth = "erf(z)+8*erf(z/30)", 6
    pair = partial(pair_of_erfs, [(1, 1), (8, 1 / 30)])

    def respond(xi):
        K, C, total = 0.05 + 0 * xi, 0.03 + 0 * xi, 1.0
        for _ in range(depth):
            total = total * (1 + xi**2 * C_W * slope(partial(pair, K), C))
            C, K = C + xi**2 * (C_B + C_W * pair(K, C)), K + xi**2 * (C_B + C_W * FORMULAS[name](K))
        return total * C_W * slope(partial(pair, K), C)

    inputs = [["0.05", "0.03"], ["0.03", "0.05"]]
    theory = derived(sr.residual(name, gamma=1, xi=sr.xi))
    compared(lambda: scale_and_response(theory, depth, inputs), scanned(respond, SCALES))


# ---- many layers -------------------------------------------------------------------------------------------------
def limit(name, kernel, end):
    """(c, final kernel, response) by a scan over final kernels; None if the response is largest at an end."""
    phi = FORMULAS[name]

    def flow(K):
        return C_B + C_W * phi(K)

    def respond(K):
        return C_W * slope(phi, K) * flow(K) / flow(kernel)

    best = scanned(respond, np.geomspace(kernel, end, 40001))
    if best is None:
        return None
    time = integrate.quad(lambda u: np.exp(u) / flow(np.exp(u)), np.log(kernel), np.log(best[0]), epsrel=1e-12)[0]
    return np.sqrt(time), *best


@pytest.mark.parametrize(
    ("name", "K"),
    [
        ("erf(z)+8*erf(z/30)", "0.05"),
        ("erf(z)+8*erf(z/30)", "300"),
        ("erf(z)+erf(z/30)", "0.4"),
        ("erf(z)+erf(z/30)", "0.01"),
        ("erf(z)+20*erf(z/2000)", "0.05"),
        ("8*erf(z/30)-erf(z)", "0.05"),
        ("z*exp(-z^2/2)", "0.01"),
        ("z*exp(-z^2/2)", "3"),
        ("erf(z)", "0.05"),
    ],
)
def test_limits(name, K):
    theory = derived(sr.residual(name, gamma=1, xi=sr.xi))

    def found():
        limit = theory.branch_scale_limit(K, **FISCHER)
        return limit.coefficient, limit.final_kernel, limit.response

    compared(found, limit(name, float(K), 1e9))


@pytest.mark.exhaustive
def test_the_limit_is_that_of_deep_networks():
    theory = derived(sr.residual("erf(z)+8*erf(z/30)", gamma=1, xi=sr.xi))
    found = theory.branch_scale_limit("0.05", **FISCHER)
    scaled = [20 * theory.branch_scale(400, "0.05", **FISCHER), 40 * theory.branch_scale(1600, "0.05", **FISCHER)]
    assert scaled == pytest.approx([4.4317, 4.3854], abs=5e-5)
    extrapolated = (4 * scaled[1] - scaled[0]) / 3  # without the term 1/L, of which 1% is left at L = 400
    assert found.coefficient == pytest.approx(extrapolated, rel=2e-4)
    assert found.response == pytest.approx(10.51, abs=0.005)


@pytest.mark.exhaustive
def test_flows_that_end_at_a_kernel():
    """K' = (1 - xi)K + xi(C_b + C_W<phi^2>) leads to a fixed kernel from both sides, and no further."""
    stream, branch = sp.sqrt(1 - sr.xi) * sr.z, sp.sqrt(sr.xi) * sr.Dense(sr.activation("erf")(sr.z))
    theory, phi = derived(sr.Layer(stream + branch)), FORMULAS["erf(z)"]

    def flow(K):
        return C_B + C_W * phi(K) - K

    fixed = optimize.brentq(flow, 1e-3, 10)
    for K, end in ((0.05, fixed * (1 - 1e-9)), (5.0, fixed * (1 + 1e-9))):
        places = np.sort(np.geomspace(K, end, 40001))
        place, height = scanned(lambda x, K=K: C_W * slope(phi, x) * flow(x) / flow(K), places)
        found = theory.branch_scale_limit(repr(K), **FISCHER)
        assert found.final_kernel == pytest.approx(place, rel=1e-5)
        assert found.response == pytest.approx(height, rel=1e-8)
        time = integrate.quad(lambda x: 1 / flow(x), K, place, epsrel=1e-12)[0]
        assert (found.power, found.coefficient) == (1, pytest.approx(time, rel=1e-5))
        assert theory.branch_scale(800, repr(K), **FISCHER) * 800 == pytest.approx(time, rel=3e-3)
