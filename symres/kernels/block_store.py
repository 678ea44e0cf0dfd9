"""Files of matrices that are written block by block, and the journal of the blocks that are safe."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from ..core import files
from ..core.errors import DeclarationError
from .libraries import require

Block = tuple[int, int]  # its row and its column of blocks
Place = tuple[slice, slice]


class Written(Protocol):
    """An array into which blocks are written."""

    shape: tuple[int, ...]

    def __setitem__(self, place: Place, block: np.ndarray) -> None:
        """Write a block."""


class Store(Protocol):
    """A file of a matrix. It is pickled with the task that writes a block, which opens it by its path."""

    @property
    def path(self) -> Path:
        """Where it is."""

    def create(self) -> None:
        """Make the file, or the folder, with no block in it."""

    def write(self, place: Place, block: np.ndarray) -> None:
        """Write a block; when this returns, it is on the disk."""

    def opened(self) -> np.ndarray:
        """The matrix as an array that reads from the disk."""


@dataclass(frozen=True)
class NpyStore:
    """A .npy file.

    Args:
        path: of the file.
        shape: of the matrix.
        dtype: of its entries.
        chunks: the shape of a block.
    """

    path: Path
    shape: tuple[int, int]
    dtype: np.dtype
    chunks: tuple[int, int]

    def create(self) -> None:
        """A file of the whole size, that takes no room before blocks are written."""
        np.lib.format.open_memmap(self.path, "w+", self.dtype, self.shape)

    def write(self, place: Place, block: np.ndarray) -> None:
        """The file is mapped for this block alone: mapped pages count as memory of the process."""
        matrix = np.lib.format.open_memmap(self.path, "r+")
        matrix[place] = block
        matrix.flush()

    def opened(self) -> np.ndarray:
        """A memory map, read only."""
        return np.load(self.path, mmap_mode="r")


@dataclass(frozen=True)
class ZarrStore:
    """A zarr array in a folder, one chunk for each block, not compressed: kernels have no repeating digits.

    Args:
        path: of the folder.
        shape: of the matrix.
        dtype: of its entries.
        chunks: the shape of a block.
    """

    path: Path
    shape: tuple[int, int]
    dtype: np.dtype
    chunks: tuple[int, int]

    def create(self) -> None:
        """An array without chunks."""
        import zarr

        zarr.create_array(
            store=self.path, shape=self.shape, dtype=self.dtype, chunks=self.chunks, compressors=None, overwrite=True
        )

    def write(self, place: Place, block: np.ndarray) -> None:
        """One file, which is its own."""
        import zarr

        matrix = zarr.open_array(store=self.path, mode="r+")
        matrix[place] = block
        numbers = tuple(cut.start // size for cut, size in zip(place, self.chunks, strict=True))
        chunk = self.path / matrix.metadata.encode_chunk_key(numbers)
        if chunk.exists():  # a chunk of zeros alone has no file
            _flush(chunk)

    def opened(self) -> np.ndarray:
        """A zarr array, read only."""
        import zarr

        return zarr.open_array(store=self.path, mode="r")


STORES: dict[str, type[NpyStore] | type[ZarrStore]] = {".npy": NpyStore, ".zarr": ZarrStore}


def store_at(path: Path, shape: tuple[int, int], dtype: np.dtype, chunks: tuple[int, int]) -> Store:
    """The store of a path, by its ending.

    Raises:
        DeclarationError: its folder does not exist, or its ending is unknown.
        SymresError: it is a zarr folder, and zarr is not installed.
    """
    made = STORES.get(path.suffix)
    if made is None:
        remedy = f"let the name end with {' or '.join(STORES)}"
        raise DeclarationError(f"a kernel matrix in {path}", f"its ending {path.suffix!r} names no format", remedy)
    if made is ZarrStore:
        require(f"a kernel matrix in {path}", "kernels", "zarr")
    if not path.parent.is_dir():
        raise DeclarationError(f"writing {path}", f"there is no folder {path.parent}", "choose a folder that exists")
    return made(path, shape, dtype, chunks)


@dataclass(frozen=True)
class Journal:
    """The blocks that are on the disk, in a file beside the output.

    Its first line says what the output is; each further line names a block, and is written after the block.

    Args:
        path: of the journal.
        facts: what the output is: its digest, and what it was made of, for people.
    """

    path: Path
    facts: dict[str, object]

    def begin(self) -> None:
        """Start anew."""
        files.write_text(self.path, json.dumps(self.facts) + "\n")

    def finished(self) -> set[Block]:
        """The blocks that an earlier run finished.

        What was cut off in the middle of a line does not count; the journal is written anew without it.

        Raises:
            DeclarationError: the journal is that of another matrix.
        """
        first, *rest = self.path.read_text(encoding="utf-8").split("\n")
        kept = _json(first)
        known = kept if isinstance(kept, dict) else {}
        differing = [name for name, value in self.facts.items() if known.get(name) != value]
        if differing:
            changed = ", ".join(name for name in differing if name != "digest") or "digest"
            remedy = "choose another path, or pass resume=False to overwrite it"
            raise DeclarationError(f"resuming {self.path}", f"it is of another matrix: its {changed} differ", remedy)
        blocks = {(block[0], block[1]) for block in map(_json, rest[:-1]) if isinstance(block, list)}
        files.write_text(self.path, "".join(f"{line}\n" for line in (first, *map(json.dumps, sorted(blocks)))))
        return blocks

    def add(self, blocks: Iterable[Block]) -> None:
        """Say that blocks are on the disk."""
        with self.path.open("a", encoding="utf-8", newline="\n") as journal:
            journal.write("".join(f"{json.dumps(block)}\n" for block in blocks))
            journal.flush()
            os.fsync(journal.fileno())


def prepare(store: Store, journal: Journal, size: int, resume: bool) -> set[Block]:
    """Make the files, or find what an earlier run left in them.

    Args:
        store: of the matrix.
        journal: beside it.
        size: bytes of the whole matrix.
        resume: whether to go on where an earlier run of the same matrix ended.

    Returns:
        the blocks that are there.

    Raises:
        DeclarationError: there is another matrix or another file in this place, or the disk is too small.
    """
    if resume and journal.path.exists():
        blocks = journal.finished()
        if blocks and store.path.exists():
            return blocks
    elif resume and store.path.exists():
        remedy = "choose another path, or pass resume=False to overwrite it"
        raise DeclarationError(f"a kernel matrix in {store.path}", "something else is there, without a journal", remedy)
    held = _size(store.path)
    free = shutil.disk_usage(store.path.parent).free + held
    if free < size:
        found = f"it takes {size / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free"
        raise DeclarationError(f"a kernel matrix in {store.path}", found, "choose another disk, or dtype='float32'")
    journal.begin()  # before the output: what is found without a journal belongs to somebody else
    store.create()
    return set()


def _size(path: Path) -> int:
    """Bytes on the disk that overwriting sets free."""
    if path.is_dir():
        return sum(entry.stat().st_size for entry in path.rglob("*") if entry.is_file())
    return path.stat().st_blocks * 512 if path.exists() else 0


def _json(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _flush(path: Path) -> None:
    with path.open("rb+") as written:
        os.fsync(written.fileno())
