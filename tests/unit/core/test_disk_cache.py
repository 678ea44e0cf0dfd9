"""Kept results: the same text again, never one of another subject or source, nothing half-written, bounded size."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from symres.core import disk_cache as module
from symres.core.disk_cache import (
    ACTIVE,
    MOST_BYTES,
    OFF,
    DiskCache,
    caching,
    default_cache,
    default_folder,
    fingerprint,
    fingerprint_of,
)
from tests.command_line import run

ROOT = Path(__file__).parents[3]
SUBJECT = ("average", "z**2")


def refused():
    raise AssertionError("computed although it is kept")


def kept(folder, text="17", subject=SUBJECT, source="one"):
    cache = DiskCache(folder, source)
    cache.recall(subject, "name", lambda: text)
    cache.flush()
    return cache


def test_what_is_flushed_is_there_in_the_next_run(tmp_path):
    kept(tmp_path / "not" / "yet")
    again = DiskCache(tmp_path / "not" / "yet", "one")
    assert again.recall(SUBJECT, "name", refused) == "17"
    assert again.has(SUBJECT, "name")
    assert not again.has(SUBJECT, "other")


@pytest.mark.parametrize(
    ("subject", "name", "source"),
    [
        (("average", "z**3"), "name", "one"),
        (("average z**2",), "name", "one"),  # parts do not run together
        (SUBJECT, "other", "one"),
        (SUBJECT, "name", "two"),
    ],
)
def test_another_subject_name_or_source_is_computed(tmp_path, subject, name, source):
    kept(tmp_path)
    assert DiskCache(tmp_path, source).recall(subject, name, lambda: "new") == "new"


def test_a_file_in_the_place_of_another_is_ignored(tmp_path):
    kept(tmp_path / "a", subject=("other",))
    kept(tmp_path / "b")
    (foreign,), (own,) = ((tmp_path / folder).iterdir() for folder in "ab")
    own.write_text(foreign.read_text())
    assert DiskCache(tmp_path / "b", "one").recall(SUBJECT, "name", lambda: "new") == "new"


def test_two_caches_of_one_folder_keep_what_both_found(tmp_path):
    first, second = DiskCache(tmp_path, "one"), DiskCache(tmp_path, "one")
    first.recall(SUBJECT, "a", lambda: "1")
    second.recall(SUBJECT, "b", lambda: "2")
    first.flush()
    second.flush()
    again = DiskCache(tmp_path, "one")
    assert [again.recall(SUBJECT, name, refused) for name in "ab"] == ["1", "2"]


def test_processes_that_write_at_once_leave_whole_files(tmp_path):
    program = (
        "import sys; from pathlib import Path; from symres.core.disk_cache import DiskCache\n"
        "for k in range(60):\n"
        "    cache = DiskCache(Path(sys.argv[1]), 'one')\n"
        "    cache.recall(('shared',), f'{sys.argv[2]} {k}', lambda: 'x' * 20000)\n"
        "    assert set(cache.recall(('shared',), f'{sys.argv[2]} {k}', str)) == {'x'}\n"
        "    cache.flush()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    writers = [subprocess.Popen([*command, str(k)], env=environment) for k in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(list(tmp_path.iterdir())) == 1
    found = DiskCache(tmp_path, "one")
    assert any(found.has(("shared",), f"{writer} 59") for writer in range(2))


def test_what_fails_is_not_kept(tmp_path):
    cache = DiskCache(tmp_path, "one")
    with pytest.raises(ZeroDivisionError):
        cache.recall(SUBJECT, "name", lambda: str(1 / 0))
    cache.flush()
    assert DiskCache(tmp_path, "one").recall(SUBJECT, "name", lambda: "new") == "new"


def test_the_oldest_files_make_room(tmp_path):
    for k in range(10):
        cache = DiskCache(tmp_path, "one", most_bytes=5000)
        cache.recall((f"subject {k}",), "name", lambda: "x" * 900)
        cache.flush()
        for path in tmp_path.iterdir():  # older by one step: the clock of the file system may be coarse
            os.utime(path, (path.stat().st_mtime - 10,) * 2)
    found = DiskCache(tmp_path, "one")
    assert 2 <= found.size()[0] <= 5
    assert found.size()[1] <= 5000
    assert found.has(("subject 9",), "name")
    assert not found.has(("subject 0",), "name")


def test_a_cache_is_in_use_inside_of_its_context_only(tmp_path):
    cache = DiskCache(tmp_path, "one")
    with pytest.raises(KeyError), caching(cache):
        assert ACTIVE.get() is cache
        cache.recall(SUBJECT, "name", lambda: "17")
        raise KeyError
    assert ACTIVE.get() is None
    assert DiskCache(tmp_path, "one").recall(SUBJECT, "name", refused) == "17"  # an error later on costs nothing


def test_the_environment_says_where_and_whether(tmp_path, monkeypatch):
    monkeypatch.delenv("SYMRES_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "symres"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the standard
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "symres"
    for name in ("XDG_CACHE_HOME", "HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    assert default_folder() is None
    monkeypatch.setenv("SYMRES_CACHE_DIR", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own"
    monkeypatch.setenv(OFF, "1")
    assert default_cache() is None
    monkeypatch.delenv(OFF)
    assert default_cache() == DiskCache(tmp_path / "own")


def changed(change):
    return lambda path: path.write_text(change(path.read_text()))


DAMAGES = {
    "empty": changed(lambda text: ""),
    "half": changed(lambda text: text[: len(text) // 2]),
    "another result": changed(lambda text: text.replace("17", "18")),
    "no document": changed(lambda text: "not json"),
    "no text": changed(lambda text: "\n"),
    "longer": changed(lambda text: text + " "),
    "others": lambda path: os.chown(path, 12345, -1),
    "writable by others": lambda path: path.chmod(0o602),
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "link": lambda path: path.rename(path.with_name("elsewhere")) and path.symlink_to("elsewhere"),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "huge": lambda path: os.truncate(path, MOST_BYTES + 1),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_damaged_or_planted_by_others_is_not_read_and_replaced(tmp_path, name):
    """Computed anew, without waiting for anybody who writes into the pipe."""
    if name == "others" and os.getuid() != 0:
        pytest.skip("only root gives files away")
    kept(tmp_path)
    (path,) = tmp_path.iterdir()
    DAMAGES[name](path)
    found = []
    reader = threading.Thread(target=lambda: found.append(kept(tmp_path, "right")), daemon=True)
    reader.start()
    reader.join(20)
    assert found and found[0].recall(SUBJECT, "name", refused) == "right"
    if path.is_file() and name != "huge":
        assert DiskCache(tmp_path, "one").recall(SUBJECT, "name", refused) == "right"


def test_clearing_and_pruning_leave_what_is_not_kept_here(tmp_path):
    names = ["notes.kept", "draft.tmp", "symres-x.tmp.txt", f"{'0' * 31}.kept", f"{'g' * 32}.kept"]
    for name in names:
        (tmp_path / name).write_text("x" * 1000)
    (tmp_path / f"{'a' * 32}.kept").mkdir()
    (tmp_path / f"{'b' * 32}.kept").symlink_to("notes.kept")
    cache = DiskCache(tmp_path, "one", most_bytes=10)
    cache.recall(SUBJECT, "name", lambda: "17")
    cache.flush()
    left = sorted([*names, f"{'a' * 32}.kept", f"{'b' * 32}.kept"])
    assert sorted(path.name for path in tmp_path.iterdir()) == left  # its only file is larger than allowed
    (tmp_path / "symres-killed.tmp").write_text("half")
    cache = kept(tmp_path, source="two")
    assert cache.clear() == 2 and cache.size() == (0, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    assert cache.recall(SUBJECT, "name", lambda: "new") == "new"


@pytest.mark.parametrize("folder", ["a" * 300, "a/" * 3000, "file", "file/below", "circle"])
def test_a_folder_that_cannot_be_is_no_traceback(tmp_path, folder):
    (tmp_path / "file").write_text("")
    (tmp_path / "circle").symlink_to("circle")
    cache = DiskCache(tmp_path / folder, "one", most_bytes=0)
    assert cache.recall(SUBJECT, "name", lambda: "17") == "17"
    cache.flush()
    assert (cache.size(), cache.clear()) == ((0, 0), 0)
    assert cache.obstacle()
    assert DiskCache(tmp_path / "not" / "yet", "one").obstacle() is None


def test_the_home_of_nobody_is_one_clear_error(monkeypatch, capsys):
    monkeypatch.delenv(OFF, raising=False)
    monkeypatch.setenv("SYMRES_CACHE_DIR", "~nobody-of-this-name/x")
    for words in (("cache",), ("cache", "--clear"), ("show", "relu")):
        code, out, err = run(capsys, *words)
        assert (code, out) == (2, "") and err.count("\n") == 1
        assert "SYMRES_CACHE_DIR=~nobody-of-this-name/x: the system knows no user of this name" in err
    assert run(capsys, "show", "relu", "--no-cache")[0] == 0


def test_a_home_that_the_system_does_not_know_keeps_nothing(monkeypatch):
    monkeypatch.delenv("SYMRES_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}["nobody"])
    assert default_folder() is None


def test_a_folder_out_of_reach_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv(OFF, raising=False)
    monkeypatch.setenv("SYMRES_CACHE_DIR", str(tmp_path / ("a" * 300)))
    assert run(capsys, "show", "relu")[0] == 0
    code, out, err = run(capsys, "cache")
    assert (code, err) == (0, "") and "no results are kept: " in out and "File name too long" in out


def test_edits_moves_and_additions_are_seen(tmp_path):
    (tmp_path / "room").mkdir()
    path = tmp_path / "room" / "one.py"
    found = []
    for change in (
        lambda: path.write_text("x = 1\n"),
        lambda: path.write_text("x = 2\n"),
        lambda: (tmp_path / "two.py").write_text(""),
        lambda: path.rename(tmp_path / "one.py"),
        lambda: (tmp_path / "one.py").rename(tmp_path / "room" / "three.py"),
    ):
        change()
        found.append(fingerprint_of(tmp_path))
    assert len(set(found)) == len(found)
    assert fingerprint_of(tmp_path) == found[-1]
    (tmp_path / "notes.txt").write_text("no source")
    assert fingerprint_of(tmp_path) == found[-1]


def test_upgrades_are_seen(tmp_path, monkeypatch):
    before = fingerprint_of(tmp_path)
    monkeypatch.setattr(module, "installed", lambda name: "99")
    assert fingerprint_of(tmp_path) != before


def test_that_of_symres_is_that_of_its_own_folder():
    assert fingerprint() == fingerprint_of(Path(module.__file__).parents[1])
