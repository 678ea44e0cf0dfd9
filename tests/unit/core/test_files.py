"""Files that are whole or not there, and templates in which nothing is missing."""

from pathlib import Path

import pytest

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


def test_no_folder_is_made(tmp_path):
    with pytest.raises(DeclarationError, match="there is no folder"):
        files.write_text(tmp_path / "new" / "folder" / "a.txt", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(DeclarationError, match="it is a folder"):
        files.write_text(tmp_path, "text")


def test_permissions_are_ordinary(tmp_path):
    path = files.write_text(tmp_path / "a.txt", "text\n")
    plain = tmp_path / "plain"
    plain.write_text("")
    assert path.read_bytes() == b"text\n"
    assert path.stat().st_mode == plain.stat().st_mode


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DeclarationError, match="is not a folder; choose a folder"):
        files.write_text(tmp_path / "file" / "a.txt", "text")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_templates_are_strict():
    import jinja2

    with pytest.raises(jinja2.UndefinedError):
        files.render("report.tex.j2", {})
