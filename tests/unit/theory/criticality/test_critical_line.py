"""The sentence about a critical line: the signs along it are those of many digits."""

import pytest

from symres.core.symbols import C_W, C_b, K
from symres.theory.criticality import critical_line as module
from symres.theory.criticality.parameter_signs import at_generic
from tests.shared import derived


@pytest.mark.parametrize("formula", ["silu(z)", "max(z-1,0)"])
def test_few_bits_decide_like_many(formula, monkeypatch):
    theory = derived(formula)
    maps = theory.flow_maps
    found = module.separation(maps, None)
    free = set().union(*({*q.symbols, *q.unused} for q in maps)) - {K, C_W, C_b}
    line = module.CriticalLine.of(maps, {s: at_generic(s) for s in free})
    known = [row for row in map(line.row, module._PLACES) if row[1] == row[1]]
    decided = [side for side in map(line.side, module._PLACES) if side]
    assert decided == [(bias >= -module._ZERO * weight, flows) for weight, bias, flows in known]
    monkeypatch.setattr(module, "BITS", (module._BITS,))
    assert module.separation(maps, None) == found
