"""Any edit of a source, any new or moved source is another fingerprint."""

from symres.core.cache import disk_cache as module
from symres.core.cache.disk_cache import fingerprint, fingerprint_of


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
    from pathlib import Path

    import symres

    assert fingerprint() == fingerprint_of(Path(symres.__file__).parent)
