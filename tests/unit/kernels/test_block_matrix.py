"""Kernel matrices block by block: the same numbers in every way, also after a kill."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import zarr

import symres as sr
from symres.kernels import given_numbers, matrix

VALUES = {"C_W": 1.9, "C_b": 0.1}
SIZE, CHUNK = 83, 20  # the last block of a row is smaller


@pytest.fixture(scope="module")
def exported():
    return sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "relu", "relu"]))


@pytest.fixture(scope="module")
def inputs():
    X = np.random.default_rng(5).standard_normal((SIZE, 6))
    X[70] = X[3]  # equal inputs in different blocks
    return X


@pytest.fixture(scope="module")
def whole(exported, inputs):
    return exported.load().dual_kernel_matrix(inputs, **VALUES)


@pytest.mark.parametrize("name", [None, "out.npy", "out.zarr"])
@pytest.mark.parametrize("kernel", ["nngp", "tangent"])
def test_blocks_make_the_matrix(tmp_path, exported, inputs, whole, kernel, name):
    found = matrix(exported, inputs, kernel=kernel, chunks=CHUNK, out=name and tmp_path / name, **VALUES)
    expected = whole[kernel == "tangent"]
    assert np.allclose(found[:], expected, rtol=1e-13, atol=0)
    assert (found[:] == found[:].T).all()
    assert found[3, 70] == found[3, 3] == found[70, 70] == expected[3, 3]  # equal inputs to the last bit


def test_other_inputs_and_other_blocks(tmp_path, exported, inputs, whole):
    found = matrix(exported, inputs[:50], inputs[30:], chunks=(20, 7), out=tmp_path / "a.zarr", **VALUES)
    assert found.shape == (50, 53) and found.chunks == (20, 7)
    assert np.allclose(found[:], whole[1][:50, 30:], rtol=1e-13)


@pytest.mark.parametrize("scheduler", ["synchronous", ThreadPoolExecutor(2)], ids=["synchronous", "executor"])
def test_schedulers(exported, inputs, whole, scheduler):
    found = matrix(exported, inputs, chunks=CHUNK, scheduler=scheduler, **VALUES)
    assert np.allclose(found, whole[1], rtol=1e-13)


@pytest.mark.exhaustive
def test_processes_write_the_file_themselves(tmp_path, exported, inputs, whole):
    for out in (None, tmp_path / "a.npy", tmp_path / "a.zarr"):
        found = matrix(exported, inputs, chunks=CHUNK, scheduler="processes", out=out, **VALUES)
        assert np.allclose(found[:], whole[1], rtol=1e-13)


@pytest.mark.exhaustive
def test_a_cluster(tmp_path, exported, inputs, whole):
    distributed = pytest.importorskip("distributed", reason="the scheduler of clusters is no dependency")
    with distributed.Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        found = matrix(exported, inputs, chunks=CHUNK, scheduler=client, out=tmp_path / "a.zarr", **VALUES)
    assert np.allclose(found[:], whole[1], rtol=1e-13)


def test_an_array_is_filled_and_keeps_its_type(exported, inputs, whole):
    for out in (np.empty((SIZE, SIZE), "float32"), zarr.zeros(shape=(SIZE, SIZE), chunks=(20, 20), dtype="float32")):
        assert matrix(exported, inputs, chunks=CHUNK, out=out, **VALUES) is out
        assert np.allclose(out[:], whole[1], rtol=1e-6)
    single = matrix(exported, inputs, chunks=CHUNK, dtype="float32", **VALUES)
    assert single.dtype == np.float32 and (single == whole[1].astype(np.float32)).mean() > 0.99


def test_a_module_from_its_file_and_lists_of_parameters(tmp_path, exported, inputs):
    specification = importlib.util.spec_from_file_location("kept", exported.write(tmp_path / "kept.py"))
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    listed = {"C_W": [1.0, 2.0, "3/2"], "C_b": "1/10"}
    found = matrix(module, inputs, chunks=CHUNK, **listed)
    expected = module.dual_kernel_matrix(inputs, C_W=[1.0, 2.0, 1.5], C_b=0.1)[1]
    assert np.allclose(found, expected, rtol=1e-13)


def test_tensors_for_a_module_of_tensors(inputs, whole):
    torch = pytest.importorskip("torch")
    exported = sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "relu", "relu"]), target="torch")
    found = matrix(exported, torch.from_numpy(inputs), chunks=CHUNK, **VALUES)
    assert isinstance(found, np.ndarray) and np.allclose(found, whole[1], rtol=1e-12)


def test_progress_is_reported(exported, inputs):
    shares = []
    matrix(exported, inputs, chunks=CHUNK, batch=4, progress=lambda what, share: shares.append(share), **VALUES)
    assert shares == [4 / 15, 8 / 15, 12 / 15, 1]


class Stopped(Exception):
    """What ends a run between two batches."""


def stop_after(share):
    def report(what, done):
        if done >= share:
            raise Stopped

    return report


@pytest.mark.parametrize("name", ["out.npy", "out.zarr"])
def test_what_was_stopped_goes_on(tmp_path, exported, inputs, whole, name):
    out, journal = tmp_path / name, tmp_path / f"{name}.journal"
    given = {"chunks": CHUNK, "out": out, "batch": 3, **VALUES}
    with pytest.raises(Stopped):
        matrix(exported, inputs, progress=stop_after(0.5), **given)
    kept = [tuple(json.loads(row)) for row in journal.read_text().splitlines()[1:]]
    assert 0 < len(kept) < 15
    journal.write_text(journal.read_text() + "[4,")  # killed in the middle of a line
    shares = []
    found = matrix(exported, inputs, progress=lambda what, share: shares.append(share), **given)
    assert np.allclose(found[:], whole[1], rtol=1e-13)
    assert len(shares) == -(-(15 - len(kept)) // 3)  # what was there was not computed again
    again = matrix(exported, inputs, progress=stop_after(0), **given)  # nothing is left to do
    assert (again[:] == found[:]).all()


def test_finished_blocks_are_read_not_computed(tmp_path, exported, inputs):
    """A mark in a finished block survives: resuming does not compute it again, and resume=False does."""
    given = {"chunks": CHUNK, "out": tmp_path / "a.npy", "batch": 3, **VALUES}
    with pytest.raises(Stopped):
        matrix(exported, inputs, progress=stop_after(0.1), **given)
    np.load(tmp_path / "a.npy", mmap_mode="r+")[0, 0] = -7
    assert matrix(exported, inputs, **given)[0, 0] == -7
    assert matrix(exported, inputs, resume=False, **given)[0, 0] > 0


CHILD = """
import sys, numpy as np, symres as sr
from symres.kernels import given_numbers, matrix
exported = sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "relu", "relu"]))
X = np.load(sys.argv[1])
matrix(exported, X, chunks=20, batch=2, out=sys.argv[2], C_W=1.9, C_b=0.1)
"""


def test_a_killed_process_loses_nothing(tmp_path):
    """SIGKILL in the middle, and the file is equal to that of an uninterrupted run to the last bit."""
    X = np.random.default_rng(0).standard_normal((300, 6))
    np.save(tmp_path / "X.npy", X)
    exported = sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "relu", "relu"]))
    once = matrix(exported, X, chunks=20, out=tmp_path / "once.npy", batch=40, **VALUES)
    out, journal = tmp_path / "twice.npy", tmp_path / "twice.npy.journal"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path / "X.npy"), str(out)], env=os.environ)
    deadline = time.monotonic() + 60
    while not journal.exists() or journal.read_text().count("\n") < 20:
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert journal.read_text().count("\n") <= 120  # of 1 + 15*16/2: it was not finished
    twice = matrix(exported, X, chunks=20, batch=40, out=out, **VALUES)
    assert (twice == once).all()


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"chunks": 21}, "chunks"),
        ({"kernel": "nngp"}, "kernel"),
        ({"C_W": 2.0}, "parameters"),
        ({"dtype": "float32"}, "dtype"),
        ({"X": np.ones((SIZE, 6))}, "inputs"),
        ({"module": sr.export(sr.network(["relu"]))}, "module"),
    ],
)
def test_another_matrix_is_not_resumed(tmp_path, exported, inputs, change, differs):
    given = {"module": exported, "X": inputs, "chunks": CHUNK, "out": tmp_path / "a.npy", **VALUES}
    first = np.array(matrix(**given))
    with pytest.raises(sr.DeclarationError, match=rf"its {differs} differ; .*resume=False"):
        matrix(**(given | change))
    assert (matrix(**given) == first).all()  # nothing was touched
    assert matrix(**(given | change), resume=False)[0, 0] != -1


def test_the_file_of_somebody_else_is_kept(tmp_path, exported, inputs):
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(sr.DeclarationError, match="without a journal"):
        matrix(exported, inputs, out=tmp_path / "a.npy", **VALUES)
    assert (np.load(tmp_path / "a.npy") == np.arange(3)).all() and len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_is_told_before(tmp_path, exported, inputs, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(sr.DeclarationError, match="GB are free"):
        matrix(exported, inputs, out=tmp_path / "a.npy", **VALUES)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C_W": None}, "no value for C_W"),
        ({"alpha": 1}, "no parameter alpha"),
        ({"kernel": "ntk"}, "nngp, tangent"),
        ({"X": [[1, 2]]}, "it is a list"),
        ({"X": np.ones(3)}, r"its shape is \(3,\)"),
        ({"X2": np.ones((3, 2))}, "6 features, X2 2"),
        ({"chunks": (2, 3)}, "do not tile"),
        ({"chunks": 0}, "whole number"),
        ({"dtype": "int32"}, "float64 or float32"),
        ({"out": "a.csv"}, r"\.npy or \.zarr"),
        ({"out": "nowhere/a.npy"}, "no folder nowhere"),
        ({"out": np.empty((2, 2))}, r"the shape \(2, 2\)"),
        ({"module": 3}, "no generated module"),
        ({"module": sr.export(sr.expect("relu"))}, "no function dual_kernel_matrix"),
        ({"module": sr.export(sr.network(["relu"])).load()}, "does not know it"),
    ],
)
def test_wrong_use_is_refused(exported, inputs, change, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"module": exported, "X": inputs, **VALUES} | change
    with pytest.raises(sr.DeclarationError, match=message):
        matrix(**{name: value for name, value in given.items() if value is not None})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"C_W": -2, "C_b": 0.1}, "C_W = -2: it is negative"),
        ({"C_W": [1, 1, 1], "C_b": [0, -0.1, 0]}, "it is negative; pass C_b >= 0"),
        ({"C_w": 2, "C_b": 0.1}, "it has no parameter C_w and no value for C_W"),
    ],
)
def test_parameters_outside_of_their_domains_are_refused(tmp_path, exported, inputs, values, message):
    with pytest.raises(sr.DeclarationError, match=message):
        matrix(exported, inputs, out=tmp_path / "out.npy", **values)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_inputs_that_are_none_are_refused(exported, inputs, kind, monkeypatch):
    monkeypatch.setattr(given_numbers, "PART", 12)  # two rows at a time
    holes = inputs.copy()
    holes[41, 2], holes[50, 0] = np.inf, np.nan
    for X, message in (
        (holes, "row 41 has a feature"),
        (inputs + 0j, "they are complex"),
        (inputs[:0], r"there are none, its shape is \(0, 6\)"),
        (inputs[:, :0], r"they have no features, its shape is \(83, 0\)"),
    ):
        with pytest.raises(sr.DeclarationError, match=message):
            matrix(exported, kind(X), **VALUES)
