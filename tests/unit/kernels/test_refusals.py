"""What kernels of networks are not made of, or of: each door names it in its error, and writes nothing."""

import math

import numpy as np
import pandas as pd
import pytest
import sympy as sp
import torch
import zarr
from gpytorch.constraints import Interval, LessThan, Positive
from gpytorch.priors import GammaPrior

import symres as sr
from symres.kernels import ZonalKernel, kernel_arguments, matrix, predict
from symres.kernels import gpytorch as for_gpytorch
from symres.kernels import sklearn as for_sklearn

SIZE = 83
BETA = sp.Symbol("beta", nonpositive=True)
NETWORK = sr.network([sr.Layer(sr.Dense(sr.z)), "relu", "relu"])
MODULE, OTHER = sr.export(NETWORK), sr.export(sr.network(["relu"]))
DECLINING = sr.activation(BETA * sr.z + sp.erf(sr.z), beta=BETA)
BELOW = {"network": DECLINING, "parameters": {"beta": -1}}
FIXED = {"network": DECLINING, "parameters_bounds": {"beta": "fixed"}}
X = np.random.default_rng(5).standard_normal((SIZE, 6))
HOLES = X.copy()
HOLES[41, 2], HOLES[50, 0] = np.inf, np.nan
_MEMORY = zarr.storage.MemoryStore()
zarr.create_array(_MEMORY, shape=(SIZE, SIZE), dtype="f8")
READ_ONLY = zarr.open_array(_MEMORY.with_read_only(True), mode="r")


def given(usual, change):
    """The usual arguments with others in their place; None leaves one out."""
    return {name: value for name, value in (usual | change).items() if value is not None}


def of_matrix(**change):
    return matrix(**given({"module": MODULE, "X": X, "C_W": 1.9, "C_b": 0.1}, change))


def of_file(**change):
    """With the place that a refusal must leave empty."""
    return of_matrix(out="out.npy", **change)


def of_sklearn(rows=X, **change):
    return for_sklearn.NeuralKernel(**given({"network": "relu", "depth": 1}, change))(rows, eval_gradient=True)


def of_gpytorch(**change):
    return for_gpytorch.NeuralKernel(**given({"network": "relu", "depth": 1}, change))


def of_table(rows=None, **change):
    kernel = ZonalKernel(OTHER, **given({"C_W": 2, "C_b": 0}, change))
    return kernel if rows is None else kernel.matrix(rows)


def of_predictions(**change):
    """Predictions from the kernels of five inputs and of three more."""
    pairs = ((X[:5],), (X[5:8], X[:5]), (X[5:8],))
    train, cross, test = (OTHER.load().dual_kernel_matrix(*rows, C_W=1.7, C_b=0.2) for rows in pairs)
    usual = {"kernel_train_train": train, "kernel_test_train": cross, "kernel_test_test": test, "y_train": np.ones(5)}
    return predict(**usual | {name: f(usual) if callable(f) else f for name, f in change.items()})


