"""The response to the input's kernel and the branch scale that makes it largest."""

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.theory.response.branch_scale import linear_estimate, or_ended, rows_of, scanned
from tests.shared import derived

FISCHER = {"C_W": "1.25", "C_b": "0.05"}
PAIR = [["0.05", "0.03"], ["0.03", "0.05"]]


def fischer():
    return derived(sr.residual("erf", gamma=1, xi=sr.xi))


def readout_kernel(layer, depth, K, **own):
    """The kernel of the output by plain recursion."""
    last = sr.derive(sr.mlp("erf")).kernel_map
    k = derived(layer).kernels(depth, K, **own)[-1]
    return float(last.evalf(20, K=k, C_W=own["C_W"], C_b=own["C_b"]))


def test_one_input_by_differences():
    layer, own = sr.residual("erf", gamma=1, xi=sr.xi), {**FISCHER, "xi": "0.3"}
    found = fischer().response(4, "0.05", **own)
    e = 1e-4
    above, below = (derived(layer).kernels(4, 0.05 * (1 + s * e), **own) for s in (1, -1))
    slopes = [float(a - b) / (0.1 * e) for a, b in zip(above, below, strict=True)]
    assert found.chi == pytest.approx(slopes, rel=1e-7)
    assert found.eta[0] == found.chi[0] == 1
    assert found.eta[1:] == pytest.approx(np.diff(found.chi), rel=1e-12)  # gamma = 1
    outputs = [readout_kernel(layer, 4, 0.05 * (1 + s * e), **own) for s in (1, -1)]
    assert found.chi_out == pytest.approx((outputs[0] - outputs[1]) / (0.1 * e), rel=1e-7)


def test_two_inputs():
    """dK12/dK11 is not 0, which 002 (115) drops."""
    found = fischer().response(3, PAIR, xi="0.3", **FISCHER)
    one = fischer().response(3, "0.05", xi="0.3", **FISCHER)
    assert [c[0, 0] for c in found.chi] == pytest.approx(one.chi, rel=1e-12)
    assert found.chi[3][1, 0] == pytest.approx(found.chi[3][1, 2])
    assert found.chi[3][1, 0] < -0.01
    e = 1e-5
    kernels = [
        fischer().dual_kernels(3, "0.05", "0.05", 0.03 * (1 + s * e), **FISCHER, xi="0.3")[-1].C for s in (1, -1)
    ]
    assert found.chi[3][1, 1] == pytest.approx(float(kernels[0] - kernels[1]) / (0.06 * e), rel=1e-6)


@pytest.mark.parametrize(("depth", "expected"), [(10, 0.326509160259975), (200, 0.0685226948707319)])
def test_figure_four(depth, expected):
    assert fischer().branch_scale(depth, "0.05", **FISCHER) == pytest.approx(expected, rel=1e-12)


def test_estimates_of_kernels_that_grow_by_a_constant():
    """A normalised branch adds xi^2 (C_W + C_b) whatever the kernel is."""
    layer = derived(sr.Layer(sr.z + sr.xi * sr.Dense(sr.RMSNorm(sr.z))))
    limit, values = layer.depth_limit(), {sr.C_W: 1.5, sr.C_b: 0.5}
    found = linear_estimate(limit.kernel_rate, limit.power, 1.0, 9.0, 16, values)
    assert found == pytest.approx(0.5, rel=1e-14)  # 1 + 16 * 0.5^2 * 2 = 9
    assert layer.branch_scale_for(9, 16, 1, C_W="1.5", C_b="0.5") == pytest.approx(0.5, rel=1e-13)
    with pytest.raises(sr.NoClosedForm, match="from K = 9 to 1"):
        linear_estimate(limit.kernel_rate, limit.power, 9.0, 1.0, 16, values)


def test_estimates_of_linear_growth():
    """K -> K + xi^2 (C_b + b_1 K) from 1/10 to 2/10 in 3 steps, for small kernels of erf b_1 = 4 C_W/pi."""
    limit, slope = fischer().depth_limit(), 4 * 1.25 / np.pi
    found = linear_estimate(limit.kernel_rate, limit.power, 0.1, 0.2, 3, {sr.C_W: 1.25, sr.C_b: 0.05})
    kernel = 0.1
    for _ in range(3):
        kernel += found**2 * (0.05 + slope * kernel)
    assert kernel == pytest.approx(0.2, rel=1e-13)


def test_maxima_far_from_the_usual_scales():
    """Of one layer K' = K + xi^2 C_W <phi^2>, so that xi*sqrt(C_W) is what matters where K and C_b are small."""
    small = {"C_W": "1.25", "C_b": 0}
    found = fischer().branch_scale(1, "1e-6", **small)
    assert found == pytest.approx(712.966168586, rel=1e-10)
    assert fischer().branch_scale(1, "1e-6", C_W="125", C_b=0) == pytest.approx(found / 10, rel=1e-12)

    def size(scale):
        return np.log(fischer().response(1, "1e-6", xi=scale, **small).chi_out)

    assert max(size(found * 0.999), size(found * 1.001)) < size(found)
    limit = fischer().branch_scale_limit("1e-8", **small)
    assert limit.final_kernel == pytest.approx(fischer().branch_scale_limit("1e-3", **small).final_kernel, rel=1e-12)
    assert 0.3 < limit.final_kernel < 0.31
    steep = fischer().branch_scale(10, "0.05", C_W="1e10", C_b="1e9")  # below all scales that are tried first
    assert steep == pytest.approx(1e-5 * fischer().branch_scale(10, "0.05", C_W=1, C_b="0.1"), rel=1e-2)


