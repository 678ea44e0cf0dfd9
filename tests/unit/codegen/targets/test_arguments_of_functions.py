"""Arguments of generated functions in every language: parameters by name, and what no input has is nan or refused.

Kernels below 0, covariances beyond sqrt(K1*K2), complex numbers.
"""

import importlib.util
import math
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
from scipy import special

import symres as sr
from tests.languages import ALL, SLOW, lanes, language
from tests.oracles.average import average_of_pair
from tests.shared import Lazily, derived

slope = sp.Symbol("slope", positive=True)
BENT = sr.Activation("bent", slope * sp.erf(sr.z), parameters=(slope,))
OWN = {"C_W": 1.3, "C_b": 0.2}


@pytest.fixture(scope="module")
def networks():
    theory = sr.derive(sr.mlp(BENT))
    return Lazily(lambda target: sr.export(theory.network(2), target).load())


@pytest.mark.parametrize("target", ALL)
def test_parameters_of_an_activation_are_passed_by_their_names(target):
    function = sr.export(sr.derive(sr.mlp(BENT)).kernel_map, target).load().kernel_map
    exact = 0.2 + 1.3 * 0.7**2 * 2 / np.pi * np.arcsin(2 * 0.5 / (1 + 2 * 0.5))  # Williams, 1997
    assert float(function(0.5, slope=0.7, **OWN)) == pytest.approx(exact, rel=1e-6 if target == "jax" else 1e-14)
    assert float(function(0.5, 1.3, 0.2, 0.7)) == float(function(0.5, slope=0.7, **OWN))


