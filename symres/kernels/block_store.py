"""Files of matrices that are written block by block, and the journal of the blocks that are safe.

A block counts as safe where the journal has its checksum and the file has the same: files are cut off, lose chunks, or
take the place of others between two runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from ..core import files
from ..core.errors import DeclarationError
from .libraries import require

Block = tuple[int, int]  # its row and its column of blocks
Place = tuple[slice, slice]

_ANEW = "choose another path, or pass resume=False to overwrite it"
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True)
class Grid:
    """The blocks of a matrix.

    Args:
        shape: of the matrix.
        chunks: of a block.
        symmetric: whether it is its own mirror image.
    """

    shape: tuple[int, int]
    chunks: tuple[int, int]
    symmetric: bool

    @property
    def blocks(self) -> list[Block]:
        """The blocks that are computed, row by row."""
        rows, columns = (-(-n // size) for n, size in zip(self.shape, self.chunks, strict=True))
        return [(i, j) for i in range(rows) for j in range(i if self.symmetric else 0, columns)]

    def place(self, block: Block) -> Place:
        """Where a block is in the matrix."""
        (i, j), (height, width) = block, self.chunks
        return slice(i * height, min((i + 1) * height, self.shape[0])), slice(
            j * width, min((j + 1) * width, self.shape[1])
        )

    def image(self, block: Block) -> Place | None:
        """Where the mirror image of a block is; None where it has none, or is its own."""
        rows, columns = self.place(block)
        return (columns, rows) if self.symmetric and block[0] != block[1] else None

    def parts(self, block: Block, values: np.ndarray) -> Iterator[tuple[Place, np.ndarray]]:
        """A block, and its mirror image."""
        yield self.place(block), values
        image = self.image(block)
        if image is not None:
            yield image, values.T


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

    def mend(self) -> None:
        """Give what an earlier run left its whole size again.

        Raises:
            DeclarationError: it is not what ``create`` makes.
        """

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
        files.write_whole(self.path, lambda path: np.lib.format.open_memmap(path, "w+", self.dtype, self.shape))

    def write(self, place: Place, block: np.ndarray) -> None:
        """Row by row, not by a memory map: to that a full disk is a signal that ends the process.

        Nor through a buffer, which would write what stands between two rows as it has read it: others write there.
        """
        rows, columns = place
        with self.path.open("rb+", buffering=0) as file:
            start = self._start(file)
            for row, values in zip(range(rows.start, rows.stop), np.ascontiguousarray(block), strict=True):
                file.seek(start + (row * self.shape[1] + columns.start) * self.dtype.itemsize)
                unwritten = values.data.cast("B")
                while len(unwritten):  # a disk that is nearly full takes a part, and refuses what is left
                    unwritten = unwritten[file.write(unwritten) :]
            os.fsync(file.fileno())

    def mend(self) -> None:
        """A file that was cut off is lengthened; what was lost in it does not have its checksum."""
        with self.path.open("rb") as file:
            whole = self._start(file) + self.shape[0] * self.shape[1] * self.dtype.itemsize
        size = self.path.stat().st_size
        if size > whole:
            raise _another(self.path, f"it has {size - whole} bytes more")
        if size < whole:
            os.truncate(self.path, whole)

    def _start(self, file: BinaryIO) -> int:
        """Where the numbers begin, behind the header.

        Raises:
            DeclarationError: it is the header of another array.
        """
        try:
            shape, is_fortran, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
        except (KeyError, ValueError):
            raise _another(self.path, "its header is damaged") from None
        if (shape, dtype, is_fortran) != (self.shape, self.dtype, False):
            order = " in the order of columns" if is_fortran else ""
            raise _another(self.path, f"it is an array of {dtype} of shape {shape}{order}")
        return file.tell()

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
        numbers = tuple(cut.start // size for cut, size in zip(place, self.chunks, strict=True))
        chunk = self.path / matrix.metadata.encode_chunk_key(numbers)
        chunk.unlink(missing_ok=True)  # what a kill has left of it may not be readable
        matrix[place] = block
        if chunk.exists():  # a chunk of zeros alone has no file
            _flush(chunk)

    def mend(self) -> None:
        """Chunks that are lost are made when they are written; of the array only its description is looked at."""
        try:
            matrix = self.opened()
            shape, chunks, dtype = matrix.shape, matrix.chunks, matrix.dtype  # type: ignore[attr-defined]
        except Exception as error:  # zarr has no error of its own for a description that is damaged
            raise _another(self.path, f"zarr does not open it ({type(error).__name__}: {error})") from None
        if (shape, chunks, dtype) != (self.shape, self.chunks, self.dtype):
            raise _another(self.path, f"it is an array of {dtype} of shape {shape} in chunks {chunks}")

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

    Its first line says what the output is; each further line names a block and its checksum, and is written after the
    block.

    Args:
        path: of the journal.
        facts: what the output is made of, by names that people read.
    """

    path: Path
    facts: Mapping[str, object]

    def begin(self, blocks: Mapping[Block, str]) -> None:
        """Start anew, with blocks that are there."""
        lines = [json.dumps({"digest": _digest_of(self.facts), **self.facts}), *_lines(blocks)]
        files.write_text(self.path, "".join(f"{line}\n" for line in lines))

    def finished(self, blocks: Collection[Block]) -> dict[Block, str]:
        """The blocks that an earlier run finished, with their checksums.

        What was cut off in the middle of the last line does not count.

        Args:
            blocks: those of the matrix.

        Raises:
            DeclarationError: the journal is that of another matrix, or damaged.
        """
        if not self.path.is_file():
            raise DeclarationError(f"resuming {self.path}", "it is not a file", _ANEW)
        with _told(f"resuming {self.path}"):
            first, *further = self.path.read_bytes().split(b"\n")
        kept = _json(first)
        if not isinstance(kept, dict) or kept.pop("digest", None) != _digest_of(kept):
            raise self._damaged(1)
        changed = [name for name, value in self.facts.items() if kept.get(name) != value]
        if changed:
            found = f"it is of another matrix: its {', '.join(changed)} differ"
            raise DeclarationError(f"resuming {self.path}", found, _ANEW)
        found_blocks = {}
        for number, line in enumerate(further[:-1], 2):
            match _json(line):
                case [int(i), int(j), str(checksum)] if (i, j) in blocks:
                    found_blocks[i, j] = checksum
                case _:
                    raise self._damaged(number)
        return found_blocks

    def add(self, blocks: Mapping[Block, str]) -> None:
        """Say that blocks are on the disk."""
        with _told(f"writing {self.path}"), self.path.open("a", encoding="utf-8", newline="\n") as journal:
            journal.write("".join(f"{line}\n" for line in _lines(blocks)))
            journal.flush()
            os.fsync(journal.fileno())

    def _damaged(self, line: int) -> DeclarationError:
        return DeclarationError(f"resuming {self.path}", f"the journal is damaged in line {line}", _ANEW)