def test_kernels_far_from_the_usual_ones():
    scale = fischer().branch_scale_for("1e6", 10, "0.05", **FISCHER)
    assert float(fischer().kernels(10, "0.05", xi=scale, **FISCHER)[-1]) == pytest.approx(1e6, rel=1e-12)


@pytest.mark.exhaustive
def test_parts_of_a_formula_that_overflow():
    """The slope of mish has exp(z)/(1 + exp(z)), of which both are infinite in double precision from z = 710 on."""
    mish = derived(sr.residual(sr.activation("z*tanh(log(1+exp(z)))"), gamma=1, xi=sr.xi))
    readout = derived(sr.mlp("tanh"))
    found = mish.branch_scale(5, "0.05", readout=readout, **FISCHER)
    assert found == pytest.approx(1.00340802779718, rel=1e-12)  # by the exported code, whose functions are others

    def slope(scale, e=1e-3):
        own = {**FISCHER, "readout": readout}
        above, below = (np.log(mish.response(5, "0.05", xi=scale * (1 + s * e), **own).chi_out) for s in (1, -1))
        return (above - below) / (2 * e)

    assert slope(found * 0.99) > 0 > slope(found * 1.01)
    assert mish.response(1, 4000, xi="0.5", **FISCHER).chi[1] == pytest.approx(
        float(mish.chi_parallel.evalf(K=4000, xi="0.5", C_W="1.25")), rel=1e-13
    )


def test_the_readout_is_asked_for():
    block = derived(sr.Layer(sr.z + sr.xi * sr.Dense(sr.z)))
    with pytest.raises(sr.DeclarationError, match="readout"):
        block.response(2, 1, C_W=1, C_b=0, xi=1)
    found = block.response(2, 1, readout=sr.derive(sr.Layer(sr.Dense(sr.z))), C_W=1, C_b=0, xi=1)
    assert found.chi_out == pytest.approx(4)


@pytest.mark.exhaustive
def test_the_readout_may_have_parameters_of_its_own():
    elu = derived(sr.mlp("elu"))
    with pytest.raises(sr.DeclarationError, match="alpha of the readout: it has no value"):
        fischer().branch_scale_limit("0.05", readout=elu, **FISCHER)
    a = sp.Symbol("a", positive=True)
    steep = derived(sr.mlp(sr.Activation("steep", sp.erf(a * sr.z), (a,))))
    found = fischer().branch_scale(10, "0.05", readout=steep, a=1, **FISCHER)
    assert found == pytest.approx(fischer().branch_scale(10, "0.05", **FISCHER), rel=1e-12)


# ---- what is refused ---------------------------------------------------------------------------------------------
METHODS = {
    "response": lambda K: fischer().response(2, K, xi=1, **FISCHER),
    "vertex": lambda K: fischer().vertex(2, K, xi=1, **FISCHER),
    "kernel_fluctuation": lambda K: fischer().kernel_fluctuation(2, K, xi=1, **FISCHER),
    "branch_scale": lambda K: fischer().branch_scale(2, K, **FISCHER),
    "branch_scale_limit": lambda K: fischer().branch_scale_limit(K, **FISCHER),
    "branch_scale_for": lambda K: fischer().branch_scale_for(1, 2, K, **FISCHER),
    "a kernel to reach": lambda K: fischer().branch_scale_for(K, 2, 1, **FISCHER),
    "branch_scale_estimate": lambda K: fischer().branch_scale_estimate(1, 2, K, **FISCHER),
}
NO_KERNELS = {
    "zero": (0, "kernel (K|final_kernel) = 0 of an input: an input of kernel 0 is zero; pass (K|final_kernel) > 0"),
    "negative": (-1, "= -1 of an input: it is negative"),
    "nan": (float("nan"), "'nan' is not a finite real number"),
    "too small": ("1e-310", "out of range"),
    "a vector": (np.array([1.0, 2.0]), r"= \[1\.0, 2\.0\]: it is neither a number nor a square matrix"),
    "an array": (np.ones((2, 2, 2)), "neither a number nor a square matrix"),
    "nothing": ([], "neither a number nor a square matrix"),
    "a row": ([[1, 2]], "neither a number nor a square matrix"),
    "an input that vanishes": ([[1, 0], [0, 0]], r"(K|final_kernel)\[1\]\[1\] = 0 of an input"),
    "not symmetric": ([[1, 0.5], [0.4, 1]], "symmetric"),
    "indefinite": ([[1, 2], [2, 1]], "eigenvalue -1"),
    "equal inputs": ([[2, 2], [2, 2]], "inputs 0 and 1"),
    "opposite inputs": ([[1, -2], [-2, 4]], "are parallel"),
}


