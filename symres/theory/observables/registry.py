"""All observables by name."""

from __future__ import annotations

from types import MappingProxyType

from ...results.observable import Observable
from . import deep_networks, layer_maps
from .layer_observable import LayerObservable

RECORDS: tuple[Observable, ...] = (*layer_maps.OBSERVABLES, *deep_networks.OBSERVABLES)
# in the order of the derivation; with another record, ``observables | {record.name: record}`` is a list of its own
observables: MappingProxyType[str, Observable] = MappingProxyType({record.name: record for record in RECORDS})


def functions() -> dict[str, LayerObservable]:
    """The observables of one layer, whose names stand for them in sentences; "vertex" is a word."""
    return {name: record for name, record in observables.items() if isinstance(record, LayerObservable)}