def prepare(store: Store, journal: Journal, grid: Grid, size: int, resume: bool) -> set[Block]:
    """Make the files, or find what an earlier run left in them.

    Args:
        store: of the matrix.
        journal: beside it.
        grid: its blocks.
        size: bytes of the whole matrix.
        resume: whether to go on where an earlier run of the same matrix ended.

    Returns:
        the blocks that are there, as their checksums say.

    Raises:
        DeclarationError: there is another matrix or another file in this place, the journal is damaged, or the disk is
            too small.
    """
    if resume and journal.path.exists():
        finished = journal.finished(frozenset(grid.blocks))
        if store.path.exists():
            with _told(f"resuming {store.path}"):
                store.mend()
                matrix = store.opened()
            intact = {block: mark for block, mark in finished.items() if _is_intact(matrix, grid, block, mark)}
            journal.begin(intact)
            return set(intact)
    elif resume and store.path.exists():
        raise DeclarationError(f"a kernel matrix in {store.path}", "something else is there, without a journal", _ANEW)
    held = _size(store.path)
    free = shutil.disk_usage(store.path.parent).free + held
    if free < size:
        found = f"it takes {size / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free"
        raise DeclarationError(f"a kernel matrix in {store.path}", found, "choose another disk, or dtype='float32'")
    journal.begin({})  # before the output: what is found without a journal belongs to somebody else
    try:
        with _told(f"a kernel matrix in {store.path}"):
            store.create()
    except DeclarationError:
        journal.path.unlink(missing_ok=True)
        raise
    return set()


def write_block(store: Store, grid: Grid, block: Block, values: np.ndarray) -> str:
    """Write a block and its mirror image; returns its checksum.

    Raises:
        DeclarationError: the disk is full, or fails.
    """
    with _told(f"writing {store.path}"):
        for place, part in grid.parts(block, values):
            store.write(place, part)
    return _checksum(values)


def _is_intact(matrix: np.ndarray, grid: Grid, block: Block, checksum: str) -> bool:
    """Whether a block and its mirror image are what was written."""
    image = grid.image(block)
    try:
        parts = [matrix[grid.place(block)], *([] if image is None else [matrix[image].T])]
    except Exception:  # zarr has no error of its own for a chunk of another size
        return False
    return all(_checksum(part) == checksum for part in parts)


def _checksum(values: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).hexdigest()


def _digest_of(facts: Mapping[str, object]) -> str:
    return hashlib.sha256(repr(sorted(facts.items())).encode()).hexdigest()


def _lines(blocks: Mapping[Block, str]) -> Iterator[str]:
    return (json.dumps([*block, checksum]) for block, checksum in sorted(blocks.items()))


def _another(path: Path, found: str) -> DeclarationError:
    return DeclarationError(f"resuming {path}", f"it is not what the journal beside it describes: {found}", _ANEW)


@contextmanager
def _told(asked: str) -> Iterator[None]:
    """Turn an error of the system into one that says what is kept."""
    try:
        yield
    except OSError as error:
        remedy = "make room or choose another disk, and call again: the blocks in the journal are kept"
        raise DeclarationError(asked, error.strerror or str(error), remedy) from None


def _size(path: Path) -> int:
    """Bytes on the disk that overwriting sets free."""
    if path.is_dir():
        return sum(entry.stat().st_size for entry in path.rglob("*") if entry.is_file())
    return path.stat().st_blocks * 512 if path.exists() else 0


def _json(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _flush(path: Path) -> None:
    with path.open("rb+") as written:
        os.fsync(written.fileno())
