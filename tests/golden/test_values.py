"""Values and stated errors of generated code, quantity by quantity and language by language, may only get better.

Each file in ``values`` holds hard places with exact values, and for each language the error that its module states and
the largest one that was measured, or why there is no code. ``python -m pytest tests/golden/test_values.py -m ""
--renew-golden`` writes them anew where nothing is worse; to accept that something is, delete its file first.
"""

import copy
import json
import math
import sys
import time
from pathlib import Path

import pytest

from tests.golden import kept_values as values
from tests.golden.value_cases import COUNT, NAMES, NETWORKS

VALUES = Path(__file__).parent / "values"
SAMPLE = [
    *((name, language) for name in ("relu_covariance_map", "erf_tangent_kernel") for language in ("numpy", "c")),
    ("network_relu_kernel", "numpy"),
    ("relu6_covariance_slope", "c"),
]


def content_of(name):
    return json.loads((VALUES / f"{name}.json").read_text())


def require_same_values(name, places):
    """Compute the exact values anew."""
    now = [{**place, "exact": values.exact_value(name, place["at"])} for place in places]
    values.require_same_places(places, now, name)


def compared(name, kept, language):
    """Measure a language, and make sure that it is not worse than it was."""
    now = values.measure(name, kept["places"], language)
    values.require_not_worse(kept["languages"][language], now, f"{name} in {language}", name in NETWORKS)
    return now


def renewed(name, folder=VALUES, languages=values.LANGUAGES):
    """Write a file anew if nothing is worse; all that is worse is reported together."""
    path = folder / f"{name}.json"
    kept = json.loads(path.read_text()) if path.exists() else None
    places = values.places_of(name) if kept is None else kept["places"]
    if kept is not None:
        require_same_values(name, places)
    found, worse = {}, []
    for language in languages:
        start = time.perf_counter()
        now = values.measure(name, places, language)
        seconds = time.perf_counter() - start
        print(
            f"{NAMES.index(name) + 1}/{len(NAMES)} {name} in {language}: {seconds:.0f} s", file=sys.stderr, flush=True
        )
        was = (kept["languages"] if kept else {}).get(language, {"missing": ""})
        try:
            values.require_not_worse(was, now, f"{name} in {language}", name in NETWORKS)
        except values.Worse as error:
            worse.append(str(error))
        found[language] = values.better(was, now)
    if kept is not None:  # in the order of the file: a difference is one of values
        found = {language: found[language] for language in sorted(found, key=[*kept["languages"], *found].index)}
    assert not worse, "\n".join([f"{path} is left as it is; delete it to accept this:", *worse])
    path.parent.mkdir(exist_ok=True)
    path.write_text(values.written({"quantity": name, "places": places, "languages": found}))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_values_and_stated_errors_are_not_worse(name, request, capsys):
    if request.config.getoption("--renew-golden"):
        with capsys.disabled():
            renewed(name)
        return
    kept, worse = content_of(name), []
    for language in values.LANGUAGES:
        try:
            compared(name, kept, language)
        except values.Worse as error:
            worse.append(str(error))
    assert not worse, "\n".join(worse)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_exact_values_are_what_they_were(name):
    require_same_values(name, content_of(name)["places"])


@pytest.mark.parametrize(("name", "language"), SAMPLE)
def test_some_values_are_not_worse(name, language):
    kept = content_of(name)
    compared(name, kept, language)
    require_same_values(name, kept["places"][:3])


def test_every_quantity_has_its_file():
    assert {path.name for path in VALUES.iterdir()} == {f"{name}.json" for name in NAMES}
    for name in NAMES:
        content = content_of(name)
        assert content["quantity"] == name and len(content["places"]) == COUNT
        assert set(content["languages"]) == set(values.LANGUAGES), f"renew {name}.json"
        assert values.written(content) == (VALUES / f"{name}.json").read_text()


# ---- what would be seen ------------------------------------------------------------------------------------------
def test_an_exact_value_off_by_a_billionth_is_seen():
    kept = content_of("relu_covariance_map")
    compared("relu_covariance_map", kept, "numpy")
    for number in (0, 6, 11, 13, 25):
        off = copy.deepcopy(kept)
        place = off["places"][number]
        place["exact"] = repr(float(place["exact"]) * (1 + 1e-9))
        with pytest.raises(values.Worse, match=f"at place {number}, although"):
            compared("relu_covariance_map", off, "numpy")
        with pytest.raises(values.Worse, match=f"exact value at place {number}"):
            values.require_same_places(off["places"], kept["places"], "relu")


