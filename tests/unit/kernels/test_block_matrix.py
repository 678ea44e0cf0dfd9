"""Kernel matrices block by block: the same numbers in every way, also after a kill."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import zarr

import symres as sr
from symres.kernels import matrix
from symres.kernels.block_store import Grid, NpyStore

VALUES = {"C_W": 1.9, "C_b": 0.1}
SIZE, CHUNK = 83, 20  # the last block of a row is smaller
NETWORK = sr.network([sr.Layer(sr.Dense(sr.z)), "relu", "relu"])


@pytest.fixture(scope="module")
def exported():
    return sr.export(NETWORK)


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


@pytest.mark.parametrize("target", ["torch", *(pytest.param(n, marks=pytest.mark.exhaustive) for n in ("c", "numba"))])
def test_other_languages_make_the_same_matrix(inputs, whole, target):
    rows = torch.from_numpy(inputs) if target == "torch" else inputs
    found = matrix(sr.export(NETWORK, target), rows, chunks=CHUNK, **VALUES)
    assert isinstance(found, np.ndarray) and np.allclose(found, whole[1], rtol=1e-12, atol=0)


def test_other_inputs_and_other_blocks(tmp_path, exported, inputs, whole):
    found = matrix(exported, inputs[:50], inputs[30:], chunks=(20, 7), out=tmp_path / "a.zarr", **VALUES)
    assert found.shape == (50, 53) and found.chunks == (20, 7)
    assert np.allclose(found[:], whole[1][:50, 30:], rtol=1e-13)


@pytest.mark.parametrize("scheduler", ["synchronous", ThreadPoolExecutor(2)], ids=["synchronous", "executor"])
def test_schedulers(exported, inputs, whole, scheduler):
    found = matrix(exported, inputs, chunks=CHUNK, scheduler=scheduler, **VALUES)
    assert np.allclose(found, whole[1], rtol=1e-13)


class WrittenBeside:
    """A block that is there when another one, beside it in the same rows, has been written."""

    def __init__(self, store):
        self.store = store

    def __array__(self, dtype=None, copy=None):
        self.store.write((slice(0, 2), slice(2, 4)), np.full((2, 2), 7.0))
        return np.full((2, 2), 5.0)


def test_a_writer_does_not_touch_the_blocks_of_others(tmp_path, monkeypatch):
    store = NpyStore(tmp_path / "a.npy", Grid((2, 4), (2, 2), symmetric=False), np.dtype("float64"))
    store.create()
    with monkeypatch.context() as patch:  # threads that read headers at once met a SystemError of Python 3.11
        patch.setattr(np, "load", None)
        store.write((slice(0, 2), slice(0, 2)), np.zeros((2, 2)))
    store.write((slice(0, 2), slice(0, 2)), WrittenBeside(store))
    assert (store.opened() == [[5, 5, 7, 7], [5, 5, 7, 7]]).all()


@pytest.mark.exhaustive
def test_processes_write_the_file_themselves(tmp_path, exported, inputs, whole):
    for out in (None, tmp_path / "a.npy", tmp_path / "a.zarr"):
        found = matrix(exported, inputs, chunks=CHUNK, scheduler="processes", out=out, **VALUES)
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


def damaged_lines(journal, lines):
    first, *_ = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([first, *lines, b""]))


def entry(row, column, value):
    """An entry of the matrix that has another value."""
    return lambda out: np.load(out, mmap_mode="r+").__setitem__((row, column), value)


def chunk(row, column, change):
    """A chunk whose bytes are changed."""

    def damage(out):
        path = out / "c" / str(row) / str(column)
        path.write_bytes(change(path.read_bytes()))

    return damage


@pytest.mark.parametrize(
    ("name", "damage", "lost"),
    [
        ("a.npy", lambda out: None, 0),
        # the last third is gone: all but those of which neither rows nor columns reach row 55
        ("a.npy", lambda out: os.truncate(out, out.stat().st_size * 2 // 3), 12),
        ("a.npy", lambda out: entry(45, 3, np.load(out)[45, 3] * (1 + 1e-15))(out), 1),
        ("a.npy", entry(3, 45, 0), 1),  # of the mirror image
        ("a.npy", lambda out: out.unlink(), 15),
        ("a.zarr", lambda out: None, 0),
        ("a.zarr", lambda out: (out / "c" / "0" / "2").unlink(), 1),
        ("a.zarr", chunk(4, 4, lambda data: data[:-8]), 1),  # at the edge: it is not written as a whole
        ("a.zarr", chunk(1, 1, lambda data: data[:17] + bytes([data[17] ^ 1]) + data[18:]), 1),
    ],
)
def test_damaged_blocks_are_computed_again(tmp_path, exported, inputs, name, damage, lost):
    """Against the same matrix in a new file, to the last bit; what is not damaged is read, not computed."""
    given = {"chunks": CHUNK, "batch": 1, **VALUES}
    whole = matrix(exported, inputs, out=tmp_path / f"whole-{name}", **given)[:]
    out, shares = tmp_path / name, []
    matrix(exported, inputs, out=out, **given)
    damage(out)
    found = matrix(exported, inputs, out=out, progress=lambda what, share: shares.append(share), **given)
    assert (found[:] == whole).all()
    assert len(shares) == lost
    assert (matrix(exported, inputs, out=out, progress=stop_after(0), **given)[:] == whole).all()  # it is whole again


def another_array(dtype="float64", shape=(SIZE, SIZE)):
    return lambda out: np.save(out, np.load(out).astype(dtype).reshape(shape))


def another_zarr(**layout):
    return lambda out: zarr.create_array(
        store=out, shape=(SIZE, SIZE), chunks=(CHUNK, CHUNK), overwrite=True, **{"dtype": "float64", **layout}
    )


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("a.npy", another_array(dtype="float32"), "an array of float32 of shape"),
        ("a.npy", another_array(shape=(SIZE * SIZE,)), rf"of shape \({SIZE * SIZE},\)"),
        ("a.npy", another_array(dtype=">f8"), "an array of >f8"),
        ("a.npy", lambda out: np.save(out, np.asfortranarray(np.load(out) + range(SIZE))), "in the order of columns"),
        ("a.npy", lambda out: out.write_bytes(out.read_bytes() + bytes(152)), "152 bytes too long"),
        ("a.npy", lambda out: out.write_bytes(b"text"), "its header is damaged"),
        ("a.npy", lambda out: out.write_bytes(b""), "its header is damaged"),
        ("a.npy", lambda out: out.write_bytes(out.read_bytes()[:40]), "its header is damaged"),
        ("a.npy", lambda out: out.write_bytes(out.read_bytes().replace(b"'shape'", b"'shade'")), "header is damaged"),
        ("a.npy", lambda out: out.write_bytes(out.read_bytes().replace(b"}", b"(", 1)), "header is damaged"),
        ("a.zarr", another_zarr(dtype="float32"), "an array of float32"),
        ("a.zarr", another_zarr(shards=(2 * CHUNK, 2 * CHUNK)), "in shards"),
        ("a.zarr", lambda out: (out / "zarr.json").unlink(), "zarr does not open it"),
        ("a.zarr", lambda out: (out / "zarr.json").write_bytes(b"\xff{"), "zarr does not open it"),
        ("a.zarr", lambda out: (out / "zarr.json").write_text("[]"), "zarr does not open it"),
    ],
)
def test_another_output_is_refused_and_kept(tmp_path, exported, inputs, name, damage, message):
    out, journal = tmp_path / name, tmp_path / f"{name}.journal"
    given = {"module": exported, "X": inputs, "chunks": CHUNK, "out": out, **VALUES}
    matrix(**given)
    damage(out)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(sr.DeclarationError, match=rf"not what the journal .*{message}.*resume=False"):
        matrix(**given)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    matrix(**given, resume=False)
    assert journal.read_bytes() == before[journal]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda journal: journal.write_bytes(b"\xff\xfe\x00"), "damaged in line 1"),
        (lambda journal: journal.write_bytes(b""), "damaged in line 1"),
        (lambda journal: journal.write_bytes(b"[1, 2]\n"), "damaged in line 1"),
        (lambda journal: journal.write_bytes(b"[" * 100000), "damaged in line 1"),
        (lambda journal: journal.write_bytes(journal.read_bytes().replace(b"1.9", b"1.8", 1)), "damaged in line 1"),
        (lambda journal: damaged_lines(journal, [b'[0, 0, "x"]', b"\xff"]), "damaged in line 3"),
        (lambda journal: damaged_lines(journal, [b"[0]"]), "damaged in line 2"),
        (lambda journal: damaged_lines(journal, [b"{}"]), "damaged in line 2"),
        (lambda journal: damaged_lines(journal, [b'[0, 5, "x"]']), "damaged in line 2"),  # there is no such block
        (lambda journal: damaged_lines(journal, [b'[1, 0, "x"]']), "damaged in line 2"),  # it is a mirror image
        (lambda journal: damaged_lines(journal, [b"\0" * 30]), "damaged in line 2"),
        (lambda journal: (journal.unlink(), journal.mkdir()), "it is not a file"),
    ],
)
def test_a_damaged_journal_is_one_error(tmp_path, exported, inputs, damage, message):
    given = {"module": exported, "X": inputs, "chunks": CHUNK, "out": tmp_path / "a.npy", **VALUES}
    matrix(**given)
    damage(tmp_path / "a.npy.journal")
    before = (tmp_path / "a.npy").read_bytes()
    with pytest.raises(sr.DeclarationError, match=rf"resuming .*{message}; .*resume=False"):
        matrix(**given)
    assert (tmp_path / "a.npy").read_bytes() == before


def test_a_pipe_in_the_place_of_the_journal_blocks_nobody(tmp_path, exported, inputs):
    os.mkfifo(tmp_path / "a.npy.journal")
    messages = []

    def resume():
        with pytest.raises(sr.DeclarationError) as refused:
            matrix(exported, inputs, out=tmp_path / "a.npy", **VALUES)
        messages.append(str(refused.value))

    caller = threading.Thread(target=resume, daemon=True)
    caller.start()
    caller.join(30)
    assert len(messages) == 1 and "it is not a file" in messages[0]


LIMITED = """
import resource, sys, numpy as np, symres as sr
from symres.kernels import matrix
exported = sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "relu"]))
X = np.random.default_rng(0).standard_normal((300, 6))
given = {"chunks": 50, "batch": 2, "out": sys.argv[1], "C_W": 1.9, "C_b": 0.1, "progress": False}
for limit in map(int, sys.argv[2:]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    print(float(np.sum(matrix(exported, X, **given)[:])))
except sr.DeclarationError as error:
    print(error)
"""


def limited(*words):
    done = subprocess.run([sys.executable, "-c", LIMITED, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # no signal has ended it
    return done.stdout


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["a.npy", "a.zarr"])
def test_a_limit_of_the_size_of_files_is_one_error(tmp_path, name):
    """As on file systems that take no large files; the smallest chunk of zarr exceeds it too."""
    assert "File too large" in limited(tmp_path / name, 15000)
    assert limited(tmp_path / name) == limited(tmp_path / f"again-{name}")


CHILD = """
import sys, numpy as np, symres as sr
from symres.kernels import kernel_arguments, matrix
exported = sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "relu", "relu"]))
X = np.load(sys.argv[1])
matrix(exported, X, chunks=20, batch=2, out=sys.argv[2], C_W=1.9, C_b=0.1)
"""


def test_a_killed_process_loses_nothing(tmp_path):
    """SIGKILL in the middle, and the file is equal to that of an uninterrupted run to the last bit."""
    X = np.random.default_rng(0).standard_normal((300, 6))
    np.save(tmp_path / "X.npy", X)
    exported = sr.export(NETWORK)
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


@pytest.mark.parametrize("left", [[], ["zarr.0123.partial"]])
def test_a_folder_that_a_kill_left_without_its_description_is_begun_anew(tmp_path, exported, inputs, whole, left):
    out = tmp_path / "a.zarr"
    matrix(exported, inputs, out=out, **VALUES)
    journal = tmp_path / "a.zarr.journal"
    journal.write_text(journal.read_text().splitlines(keepends=True)[0])
    shutil.rmtree(out)
    out.mkdir()
    for name in left:
        (out / name).write_text("{")
    np.testing.assert_allclose(matrix(exported, inputs, out=out, **VALUES)[:], whole[1], rtol=1e-12)


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


def test_no_journal_is_left_beside_what_cannot_be_written(tmp_path, exported, inputs):
    (tmp_path / "a.npy").mkdir()
    with pytest.raises(sr.DeclarationError, match="it is a folder"):
        matrix(exported, inputs, out=tmp_path / "a.npy", resume=False, **VALUES)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]