@pytest.mark.parametrize("target", lanes(*ALL, slow=("numba", "jax")))
def test_what_has_no_influence_may_be_left_out(target):
    theory = sr.derive("(z + Dense(erf(z)))/sqrt(2)")
    names = ("chi_perp", "chi_parallel", "h", "kernel_map")
    module = sr.export({name: getattr(theory, name) for name in names}, target).load()
    tolerance = 1e-5 if target == "jax" else 1e-13
    for name in names[:3]:
        exact = float(getattr(theory, name).evalf(K=0.7, C_W=1.5))
        for found in (getattr(module, name)(0.7, 1.5), getattr(module, name)(0.7, 1.5, C_b=0.3)):
            assert float(found) == pytest.approx(exact, rel=tolerance)
    with pytest.raises(TypeError, match="C_b"):
        module.kernel_map(0.7, 1.5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", [name for name in ALL if name != "numpy"])
def test_networks_take_them_too(networks, target):
    found, expected = (networks[name].dual_kernel(1.0, 0.8, 0.3, slope=0.7, **OWN) for name in (target, "numpy"))
    tolerance = 1e-5 if target == "jax" else 1e-14
    np.testing.assert_allclose([float(a) for a in found], [float(a) for a in expected], rtol=tolerance)


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", lanes("numpy", "torch", "numba", "c"))
def test_inputs_of_networks_are_rows_of_matrices(networks, target):
    function = networks[target].dual_kernel_matrix
    for shapes in (((3,),), ((2, 3), (2, 4)), ((2, 0),)):
        with pytest.raises(ValueError, match="inputs are matrices with equally many columns"):
            function(*(language(target).array(np.ones(shape)) for shape in shapes), slope=0.7, **OWN)
    whole = np.array([[1, 2, 0], [0, 1, 1]])
    for found, expected in zip(
        function(language(target).array(whole, None), slope=0.7, **OWN),
        function(language(target).array(whole), slope=0.7, **OWN),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("target", lanes("numba", "c"))
def test_compiled_functions_write_to_no_array_that_is_read_only_and_drop_no_imaginary_part(target):
    function = sr.export(sr.expect2("erf", "erf"), target).load().expect2
    out = np.zeros(3)
    out.setflags(write=False)
    with pytest.raises(ValueError, match="out is read-only"):
        function(1.0, 1.0, np.full(3, 0.2), out=out)
    assert not out.any()
    with pytest.raises(TypeError, match="complex"):
        function(1.0, 1.0, 0.2 + 0.1j)


@pytest.mark.exhaustive
def test_compiled_code_that_numba_keeps_is_found_again_whatever_a_file_was_loaded_as(tmp_path):
    sr.export(sr.derive(sr.mlp("erf")).covariance_map, "numba").write(tmp_path / "kept.py")
    spec = importlib.util.spec_from_file_location("kept", tmp_path / "kept.py")
    module = importlib.util.module_from_spec(spec)  # nowhere in sys.modules
    spec.loader.exec_module(module)
    call = "covariance_map(1.0, 1.0, 0.5, 1.5, 0.1)"
    expected = eval(f"module.{call}")
    command = [sys.executable, "-c", f"import kept; print(repr(float(kept.{call})))"]
    for _ in range(2):  # compiled, and from the disk
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert float(done.stdout) == float(expected)


TARGETS = lanes(*ALL)
WITHOUT = {slow: lanes(*ALL, slow=(*SLOW, slow)) for slow in ("c", "jax")}  # slow to compile for many functions
# constant slopes, a closed form, exponentials, a jump, a polynomial, averages as series
FORMULAS = [
    "relu",
    "sin",
    *(pytest.param(f, marks=pytest.mark.exhaustive) for f in ("gelu", "step", "z", "z^2", "tanh")),
]
WEIGHTS = {"C_W": 2.0, "C_b": 0.1}
VALUES = {**WEIGHTS, "Theta": 0.3}
NOT_COMPLEX = r"real numbers, not .*complex"
SINGLE = [{"K": -1.0}, {"K": math.nan}]
PAIRS = [
    {"K1": -1.0, "K2": 1.0, "C": 0.5},
    {"K1": 1.0, "K2": -1.0, "C": 0.5},
    {"K1": -1.0, "K2": -1.0, "C": 0.5},
    {"K1": math.nan, "K2": 1.0, "C": 0.5},
    {"K1": 1.0, "K2": math.nan, "C": 0.5},
    {"K1": 1.0, "K2": 1.0, "C": math.nan},
    {"K1": 1.0, "K2": 1.0, "C": 1.5},
    {"K1": 1.0, "K2": 1.0, "C": -1.5},
    {"K1": 1e-3, "K2": 2.0, "C": 0.1},
    {"K1": 0.0, "K2": 1.0, "C": 0.1},
    {"K1": 0.0, "K2": 0.0, "C": 0.1},
    {"K1": 1.0, "K2": 1.0, "C": 1.0 + 80 * 2.0**-23},  # beyond in float32 too
]


def functions_of(formula):
    """The quantities of a layer that are exported, by name, with the tangent kernel's map."""
    theory = derived(formula)
    names = ("kernel_map", "covariance_map", "chi_parallel", "chi_perp", "h", "ntk_map", "phi_squared")
    found = {name: getattr(theory, name) for name in names if not (formula == "step" and name in ("h", "ntk_map"))}
    return {**found, "average": sr.expect2(formula, formula)}


MODULES = Lazily(lambda key: sr.export(functions_of(key[0]), target=key[1]).load())
NETWORKS = Lazily(lambda target: sr.export(derived("relu").network(2), target=target).load())


def as_input(target, value):
    return language(target).array(value, None)


def called(formula, target):
    """(name, whether it is of two inputs, the function with its parameters)."""
    module = MODULES[formula, target]
    for name, quantity in functions_of(formula).items():
        known = {str(s) for s in (*quantity.symbols, *quantity.unused)}
        own = {k: v for k, v in VALUES.items() if k in known}
        yield name, "C" in known, lambda name=name, own=own, **given: getattr(module, name)(**{**own, **given})


@pytest.mark.sample(1, every="target")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("formula", FORMULAS)
def test_the_value_is_nan_for_kernels_and_covariances_that_no_inputs_have(formula, target):
    for name, is_pair, function in called(formula, target):
        for row in PAIRS if is_pair else SINGLE:
            assert math.isnan(float(function(**row))), (name, row)
            beside = {k: as_input(target, np.array([v, 0.5 if k == "C" else 1.0])) for k, v in row.items()}
            found = np.asarray(function(**beside))
            assert np.isnan(found).tolist() == [True, False], (name, row)
            if is_pair:
                K1, K2, C = (row[k] for k in ("K1", "K2", "C"))
                matrix = {"K1": [[K1], [1.0]], "K2": [[K2, 1.0]], "C": [[C, 0.0], [0.0, 0.5]]}
                found = np.asarray(function(**{k: as_input(target, np.array(v)) for k, v in matrix.items()}))
                assert math.isnan(found[0, 0]) and not math.isnan(found[1, 1]), (name, row)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("formula", FORMULAS)
def test_no_imaginary_part_is_dropped(formula, target):
    for name, is_pair, function in called(formula, target):
        row = {"K1": 1.0, "K2": 1.0, "C": 0.5} if is_pair else {"K": 1.0}
        for place in row:
            for value in (row[place] + 0.1j, np.array([row[place] + 0.1j])):
                with pytest.raises(TypeError, match=NOT_COMPLEX):
                    function(**{**row, place: as_input(target, value)})
        if name == "covariance_map":
            with pytest.raises(TypeError, match=NOT_COMPLEX):
                function(**row, C_W=np.array([2.0 + 1.0j]))


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("formula", FORMULAS)
def test_what_rounding_brings_above_the_root_of_both_kernels_counts_as_equal(formula, target):
    for name, is_pair, function in called(formula, target):
        if not is_pair:
            continue
        for kind in (np.float32, np.float64)[: 1 if target == "jax" else 2]:
            unit = np.finfo(kind).eps
            largest = 12.0 if (formula, target) == ("tanh", "jax") else 20.0  # that series states its end at 13
            for K in map(kind, (1.0, 0.7, largest)):
                K1, equal = (as_input(target, np.array([K])) for _ in range(2))
                exact = np.asarray(function(K1=K1, K2=K1, C=equal))[0]
                for excess in (4, 40):
                    C = as_input(target, np.array([kind(K * (1 + excess * unit))]))
                    found = np.asarray(function(K1=K1, K2=K1, C=C))[0]
                    assert abs(found - exact) <= 200 * unit * abs(exact), (name, kind, K, excess)
                C = as_input(target, np.array([kind(K * (1 + 80 * unit))]))
                assert np.isnan(np.asarray(function(K1=K1, K2=K1, C=C))[0]), (name, kind, K)


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", WITHOUT["c"])
def test_the_values_of_a_possible_pair_are_those_of_quadrature(target):
    """Those of gelu at K1 = K2 = 1 and C = 1, 1/2 and -1."""
    function, gelu = MODULES["gelu", target].covariance_map, lambda z: z * special.ndtr(z)
    for c in (1.0, 0.5, -1.0):
        exact = 0.1 + 2 * average_of_pair(gelu, gelu, 1.0, 1.0, c)
        assert float(function(1.0, 1.0, c, 2.0, 0.1)) == pytest.approx(exact, rel=1e-6 if target == "jax" else 1e-11)


@pytest.mark.parametrize("target", TARGETS)
def test_batches_whose_inputs_have_one_kernel(target):
    theory = derived(sr.batch_norm("erf"))
    quantities = {name: getattr(theory, name) for name in ("covariance_map", "kernel_map", "chi_perp")}
    module = sr.export(quantities, target=target).load()
    for name in quantities:
        function = getattr(module, name)
        for K, C in ((-1.0, 0.5), (math.nan, 0.5), (1.0, math.nan), (1.0, 1.5), (1.0, -1.5)):
            assert math.isnan(float(function(K, C, 2.0, 0.1))), (name, K, C)
        assert math.isfinite(float(function(1.0, 0.5, 2.0, 0.1)))
        with pytest.raises(TypeError, match=NOT_COMPLEX):
            function(1.0, as_input(target, np.array([0.5 + 0.1j])), 2.0, 0.1)


# ---- networks ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", WITHOUT["jax"])
def test_networks_return_nan_for_them(target):
    function = NETWORKS[target].dual_kernel
    for row in PAIRS:
        assert all(math.isnan(float(a)) for a in function(*row.values(), **WEIGHTS)), row
        pairs = [as_input(target, np.array([v, w])) for v, w in zip(row.values(), (1.0, 1.0, 0.5), strict=True)]
        assert all(np.isnan(np.asarray(a)).tolist() == [True, False] for a in function(*pairs, **WEIGHTS))
    for place in range(3):
        given = [1.0, 1.0, 0.5]
        given[place] = as_input(target, np.array([given[place] + 0.1j]))
        with pytest.raises(TypeError, match=NOT_COMPLEX):
            function(*given, **WEIGHTS)


@pytest.mark.parametrize("target", WITHOUT["jax"])
def test_matrices_of_duplicated_rows_in_float32_have_no_nan(target):
    """BLAS sums the products of equal and of parallel rows in another order than their own kernels are summed in."""
    rng = np.random.default_rng(5)
    module = NETWORKS[target]
    for columns in (3, 17, 1000):
        X = rng.standard_normal((12, columns)).astype(np.float32)
        X = np.concatenate([X, X[::-1], -X, 3 * X, 0 * X[:1]])
        given = as_input(target, X)
        for found in (
            module.dual_kernel_matrix(given, **WEIGHTS),
            module.dual_kernel_matrix(given, given, **WEIGHTS),
        ):
            for matrix in map(np.asarray, found):
                assert np.isfinite(matrix).all()
                np.testing.assert_allclose(matrix[:12, :12], matrix[12:24, 12:24][::-1, ::-1], rtol=1e-4)
        K = (X.astype(np.float64) ** 2).mean(1).astype(np.float32)
        C = (X @ X.T / np.float32(columns)).astype(np.float32)
        C *= np.float32(1 + 4 * 2.0**-23)  # as duplicates exceed it
        arrays = [as_input(target, a) for a in (K[:, None], K[None, :], C)]
        if columns < 100:  # else BLAS itself rounds more than 64 ulp away
            assert all(np.isfinite(np.asarray(a)).all() for a in module.dual_kernel(*arrays, **WEIGHTS))
            assert np.isfinite(np.asarray(MODULES["relu", target].covariance_map(*arrays, **WEIGHTS))).all()
    with pytest.raises(TypeError, match=NOT_COMPLEX):
        module.dual_kernel_matrix(as_input(target, X + 0.1j), **WEIGHTS)


@pytest.mark.parametrize("target", ["numpy", "torch", "c", "jax"])
def test_docstrings_say_what_is_done(target):
    text = " ".join(sr.export(derived("relu").covariance_map, target=target).text.split())
    assert "an excess of 64 ulp counts as equality, more gives nan" in text
    assert "K1 >= 0, else nan" in text