PLACES = [
    {"at": {"K1": 1.0, "K2": 1.0, "C": 0.5}, "exact": "0.5", "scales": {"value": 0.5, "slope": 0.5, "norm": 1.0}},
    {"at": {"K1": 1e6, "K2": 1.0, "C": 0.5}, "exact": "0.25", "scales": {"value": 0.25, "slope": 0.5, "norm": 1.0}},
]
STATED = {"stated": 1e-14, "scales": ["slope"], "last": 1e4}


def found(*numbers, **changes):
    return values.judged({**STATED, **changes}, PLACES, [[number] for number in numbers])


def test_what_is_worse_is_refused_and_what_is_better_is_not():
    kept = found(0.5 * (1 + 1e-14), 0.25)
    assert kept["outside"] == {} and kept["no number"] == []
    for now in (
        found(0.5, 0.25 * (1 + 1e-14)),
        found(0.5, 0.25, stated=2e-14),  # another processor
        found(0.5, 0.25, scales=["value"]),
        found(0.5, 0.25, stated=5e-16, last=1e5),
    ):
        values.require_not_worse(kept, now)
    for now, word in (
        (found(0.5 * (1 + 1e-9), 0.25), "place 0"),
        (found(0.5, 0.25 * (1 + 1e-10)), "beyond"),
        (found(0.5, 0.25 * (1 + 1e-8)), "place 1"),
        (found(0.5, math.nan), "no number"),
        (found(0.5, 0.25, stated=5e-14), "stated"),
        (found(0.5, 0.25, stated=None), "stated"),
        (found(0.5, 0.25, scales=["norm"]), "relative"),
        (found(0.5, 0.25, last=50.0), "measured up to"),
        ({"missing": "no such code"}, "missing"),
    ):
        with pytest.raises(values.Worse, match=word):
            values.require_not_worse(kept, now)
    values.require_not_worse({"missing": "no such code"}, kept)
    silent = found(0.5, 0.25, stated=None)  # only what was measured tells
    values.require_not_worse(silent, found(0.5 * (1 + 5e-16), 0.25, stated=None))
    with pytest.raises(values.Worse, match="within"):
        values.require_not_worse(silent, found(0.5 * (1 + 1e-14), 0.25, stated=None))


def test_renewals_keep_the_smaller_numbers_and_refuse_worse_ones(tmp_path):
    first, later = found(0.5, 0.25), found(0.5, 0.25, stated=2e-14)
    assert values.better(first, later)["stated"] == 1e-14 and values.better(later, first)["stated"] == 1e-14
    name = "relu_covariance_map"
    renewed(name, tmp_path, ("numpy",))
    good = (tmp_path / f"{name}.json").read_text()
    claimed = json.loads(good)
    claimed["languages"]["numpy"]["stated"] = 1e-17
    (tmp_path / f"{name}.json").write_text(values.written(claimed))
    with pytest.raises(AssertionError, match="delete it to accept this"):
        renewed(name, tmp_path, ("numpy",))
    assert (tmp_path / f"{name}.json").read_text() == values.written(claimed)
    (tmp_path / f"{name}.json").unlink()
    renewed(name, tmp_path, ("numpy",))
    assert json.loads((tmp_path / f"{name}.json").read_text())["places"] == json.loads(good)["places"]


def test_statements_of_errors_are_read():
    line = (
        "    Error (_average_2): at most 5e-15 of sqrt(<f**2> <g**2>), for equal functions the geometric mean of the\n"
    )
    line += "        two, measured for kernels in\n        1e-8..55.1 and correlations up to 1 - 1e-12 and of 1.\n"
    assert values.statement(line) == {"stated": 5e-15, "scales": ["norm"], "last": 55.1}
    comment = " * Error: at most 2e-15 of max(|F|, |C dF/dC|), measured for kernels in 1e-8..1e4 and |C| <= (1 -\n"
    both = values.statement(line + comment.replace("5e-15", "2e-15") + " *     1e-12) sqrt(K1 K2).\n")
    assert both == {"stated": 5e-15, "scales": ["slope", "norm"], "last": 55.1}
    assert values.statement(" * Error: at most 2e-15\n *     of the value, measured for K in 1e-8..1e4.")["scales"] == [
        "value"
    ]
    growth = values.statement("Error: 4.2e-15 relative at gamma = 0.3, 0.5.")
    assert growth == {"stated": 4.2e-15, "scales": ["weights"], "last": 1e4}
    assert values.statement("Error: rounding of the operations shown.")["stated"] == 0.0
    assert values.statement("Kernel of the next layer.")["stated"] is None
    poor = "_average_1 is inaccurate: fewer than 6 digits for K1 = 1e4; at most\n  1e-13 of the largest value."
    assert values.statement(line + poor) == {"stated": 1e-13, "scales": ["norm", "largest"], "last": 55.1}
    assert values.statement(line + "Error: unbounded, no value at K = 0.")["stated"] == math.inf