MATRICES = [
    (of_matrix, {"C_W": None}, "no value was passed for C_W"),
    (of_matrix, {"alpha": 1}, "no parameter alpha; pass numbers for C_W, C_b"),
    (of_matrix, {"kernel": "ntk"}, "nngp, tangent"),
    (of_matrix, {"X": [[1, 2]]}, "it is a list"),
    (of_matrix, {"X": np.ones(3)}, r"its shape is \(3,\)"),
    (of_matrix, {"X2": np.ones((3, 2))}, "6 features, X2 2"),
    (of_matrix, {"chunks": (2, 3)}, "do not tile"),
    (of_matrix, {"chunks": 0}, "whole number"),
    (of_matrix, {"dtype": "int32"}, "float64 or float32"),
    (of_matrix, {"out": "a.csv"}, r"\.npy or \.zarr"),
    (of_matrix, {"out": "nowhere/a.npy"}, "no folder nowhere"),
    (of_matrix, {"out": np.empty((2, 2))}, r"the shape \(2, 2\)"),
    (of_matrix, {"out": np.empty((SIZE, SIZE), int)}, "out is of type int64; pass an array of float64 or float32"),
    (of_matrix, {"out": np.empty((SIZE, SIZE), bool)}, "out is of type bool"),
    (of_matrix, {"out": np.empty((SIZE, SIZE), complex)}, "out is of type complex128"),
    (of_matrix, {"out": np.empty((SIZE, SIZE), "float16")}, "out is of type float16"),  # whose largest number is 65504
    (of_matrix, {"out": np.empty((SIZE, SIZE), object)}, "out is of type object"),
    (of_matrix, {"out": torch.empty((SIZE, SIZE))}, "out is of type torch.float32"),
    (of_matrix, {"out": [[0.0]]}, "out is a list"),
    (of_matrix, {"out": np.broadcast_to(0.0, (SIZE, SIZE))}, "blocks cannot be written to out .*read-only"),
    (of_matrix, {"out": pd.DataFrame(np.zeros((SIZE, SIZE)))}, "blocks cannot be written to out"),
    (of_matrix, {"out": READ_ONLY}, "blocks cannot be written to out .*read-only"),
    (of_matrix, {"out": "a\0b.npy"}, "null (byte|character in path); choose another path"),
    (of_matrix, {"out": "a" * 300 + ".npy"}, "too long; choose another path"),
    (of_matrix, {"out": "a" * 245 + ".zarr"}, "too long; choose another path"),  # its journal
    (of_matrix, {"C_W": [2] * 5}, "C_W has 5 values, but the network has . layers; pass one number for each parameter"),
    (of_matrix, {"module": 3}, "not a generated module"),
    (of_matrix, {"module": sr.export(sr.expect("relu"))}, "no function dual_kernel_matrix"),
    (of_matrix, {"module": OTHER.load()}, "does not keep its text"),
    (of_file, {"C_W": -2}, "C_W = -2: it is negative; pass C_W >= 0"),
    (of_file, {"C_W": [1, 1, 1], "C_b": [0, -0.1, 0]}, "it is negative; pass C_b >= 0"),
    (of_file, {"C_w": 2, "C_W": None}, "it has no parameter C_w and no value was passed for C_W"),
    (of_file, {"C_b": math.nan}, "not a finite real number"),
    (of_matrix, {"X": HOLES}, "row 41 has a feature"),
    (of_matrix, {"X": X + 0j}, "they are complex"),
    (of_matrix, {"X": X[:0]}, r"it is empty, its shape is \(0, 6\)"),
    (of_matrix, {"X": X[:, :0]}, r"they have no features, its shape is \(83, 0\)"),
    (of_matrix, {"X": torch.from_numpy(HOLES)}, "row 41 has a feature"),
    (of_matrix, {"X": torch.from_numpy(X + 0j)}, "they are complex"),
    (of_matrix, {"X": torch.from_numpy(X[:0])}, r"it is empty, its shape is \(0, 6\)"),
]
CLASSES = [
    (of_sklearn, {"depth": None}, "the depth is missing"),
    (of_sklearn, {"network": sr.network(["relu"])}, "a network of 1 layers has a depth already"),
    (of_sklearn, {"network": 3}, "it is not a network; pass a network, a layer, an activation or its name"),
    (of_sklearn, {"kernel": "ntk"}, "nngp, tangent"),
    (of_sklearn, {"C_b": 0}, "it has no logarithm"),
    (of_sklearn, {"C_W_bounds": (0, 1)}, "not positive numbers"),
    (of_sklearn, {"C_W_bounds": ("low", "high")}, "not positive numbers"),
    (of_sklearn, {"C_W_bounds": "free"}, 'not a pair; pass a pair, or "fixed"'),
    (of_sklearn, {"parameters": {"alpha": 1}}, "no parameter alpha"),
    (of_sklearn, {"C_W": -1}, "C_W = -1: it is negative; pass C_W >= 0"),
    (of_sklearn, {"C_b": [0.1, -0.2], "C_b_bounds": "fixed"}, "it is negative; pass C_b >= 0"),
    (of_sklearn, {"C_W": [1, 2, 3]}, "3 values, and the network has 2 layers"),
    (of_sklearn, FIXED | {"parameters": {"beta": 1}}, "beta = 1: it is positive; pass beta <= 0"),
    (of_sklearn, FIXED | {"parameters": {"beta": [-1, 1]}}, "beta = 1: it is positive"),
    (of_sklearn, {"rows": HOLES}, "row 41 "),
    (of_sklearn, {"rows": X + 1j}, "complex"),
    (of_sklearn, {"rows": X[:0]}, "it is empty"),
    (of_sklearn, {"input_variances": [1.0, 0.5]}, "2 input variances for 6 features"),
    (of_sklearn, {"input_variances": [-1] * 6, "input_variances_bounds": "fixed"}, "not negative"),
    (of_gpytorch, {"C_W": -1}, "C_W = -1: it is negative"),
    (of_gpytorch, {"constraints": {"C_b": Interval(-2, 2)}}, "constraint of C_b at"),
    (of_gpytorch, {"constraints": {"C_b": LessThan(3.0)}}, "constraint of C_b at"),
    (of_gpytorch, {"constraints": {"alpha": Positive()}}, "lacks this parameter"),
    (of_gpytorch, {"priors": {"alpha": GammaPrior(2.0, 1.0)}}, "a prior of alpha: the network lacks this parameter"),
    (of_gpytorch, BELOW | {"constraints": {"beta": Interval(-1, 3)}}, "a constraint of beta at beta = 3"),
    (of_gpytorch, {"constraints": {"input_variances": Positive()}}, "constraint of input_variances"),
    (of_gpytorch, {"input_variances": [1, 2], "ard_num_dims": 3}, "2 input variances, ard_num_dims=3"),
    (of_table, {"C_b": None}, "no value was passed for C_b"),
    (of_table, {"K": 0}, "inputs of kernel 0 have no angle"),
    (of_table, {"tolerance": 1e-18}, "131072 pieces leave an error"),
    (of_table, {"rows": [[1.0, 0.0], [0.0, 2.0]]}, r"go from 0\.5 to 2"),
    (of_table, {"rows": [[0.0, 0.0], [0.0, 2.0]]}, "one norm"),
    (of_table, {"rows": [[2.0, 0.0], [0.0, 2.0]]}, r"the rows is 2; make the table with K=2, or scale the rows"),
    (ZonalKernel, {"module": 3, "C_W": 2, "C_b": 0}, "it is not a generated module"),
]
PREDICTIONS = [
    (of_predictions, {"kernel_train_train": lambda a: a["kernel_train_train"][0]}, "not a pair"),
    (of_predictions, {"kernel_test_train": lambda a: a["kernel_train_train"]}, "its shape is"),
    (of_predictions, {"y_train": np.ones(2)}, "y_train"),
    (of_predictions, {"y_train": np.ones((5, 0))}, r"its shape is \(5, 0\); pass \(N,\) or \(N, outputs\)"),
    (of_predictions, {"y_train": torch.zeros(5)}, "numpy and torch"),
    (of_predictions, {"ridge": -1}, "negative"),
    (of_predictions, {"learning_rate": 0}, "not positive"),
]


