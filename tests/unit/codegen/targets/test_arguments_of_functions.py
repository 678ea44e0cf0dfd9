"""Arguments of generated functions in every language: parameters of one's own by name, and input that is refused."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import symres as sr
from tests.languages import ALL, lanes, language
from tests.shared import Lazily

slope = sp.Symbol("slope", positive=True)
BENT = sr.Activation("bent", slope * sp.erf(sr.z), parameters=(slope,))
WEIGHTS = {"C_W": 1.3, "C_b": 0.2}


@pytest.fixture(scope="module")
def networks():
    theory = sr.derive(sr.mlp(BENT))
    return Lazily(lambda target: sr.export(theory.network(2), target).load())


@pytest.mark.parametrize("target", ALL)
def test_parameters_of_an_activation_are_passed_by_their_names(target):
    function = sr.export(sr.derive(sr.mlp(BENT)).kernel_map, target).load().kernel_map
    exact = 0.2 + 1.3 * 0.7**2 * 2 / np.pi * np.arcsin(2 * 0.5 / (1 + 2 * 0.5))  # Williams, 1997
    assert float(function(0.5, slope=0.7, **WEIGHTS)) == pytest.approx(exact, rel=1e-6 if target == "jax" else 1e-14)
    assert float(function(0.5, 1.3, 0.2, 0.7)) == float(function(0.5, slope=0.7, **WEIGHTS))


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
    found, expected = (networks[name].dual_kernel(1.0, 0.8, 0.3, slope=0.7, **WEIGHTS) for name in (target, "numpy"))
    tolerance = 1e-5 if target == "jax" else 1e-14
    np.testing.assert_allclose([float(a) for a in found], [float(a) for a in expected], rtol=tolerance)


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", lanes("numpy", "torch", "numba", "c"))
def test_inputs_of_networks_are_rows_of_matrices(networks, target):
    function = networks[target].dual_kernel_matrix
    for shapes in (((3,),), ((2, 3), (2, 4)), ((2, 0),)):
        with pytest.raises(ValueError, match="inputs are matrices with equally many columns"):
            function(*(language(target).array(np.ones(shape)) for shape in shapes), slope=0.7, **WEIGHTS)
    whole = np.array([[1, 2, 0], [0, 1, 1]])
    for found, expected in zip(
        function(language(target).array(whole, None), slope=0.7, **WEIGHTS),
        function(language(target).array(whole), slope=0.7, **WEIGHTS),
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