@pytest.mark.parametrize("what", NO_KERNELS)
@pytest.mark.parametrize("method", METHODS)
def test_what_is_no_kernel_is_refused_alike(method, what):
    given, said = NO_KERNELS[what]
    with pytest.raises(sr.DeclarationError, match=said):
        METHODS[method](given)


def test_kernels_in_other_shapes():
    whole = fischer().response(2, PAIR, xi=1, **FISCHER).chi_out
    assert (fischer().response(2, np.array(PAIR, dtype=float), xi=1, **FISCHER).chi_out == whole).all()
    assert fischer().response(2, [["0.05"]], xi=1, **FISCHER).chi == fischer().response(2, "0.05", xi=1, **FISCHER).chi
    with pytest.raises(sr.DeclarationError, match="it is a matrix of 2 inputs"):
        fischer().branch_scale_limit(PAIR, **FISCHER)


def test_networks_of_no_layer_know_their_parameters():
    theory = derived(sr.residual("erf"))
    assert theory.vertex(0, 1, gamma=1, C_W=2, C_b=0) == [0.0]
    assert theory.network(0).kernels(2, gamma=1, C_W=2, C_b=0) == [2]
    found = theory.response(0, "0.3", gamma="0.5", C_W="1.2", C_b=0)
    assert (found.eta, found.chi) == ([1.0], [1.0])
    assert found.chi_out == pytest.approx(
        float(derived(sr.mlp("erf")).chi_parallel.evalf(K="0.3", C_W="1.2")), rel=1e-14
    )


def test_lists_have_a_number_for_each_layer_of_the_network():
    found = fischer().response(3, 1, C_W=np.array([1.0, 2.0, 3.0]), C_b=0, xi=1)
    assert found.chi_out == fischer().response(3, 1, C_W=[1, 2, 3], C_b=0, xi=1).chi_out
    three = fischer().response(3, 1, C_W=[1, 2, 4], C_b=0, xi=1)
    assert three.chi_out / found.chi_out != pytest.approx(three.chi[-1] / found.chi[-1], rel=1e-3)  # the readout's too


def test_the_numbers_are_explained():
    one, two = (str(fischer().response(2, K, xi=1, **FISCHER)) for K in (1, [[1, "0.5"], ["0.5", 1]]))
    for text in (one, two):
        for said in ("of what the last layer adds", "of the stream", "of the output"):
            assert said in text
    assert "K11, K12, K22" in two and "K11" not in one


def test_where_numbers_end():
    def function(x):
        if x > 1e4:
            raise sr.NoClosedForm("a value", "it overflows", "stop")
        return 1.0

    assert np.isnan(or_ended(function, np.nan)(1e5))
    assert or_ended(function, np.nan)(1e3) == 1.0
    (kept, ended) = rows_of(lambda x: (function(x), 2.0))([1.0, 1e5])
    assert kept == (1.0, 1.0, 2.0)
    assert np.isnan(ended[1:]).all()
    with pytest.raises(sr.NoClosedForm, match=r"it is not finite between 0\.1 and 10"):
        scanned(lambda x: float("nan"), [0.1, 1.0, 10.0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name, slope", [("erf", 1 / sp.pi), ("tanh", 1 / sp.sqrt(2 * sp.pi))])
def test_kernels_that_grow(name, slope):
    """K grows by xi^2 (C_W + C_b) a layer, and d<phi^2>/dK = slope*K^(-3/2)."""
    theory = sr.derive(sr.residual(name, gamma=1, xi=sr.xi))
    found = theory.response_decay
    assert (found.exponent, found.order) == (sp.Rational(3, 2), sp.Rational(3, 2))
    numbers = {sr.C_W: sp.Rational(6, 5), sr.C_b: sp.Rational(1, 5), sr.xi: sp.Rational(1, 2)}
    expected = slope * numbers[sr.C_W] / (numbers[sr.xi] * (sp.Rational(7, 5)) ** sp.Rational(3, 2))
    assert abs(float(found.ratio.subs(numbers) / expected) - 1) < 1e-14
    scaled = []
    for depth in (500, 2000):
        deep = theory.response(depth, 1, **{s.name: value for s, value in numbers.items()})
        scaled.append(deep.eta[depth] / deep.chi[depth] * depth**1.5)
    assert abs((2 * scaled[1] - scaled[0]) / float(expected) - 1) < 0.01  # corrections fall like the root of the depth


@pytest.mark.exhaustive
def test_kernels_that_flow_to_zero():
    found = sr.derive(sr.residual("tanh")).response_decay
    assert (found.exponent, found.ratio) == (2, 1 - sr.gamma**2)
    deep = sr.derive(sr.residual("tanh")).response(1000, 1, gamma=0.5, C_W=0.75, C_b=0)
    assert abs(deep.chi[1000] / deep.chi[500] * 4 - 1) < 0.02
    assert abs(deep.eta[1000] / deep.chi[1000] / 0.75 - 1) < 0.001
