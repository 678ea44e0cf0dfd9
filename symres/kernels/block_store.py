"""Files of matrices that are written block by block, and the journal of the blocks that are safe.

A block counts as safe where the journal has its checksum and the file has the same: files are cut off, lose chunks, or
take the place of others between two runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError

import numpy as np

from ..core import files
from ..core.errors import DeclarationError
from .kernel_arguments import require

Block = tuple[int, int]  # its row and its column of blocks
Area = tuple[slice, slice]  # rows and columns of a matrix

_ANEW = "choose another path, or pass resume=False to overwrite it"
_UNFINISHED = ".partial"  # how the names of files end that zarr has not written to their end
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True)
class Grid:
    """The blocks of a matrix."""

    shape: tuple[int, int]  # of the matrix
    chunks: tuple[int, int]  # of a block
    symmetric: bool  # whether it is its own mirror image

    @property
    def blocks(self) -> list[Block]:
        """The blocks that are computed, row by row."""
        rows, columns = (-(-n // size) for n, size in zip(self.shape, self.chunks, strict=True))
        return [(i, j) for i in range(rows) for j in range(i if self.symmetric else 0, columns)]

    def areas(self, block: Block) -> list[Area]:
        """The area of a block, and that of its mirror image, its transpose, if it has another one."""
        starts = [k * size for k, size in zip(block, self.chunks, strict=True)]
        ends = [min(k + size, n) for k, size, n in zip(starts, self.chunks, self.shape, strict=True)]
        rows, columns = map(slice, starts, ends)
        return [(rows, columns), (columns, rows)] if self.symmetric and block[0] != block[1] else [(rows, columns)]

    def parts(self, block: Block, values: np.ndarray) -> Iterator[tuple[Area, np.ndarray]]:
        """What a block is in each of its areas."""
        return zip(self.areas(block), (values, values.T), strict=False)


@dataclass(frozen=True)
class Store(ABC):
    """A file of a matrix. It is pickled with the task that writes a block, which opens it by its path."""

    path: Path  # where it is
    grid: Grid  # the blocks of the matrix
    dtype: np.dtype  # of its entries

    @property
    def size(self) -> int:
        """Bytes of the matrix."""
        return self.grid.shape[0] * self.grid.shape[1] * self.dtype.itemsize

    @abstractmethod
    def create(self) -> None:
        """Make the file, or the folder, with no block in it."""

    @abstractmethod
    def write(self, area: Area, values: np.ndarray) -> None:
        """Write a part of the matrix; when this returns, it is on the disk."""

    @abstractmethod
    def mend(self) -> None:
        """Give what an earlier run left its whole size again.

        Raises:
            DeclarationError: it is not what ``create`` makes.
        """

    @abstractmethod
    def opened(self) -> np.ndarray:
        """The matrix as an array that reads from the disk."""

    def write_block(self, block: Block, values: np.ndarray) -> str:
        """Write a block and its mirror image; returns its checksum.

        Raises:
            DeclarationError: the disk is full, or fails.
        """
        with _told(f"writing {self.path}"):
            for area, part in self.grid.parts(block, values):
                self.write(area, part)
        return _checksum(values)

    def intact(self, checksums: Mapping[Block, str]) -> dict[Block, str]:
        """Of blocks with their checksums those that are what was written, like their mirror images."""
        matrix = self.opened()

        def is_intact(block: Block, checksum: str) -> bool:
            try:
                parts = [matrix[area] for area in self.grid.areas(block)]
            except Exception:  # zarr has no error of its own for a chunk of another size
                return False
            return {_checksum(part.T if turned else part) for turned, part in enumerate(parts)} == {checksum}

        return {block: checksum for block, checksum in checksums.items() if is_intact(block, checksum)}

    def _another(self, contents: str) -> DeclarationError:
        reason = f"it is not what the journal beside it describes: {contents}"
        return DeclarationError(f"resuming {self.path}", reason, _ANEW)


class NpyStore(Store):
    """A .npy file."""

    def create(self) -> None:
        """A file of the whole size, that takes no room before blocks are written."""
        files.write_whole(self.path, lambda path: np.lib.format.open_memmap(path, "w+", self.dtype, self.grid.shape))

    def write(self, area: Area, values: np.ndarray) -> None:
        """Row by row, not by a memory map: to that a full disk is a signal that ends the process.

        Nor through a buffer, which would write what stands between two rows as it has read it: others write there.
        """
        rows, columns = area
        start = self.path.stat().st_size - self.size  # NumPy would read the header as Python, which threads cannot
        with self.path.open("rb+", buffering=0) as file:
            for row, entries in zip(range(rows.start, rows.stop), np.ascontiguousarray(values), strict=True):
                file.seek(start + (row * self.grid.shape[1] + columns.start) * self.dtype.itemsize)
                unwritten = entries.data.cast("B")
                while len(unwritten):  # a disk that is nearly full takes a part, and refuses what is left
                    unwritten = unwritten[file.write(unwritten) :]
            os.fsync(file.fileno())

    def mend(self) -> None:
        """A file that was cut off is lengthened; what was lost in it does not have its checksum."""
        with self.path.open("rb+") as file:
            try:
                shape, is_fortran, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
            except (KeyError, ValueError, TypeError, SyntaxError, TokenError):  # NumPy reads it as Python
                raise self._another("its header is damaged") from None
            if (shape, dtype, is_fortran) != (self.grid.shape, self.dtype, False):
                order = " in the order of columns" if is_fortran else ""
                raise self._another(f"it is an array of {dtype} of shape {shape}{order}")
            end = file.tell() + self.size
            if (size := self.path.stat().st_size) > end:
                raise self._another(f"it is {size - end} bytes too long")
            if size < end:
                file.truncate(end)

    def opened(self) -> np.ndarray:
        """A memory map, read only."""
        return np.load(self.path, mmap_mode="r")


class ZarrStore(Store):
    """A zarr array in a folder, one chunk for each block, not compressed: kernels have no repeating digits."""

    def create(self) -> None:
        """An array without chunks."""
        import zarr

        layout = {"shape": self.grid.shape, "dtype": self.dtype, "chunks": self.grid.chunks, "compressors": None}
        zarr.create_array(store=self.path, overwrite=True, **layout)

    def write(self, area: Area, values: np.ndarray) -> None:
        """One file, which is its own."""
        import zarr

        matrix = zarr.open_array(store=self.path, mode="r+")
        numbers = tuple(cut.start // size for cut, size in zip(area, self.grid.chunks, strict=True))
        chunk = self.path / matrix.metadata.encode_chunk_key(numbers)
        chunk.unlink(missing_ok=True)  # what a kill has left of it may not be readable
        matrix[area] = values
        if chunk.exists():  # a chunk of zeros alone has no file
            with chunk.open("rb+") as file:
                os.fsync(file.fileno())

    def mend(self) -> None:
        """Chunks that are lost are made when they are written; of the array only its description is looked at."""
        if all(name.endswith(_UNFINISHED) for name in os.listdir(self.path)):
            self.create()  # killed before there was a description
        try:
            matrix = self.opened()
            shape, chunks, dtype = matrix.shape, matrix.chunks, matrix.dtype  # type: ignore[attr-defined]
            shards = matrix.shards  # type: ignore[attr-defined]
        except Exception as error:  # zarr has no error of its own for a description that is damaged
            raise self._another(f"zarr does not open it ({type(error).__name__}: {error})") from None
        if (shape, chunks, dtype) != (self.grid.shape, self.grid.chunks, self.dtype):
            raise self._another(f"it is an array of {dtype} of shape {shape} in chunks {chunks}")
        if shards is not None:  # a file holds several chunks then
            raise self._another(f"it is an array in shards {shards}")

    def opened(self) -> np.ndarray:
        """A zarr array, read only."""
        import zarr

        return zarr.open_array(store=self.path, mode="r")


STORES: dict[str, type[Store]] = {".npy": NpyStore, ".zarr": ZarrStore}


def store_at(path: Path, grid: Grid, dtype: np.dtype) -> Store:
    """The store of a path, by its ending.

    Raises:
        DeclarationError: its folder does not exist, or its ending is unknown.
        SymresError: it is a zarr folder, and zarr is not installed.
    """
    made = STORES.get(path.suffix)
    if made is None:
        remedy = f"let the name end with {' or '.join(STORES)}"
        raise DeclarationError(f"a kernel matrix in {path}", f"the ending {path.suffix!r} is unknown", remedy)
    if made is ZarrStore:
        require(f"a kernel matrix in {path}", "kernels", "zarr")
    try:
        os.lstat(path.with_name(f"{path.name}.journal"))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # too long, or with a character that no name has
        reason = getattr(error, "strerror", None) or str(error)
        raise DeclarationError(f"writing {str(path)[:80]!r}", reason, "choose another path") from None
    if not path.parent.is_dir():
        raise DeclarationError(f"writing {path}", f"there is no folder {path.parent}", "choose a folder that exists")
    return made(path, grid, dtype)


@dataclass(frozen=True)
class Journal:
    """The blocks that are on the disk, in a file beside the output.

    Its first line says what the output is; each further line names a block and its checksum, and is written after the
    block.
    """

    path: Path  # of the journal
    facts: Mapping[str, object]  # what the output is made of, by names that people read

    def begin(self, blocks: Mapping[Block, str]) -> None:
        """Start anew, with blocks that are there."""
        files.write_text(
            self.path, json.dumps({"digest": _digest_of(self.facts), **self.facts}) + "\n" + _lines(blocks)
        )

    def finished(self, blocks: Collection[Block]) -> dict[Block, str]:
        """The blocks that an earlier run finished, with their checksums.

        What was cut off in the middle of the last line does not count.

        Raises:
            DeclarationError: the journal is that of another matrix, or damaged.
        """
        with _told(asked := f"resuming {self.path}"):
            if not self.path.is_file():
                raise DeclarationError(asked, "it is not a file", _ANEW)
            first, *further = map(_json, self.path.read_bytes().split(b"\n")[:-1] or [b""])
        if not isinstance(first, dict) or first.pop("digest", None) != _digest_of(first):
            raise DeclarationError(asked, "the journal is damaged in line 1", _ANEW)
        changed = [name for name, value in self.facts.items() if first.get(name) != value]
        if changed:
            raise DeclarationError(asked, f"it is of another matrix: its {', '.join(changed)} differ", _ANEW)
        checksums = {}
        for number, line in enumerate(further, 2):
            match line:
                case [int(i), int(j), str(checksum)] if (i, j) in blocks:
                    checksums[i, j] = checksum
                case _:
                    raise DeclarationError(asked, f"the journal is damaged in line {number}", _ANEW)
        return checksums

    def add(self, blocks: Mapping[Block, str]) -> None:
        """Say that blocks are on the disk."""
        with _told(f"writing {self.path}"), self.path.open("a", encoding="utf-8", newline="\n") as journal:
            journal.write(_lines(blocks))
            journal.flush()
            os.fsync(journal.fileno())


def prepare(store: Store, journal: Journal, resume: bool) -> set[Block]:
    """Make the files, or find what an earlier run left in them.

    Args:
        store: of the matrix.
        journal: beside it.
        resume: whether to go on where an earlier run of the same matrix ended.

    Returns:
        The blocks that are there, as their checksums say.

    Raises:
        DeclarationError: there is another matrix or another file in this place, the journal is damaged, or the disk is
            too small.
    """
    asked = f"a kernel matrix in {store.path}"
    if resume and journal.path.exists():
        finished = journal.finished(frozenset(store.grid.blocks))
        if store.path.exists():
            with _told(f"resuming {store.path}"):
                store.mend()
                intact = store.intact(finished)
            journal.begin(intact)
            return set(intact)
    elif resume and store.path.exists():
        raise DeclarationError(asked, "the path exists, without a journal of symres", _ANEW)
    replaced = [path for path in (store.path, *store.path.rglob("*")) if path.exists()]
    free = shutil.disk_usage(store.path.parent).free + sum(path.stat().st_blocks * 512 for path in replaced)
    if free < store.size:
        reason = f"it takes {store.size / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free"
        raise DeclarationError(asked, reason, "choose another disk, or dtype='float32'")
    journal.begin({})  # before the output: what is found without a journal belongs to somebody else
    try:
        with _told(asked):
            store.create()
    except DeclarationError:
        journal.path.unlink(missing_ok=True)
        raise
    return set()


def _checksum(values: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).hexdigest()


def _digest_of(facts: Mapping[str, object]) -> str:
    return hashlib.sha256(repr(sorted(facts.items())).encode()).hexdigest()


def _lines(blocks: Mapping[Block, str]) -> str:
    return "".join(json.dumps([*block, checksum]) + "\n" for block, checksum in sorted(blocks.items()))


@contextmanager
def _told(asked: str) -> Iterator[None]:
    """Turn an error of the system into one that says what is kept."""
    try:
        yield
    except OSError as error:
        remedy = "make room or choose another disk, and call again: the blocks in the journal are kept"
        raise DeclarationError(asked, error.strerror or str(error), remedy) from None


def _json(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