@pytest.mark.parametrize(("door", "arguments", "message"), MATRICES + CLASSES + PREDICTIONS)
def test_what_is_refused_is_named_and_nothing_is_written(door, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kernel_arguments, "PART", 12)  # two rows at a time
    with pytest.raises(sr.DeclarationError, match=message):
        door(**arguments)
    assert not list(tmp_path.iterdir())


def test_made_kernels_refuse_other_numbers_and_inputs():
    kernel = for_gpytorch.NeuralKernel("relu", 1)
    with pytest.raises(sr.DeclarationError, match="constraint"):
        kernel.C_W = -1.0
    with pytest.raises(sr.DeclarationError, match="pass ard_num_dims"):
        kernel.input_variances  # noqa: B018
    with pytest.raises(sr.DeclarationError, match="all features together"):
        kernel.forward(torch.ones(2, 6), torch.ones(2, 6), last_dim_is_batch=True)
    with pytest.raises(sr.DeclarationError, match="X has 6 features, Y 2"):
        for_sklearn.NeuralKernel("relu", 1)(X, X[:, :2])
    with pytest.raises(sr.DeclarationError, match="exists for one set of inputs, not two; pass X alone"):
        for_sklearn.NeuralKernel("relu", 1)(X, X, eval_gradient=True)
    with pytest.raises(sr.DeclarationError, match=r"3 hyperparameters of .*: it has 2 free ones"):
        for_sklearn.NeuralKernel("relu", 1).theta = np.zeros(3)
    with pytest.raises(sr.DeclarationError, match="lacks this parameter; set one of C_W, C_b"):
        kernel.set_values(alpha=1.0)
    for use in (for_sklearn.NeuralKernel("relu", 1, C_W=-1).diag, for_sklearn.NeuralKernel("relu", 1, C_W=-1)):
        with pytest.raises(sr.DeclarationError, match="C_W = -1: it is negative"):
            use(X)


@pytest.mark.parametrize("t", [-1, math.nan])
def test_there_is_no_time_before_the_start(t):
    with pytest.raises(sr.DeclarationError, match="training begins at 0"):
        of_predictions().gradient_descent(t)


def test_a_table_has_no_values_beyond_its_angles():
    found = of_table()(np.array([1.0 + 1e-14, 1.0 + 1e-12, -1.5, np.nan]))
    assert all(np.isnan(values).tolist() == [False, True, True, True] for values in found)
    assert np.isfinite(of_table()(np.float32([1.0 + 2e-6]))).all() and np.isfinite(of_table()(np.array([1, 0]))).all()
    with pytest.raises(TypeError, match="real numbers"):
        of_table()(0.5 + 0.1j)
