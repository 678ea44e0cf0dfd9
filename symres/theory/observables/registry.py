"""All observables by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...core.errors import DeclarationError
from ...results.observable import Observable
from . import deep_networks, layer_maps
from .layer_observable import LayerObservable


class Observables(Mapping[str, Observable]):
    """Records by name, in the order of the derivation; read-only."""

    def __init__(self, records: Sequence[Observable]) -> None:
        self._records = {record.name: record for record in records}
        if len(self._records) < len(records):
            names = [record.name for record in records]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise DeclarationError("a list of observables", f"{', '.join(twice)} occurs twice", "rename one")

    def __getitem__(self, name: str) -> Observable:
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def extended(self, *records: Observable) -> Observables:
        """A list with further observables; this one stays as it is."""
        return Observables([*self._records.values(), *records])

    @property
    def functions(self) -> dict[str, LayerObservable]:
        """The observables of one layer, whose names stand for them in sentences; "vertex" is a word."""
        return {name: record for name, record in self._records.items() if isinstance(record, LayerObservable)}


observables = Observables([*layer_maps.OBSERVABLES, *deep_networks.OBSERVABLES])
