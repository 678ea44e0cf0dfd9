"""Files that are whole or not there, and templates in which nothing is missing."""

import os
import select
import stat
import threading
from pathlib import Path

import pytest

import symres as sr
from symres.activations.activation import formula_name, identifier
from symres.cli.request import in_a_file_name
from symres.core import files
from symres.core.errors import DeclarationError


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = files.write_text(tmp_path / "a.txt", "old")

    def fails(temporary: Path) -> None:
        temporary.write_text("half of the new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write_whole(path, fails)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_permissions_are_ordinary(tmp_path):
    path = files.write_text(tmp_path / "a.txt", "text\n")
    plain = tmp_path / "plain"
    plain.write_text("")
    assert path.read_bytes() == b"text\n"
    assert path.stat().st_mode == plain.stat().st_mode


def test_templates_are_strict():
    import jinja2

    with pytest.raises(jinja2.UndefinedError):
        files.render("report.tex.j2", {})


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    for name in ("old", "new"):  # one leads to a file, the other to nothing yet
        link = tmp_path / name
        link.symlink_to(Path("far") / name)
        files.write_text(link, "first")
        files.write_text(link, "text")
        assert link.is_symlink() and (tmp_path / "far" / name).read_text() == "text"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["far", "new", "new", "old", "old"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    files.write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode and path.read_text() == "new"


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    files.write_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_a_pipe_is_written_through(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_text()), daemon=True)
    reader.start()
    files.write_text(path, "text")
    reader.join(10)
    assert read == ["text"] and stat.S_ISFIFO(path.stat().st_mode)
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_a_device_stays_a_device(tmp_path, target):
    """A terminal of its own, behind a link: a defect replaces the link, not what everybody uses."""
    keeper, terminal = os.openpty()
    link = tmp_path / "device"
    link.symlink_to(os.ttyname(terminal))
    text = sr.export(sr.expect("relu(z)"), target=target)
    writer = threading.Thread(target=text.write, args=[link], daemon=True)
    writer.start()
    read = b""
    while read.count(b"\n") < text.text.count("\n"):
        assert select.select([keeper], [], [], 20)[0], "nothing more is written into it"
        read += os.read(keeper, 1 << 16)
    writer.join(10)
    assert read.replace(b"\r\n", b"\n").decode() == text.text
    assert stat.S_ISCHR(os.stat(os.ttyname(terminal)).st_mode) and link.is_symlink()
    assert [p.name for p in tmp_path.iterdir()] == ["device"]  # no header beside it
    os.close(terminal)
    os.close(keeper)


PLACES = {
    "new/folder/a.txt": "there is no folder",
    "folder": "it is a folder",
    "file/a.txt": "is not a folder; choose a folder",
    "full": "full: No space left on device",
    "a" * 300: "File name too long",
    "a" * 300 + "/b": "File name too long",
    "a/" * 3000 + "b": "File name too long",
    "circle": "symbolic links",
}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[:20])
def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    (tmp_path / "full").symlink_to("/dev/full")  # a link: a defect replaces it, and not the device
    (tmp_path / "circle").symlink_to("circle")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DeclarationError, match=PLACES[place]):
        files.write_text(tmp_path / place, "text")
    assert sorted(tmp_path.iterdir()) == before and not list((tmp_path / "folder").iterdir())
    assert stat.S_ISCHR((tmp_path / "full").stat().st_mode) and (tmp_path / "file").read_text() == "old"


def test_a_protected_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everything
    with pytest.raises(DeclarationError, match="Permission denied"):
        files.write_text(path, "new")
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_long_names_are_written(tmp_path):
    assert files.write_text(tmp_path / ("a" * 251 + ".txt"), "text").read_text() == "text"


def test_a_link_to_another_file_system_is_followed(tmp_path, monkeypatch):
    """Nothing moves between file systems in one step: a copy beside the file does."""
    link, staged, replace = tmp_path / "link", tmp_path / "staged", os.replace
    (tmp_path / "far").mkdir()
    link.symlink_to(tmp_path / "far" / "file")

    def within_folders(source, target):
        if Path(source).parent != Path(target).parent:
            raise OSError(18, "Invalid cross-device link")
        replace(source, target)

    monkeypatch.setattr(os, "replace", within_folders)
    staged.write_text("text")
    files.put_in_place(staged, link)
    assert (tmp_path / "far" / "file").read_text() == "text" and len(list((tmp_path / "far").iterdir())) == 1


def test_names_of_files_and_formulas_have_the_digits_that_they_had():
    assert identifier("z*tanh(z)+1") == "z_times_tanh_z_plus_1_a62dca43"
    assert in_a_file_name("sqrt(2)/2") == "sqrt_2_2_ca0b2836"
    assert formula_name("+".join(f"a{k}*z" for k in range(20))).endswith("a9*...c39a5a3c")
