"""Values and stated errors of generated modules, beside exact values: measured, compared with what was kept.

Exact values are those of ``Quantity.evalf``, ball arithmetic that shares no code with the generator. A generated module
states its error on a scale that it names; the scales of a quantity are sums over its terms, for the code computes them
apart:

value
    the absolute values of the terms,
weights
    the same, where the error is that at a few weights of a skip connection, neither doubled nor rounded up,
slope
    the larger ones of ``|F|`` and ``|v dF/dv|``, v the covariance, or the kernel of one input,
norm
    ``sqrt(<f**2> <g**2>)``, the geometric mean of the values for two equal inputs,
largest
    the largest one of these, about the largest value for the same two kernels,
layers
    of a network: the sum of the scales of all layers, each times the slopes of the layers after it.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cache
from itertools import groupby
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

import symres as sr
from symres.codegen import targets
from tests.golden.value_cases import COUNT, NETWORKS, QUANTITIES, arguments, exactly

LANGUAGES = targets.names()
DIGITS = 17
UNIT = 2.0**-53
ROUNDING = 8 * UNIT  # of a value: a few products and sums of terms whose errors are stated
# A stated error is a measured one, doubled and rounded up to 1, 2 or 5 times a power of ten: another processor, or
# another version of a library, moves it by one of these steps.
NOISE = 2.5
UNNOTICED = 1e-15  # errors of this size are not compared with each other
WRONG = 1e-9  # larger errors where nothing is stated are kept place by place, so that none hides another
NO_FLOAT = 1e-290  # what is smaller is lost, or has fewer digits, in floats
KINDS = ("value", "weights", "slope", "norm", "largest")  # scales, the strictest first

Place = dict[str, Any]  # "at": the arguments, "exact": the value, "scales": their sizes
Record = dict[str, Any]  # of one language
File = dict[str, Any]

getcontext().prec = 60


class Worse(AssertionError):
    """Something is worse than what was kept."""


# ---- exact values and scales -------------------------------------------------------------------------------------
def places_of(name: str) -> list[Place]:
    """Places that a quantity has a value at, with its exact value and the scales there."""
    names = _names(name)
    found: list[Place] = []
    for at in arguments(names):
        place = _place(name, at)
        if place is not None:
            found.append(place)
        if len(found) == COUNT:
            break
    return found


def exact_value(name: str, at: dict[str, float]) -> str:
    """The value to 17 digits."""
    value = _recursion(name, at)[0] if name in NETWORKS else _quantity(name).evalf(DIGITS + 1, **exactly(at))
    return mp.nstr(value, DIGITS, min_fixed=0, max_fixed=0)


def _place(name: str, at: dict[str, float]) -> Place | None:
    try:
        exact = exact_value(name, at)
    except sr.SymresError:
        return None
    if not math.isfinite(float(exact)):
        return None
    scales = {"layers": _recursion(name, at)[1]} if name in NETWORKS else _scales(name, exactly(at))
    scales = {kind: max(size, abs(float(exact))) for kind, size in scales.items()}
    return {"at": at, "exact": exact, "scales": {kind: float(f"{size:.3g}") for kind, size in scales.items()}}


def _names(name: str) -> set[str]:
    if name not in NETWORKS:
        return {s.name for s in _quantity(name).symbols}
    return {"K1", "K2", "C", *_network(name).parameter_names}


@cache
def _quantity(name: str) -> sr.Quantity:
    return QUANTITIES[name]()


@cache
def _network(name: str) -> sr.Network:
    return NETWORKS[name][0]()


@cache
def _terms(name: str) -> tuple[tuple[sp.Expr, sr.Quantity], ...]:
    """A quantity as a sum of monomials in the scalars of the layer times functions of kernels; or itself, whole."""
    quantity = _quantity(name)
    kernels = {s for s in quantity.symbols if s.name in ("K", "K1", "K2", "C")} or set(quantity.symbols)
    scalars = [s for s in quantity.symbols if s not in kernels]
    parts = {sp.Integer(1): quantity.defined}
    if scalars and kernels:
        try:
            polynomial = sp.Poly(quantity.defined, *scalars)
        except sp.PolynomialError:
            polynomial = None
        if polynomial is not None and not any(c.free_symbols & set(scalars) for c in polynomial.coeffs()):
            parts = {sp.Mul(*(s**n for s, n in zip(scalars, m, strict=True))): c for m, c in polynomial.terms()}
    found = []
    for monomial, part in parts.items():
        symbols = quantity.symbols if monomial == 1 else tuple(s for s in quantity.symbols if s in kernels)
        own = replace(quantity, symbols=symbols, definition=part, body=part, steps=(), status=sr.Status.NUMERIC,
                      reason="a term", unused=(), expansion=None, verifications=())  # fmt: skip
        found.append((monomial, own))
    return tuple(found)


@cache
def _slope(term: sr.Quantity, symbol: str) -> sr.Quantity:
    return sr.derivative(term, symbol)


def _size(quantity: sr.Quantity, at: dict[str, Any], symbol: str = "") -> float:
    """The absolute value, or that of the slope times the symbol; 0 where there is none, or an infinite one."""
    try:
        quantity = _slope(quantity, symbol) if symbol else quantity
        size = abs(float(quantity.evalf(6, **{s.name: at[s.name] for s in quantity.symbols})))
    except sr.SymresError:
        return 0.0
    size *= abs(float(at[symbol])) if symbol else 1.0
    return size if math.isfinite(size) else 0.0


def _scales(name: str, at: dict[str, Fraction]) -> dict[str, float]:
    scales = dict.fromkeys(("value", "slope", "norm"), 0.0)
    terms = _terms(name)
    for monomial, term in terms:
        weight = abs(float(monomial.subs({s: sp.Rational(at[s.name]) for s in monomial.free_symbols})))
        value = _size(term, at)
        moved = [s for s in ("C", "K") if s in at] or [s.name for s in term.symbols]
        slopes = [_size(term, at, s) for s in moved]
        if len(terms) == 1:  # no sum of terms: its kernels stand in denominators and roots
            slopes = [sum(_size(term, at, s.name) for s in term.symbols)]
        scales["value"] += weight * (value if len(terms) > 1 else value + sum(slopes))
        scales["slope"] += weight * max(value, *slopes)
        if "C" in at:
            both = [_size(term, {**at, "K1": at[k], "K2": at[k], "C": at[k]}) for k in ("K1", "K2")]
            scales["norm"] += weight * max(math.sqrt(both[0]) * math.sqrt(both[1]), value)
    return scales


_DEEP = 45  # digits between the layers of a network


def _recursion(name: str, at: dict[str, float]) -> tuple[mp.mpf, float]:
    """A result of a network, layer by layer, and the scale of the errors of all layers.

    Those of a layer are multiplied by the slopes of all layers after it.
    """
    network, result = _network(name), NETWORKS[name][1]
    scalars = {s: Fraction(v) for s, v in at.items() if s not in ("K1", "K2", "C")}
    with mp.workdps(_DEEP + 15):
        state = {s: mp.mpf(at.get(s, 0.0)) for s in ("K1", "K2", "C", "Theta")}
        size = dict.fromkeys(state, 0.0)
        for layer in network.layers:
            equal = state["K1"] == state["K2"] == state["C"]
            given = {**state, **scalars}
            maps = {"K1": (layer.kernel_map, {"K": "K1"}), "K2": (layer.kernel_map, {"K": "K2"})}
            maps |= {"C": (layer.covariance_map, {}), "Theta": (layer.ntk_map, {})}
            following, errors = {}, {}
            for left, (quantity, other) in maps.items():
                named = {s.name: given[other.get(s.name, s.name)] for s in quantity.symbols}
                following[left] = quantity.evalf(_DEEP, **named)
                errors[left] = _own_error(quantity, named)
                for s in quantity.symbols:
                    variable = other.get(s.name, s.name)
                    if variable in state and size[variable]:
                        errors[left] += _size(_slope(quantity, s.name), named) * size[variable]
            if equal:
                following["C"], errors["C"] = following["K1"], errors["K1"]
            bound = mp.sqrt(following["K1"] * following["K2"])
            if abs(following["C"]) > bound:  # parallel inputs, rounded
                following["C"] = mp.sign(following["C"]) * bound * (1 - mp.mpf(10) ** -(_DEEP - 3))
            state, size = following, errors
        return (+state["C"], size["C"]) if result == 0 else (+state["Theta"], size["Theta"])


def _own_error(quantity: sr.Quantity, named: dict[str, Any]) -> float:
    """The scale of a layer's map: its value, what its covariance or kernel makes of it, or that of equal inputs."""
    moved = "C" if "C" in named else "K"
    sizes = [_size(quantity, named), _size(quantity, named, moved)]
    if "C" in named:
        both = [{**named, "K1": named[k], "K2": named[k], "C": named[k]} for k in ("K1", "K2")]
        sizes.append(math.sqrt(math.prod(_size(quantity, values) for values in both)))
    return max(sizes)


# ---- generated code ----------------------------------------------------------------------------------------------
_BOUND = re.compile(
    r"Error(?: \(\w+\))?: at most (?P<error>\S+) of "
    r"(?:(?P<slope>max\(\|[fF]\|, \|[KC] d[fF]/d[KC]\|\))|(?P<norm>sqrt\(<f\*\*2> <g\*\*2>\))|(?P<value>the value)).*?"
    r"measured for (?:K|kernels) in 1e-8\.\.(?P<last>[\d.e]+\d)"
)
_AT_SOME_WEIGHTS = re.compile(r"Error: (?P<error>\S+) relative at (?P<weights>gamma)")
_POOR = re.compile(r"fewer than 6 digits for [^;]*; at most (?P<error>\S+) of the (?P<largest>largest value)")
_UNBOUNDED = re.compile(r"(?:Error(?: \(\w+\))?:|is inaccurate:) unbounded")
_LAST = re.compile(r"kernels in 1e-8\.\.(?P<last>[\d.e]+\d) \(measured\)")


def statement(text: str) -> Record:
    """The largest error that a module states, its scales, and the last kernel that it was measured at.

    The error is 0 where it is "rounding of the operations shown", and None where nothing is said.
    """
    words = " ".join(re.sub(r"^\s*\*(?!\*)", "", line).strip() for line in text.splitlines())
    found = [m for pattern in (_BOUND, _AT_SOME_WEIGHTS, _POOR) for m in pattern.finditer(words)]
    kinds = sorted({kind for m in found for kind in KINDS if m.groupdict().get(kind)}, key=KINDS.index)
    stated: float | None = max((float(m["error"]) for m in found), default=0.0)
    if _UNBOUNDED.search(words):
        stated = math.inf
    elif not found and "rounding of the operations shown" not in words:
        stated = None
    last = min((float(m["last"]) for pattern in (_BOUND, _LAST) for m in pattern.finditer(words)), default=1e4)
    return {"stated": stated, "scales": kinds, "last": last}


def measure(name: str, places: list[Place], language: str) -> Record:
    """What a language states and what it gives, or why it has no code.

    Of each place there is the error as a share of its scale: those where the statement holds are "within", the others,
    with kernels that were not measured, "beyond"; of these, places with few digits are "wrong". "outside" are places
    where an error is larger than the one that is stated. "no number" are the places where the code has none.
    """
    try:
        module = sr.export(_network(name) if name in NETWORKS else _quantity(name), target=language)
    except sr.SymresError as error:
        return {"missing": error.found}
    except Exception as error:  # a defect: what is known about it is kept until it is mended
        return {"missing": f"defect: {type(error).__name__}: {error}"}
    record = statement(module.text)
    target = targets.find(language)
    with target.in_double_precision():
        function = getattr(module.load(), "dual_kernel" if name in NETWORKS else module.functions[-1])
        values = _values(name, function, places, language)
    return judged(record, places, values)


def judged(record: Record, places: list[Place], values: list[list[float]]) -> Record:
    """The record of a language with the errors of its values; of several values for a place the worst counts."""
    record = {**record, "within": 0.0, "beyond": 0.0, "wrong": {}, "outside": {}, "no number": []}
    for number, (place, found) in enumerate(zip(places, values, strict=True)):
        if not all(map(math.isfinite, found)):
            record["no number"].append(number)
            continue
        distance = max(float(abs(Decimal(value) - Decimal(place["exact"]))) for value in found)
        scales = place["scales"]
        if distance < NO_FLOAT:
            continue
        if not is_measured(place["at"], record["last"]):
            share = _share(distance, max(scales.values()))
            if share > WRONG:
                record["wrong"][str(number)] = share
            else:
                record["beyond"] = max(record["beyond"], share)
            continue
        scale = _scale(scales, record["scales"])
        record["within"] = max(record["within"], _share(distance, scale))
        if record["stated"] is None:
            continue
        rounding = ROUNDING * scales.get("value", scale)
        stated = record["stated"] * (NOISE if "weights" in record["scales"] else 1)
        if distance > stated * scale + rounding:
            record["outside"][str(number)] = _share(distance - rounding, scale)
    return record


def _scale(scales: dict[str, float], kinds: list[str]) -> float:
    """The largest of the scales that a module names: its functions are made of several averages."""
    if "largest" in kinds or "layers" in scales:
        return max(scales.values())
    return max(scales["value" if kind == "weights" else kind] for kind in kinds or ["value"])


def _share(distance: float, scale: float) -> float:
    return float(f"{distance / scale:.2g}") if scale else math.inf


def is_measured(at: dict[str, float], last: float) -> bool:
    """Whether errors are stated for such arguments: kernels from 1e-8, correlations that are 1 or not that close."""
    kernels = [at[k] for k in ("K", "K1", "K2") if k in at]
    if not all(1e-8 <= k <= last for k in kernels):
        return False
    if "C" not in at or at["C"] == 0:
        return True
    square = Fraction(at["C"]) ** 2 / (Fraction(at["K1"]) * Fraction(at["K2"]))
    return square == 1 or square <= (1 - Fraction(1, 10**12)) ** 2 * (1 + Fraction(1, 10**15))


def _values(name: str, function: Callable[..., Any], places: list[Place], language: str) -> list[list[float]]:
    """For each place the values of the code, called with numbers and with arrays: matrices for two inputs."""
    found: list[list[float]] = [[] for _ in places]
    arrays = {"K1", "K2", "C", "K", "Theta"}

    def scalars(number: int) -> list[tuple[str, float]]:
        return sorted((n, v) for n, v in places[number]["at"].items() if n not in arrays)

    result = NETWORKS[name][1] if name in NETWORKS else None
    unused = {} if name in NETWORKS else {s.name: 0.0 for s in _quantity(name).unused}
    with np.errstate(all="ignore"):
        for _, group in groupby(sorted(range(len(places)), key=scalars), key=scalars):
            numbers = list(group)
            given = [places[n]["at"] for n in numbers]
            passed: dict[str, Any] = {n: np.array([at[n] for at in given]) for n in given[0] if n in arrays}
            pair = "C" in passed
            if pair:  # a matrix, with the places on its diagonal
                passed["K1"], passed["K2"] = passed["K1"][:, None], passed["K2"][None, :]
                passed["C"] = np.diag(passed["C"])
                if "Theta" in passed:
                    passed["Theta"] = np.diag(passed["Theta"])
            fixed = {**unused, **dict(scalars(numbers[0]))}
            whole = _called(function, language, {**passed, **fixed}, result)
            column = np.diag(whole) if pair else np.broadcast_to(whole, len(numbers))
            for n, value in zip(numbers, column, strict=True):
                found[n].append(float(value))
                if language != "jax":  # its functions are slow for single numbers, unless they are compiled
                    found[n].append(float(_called(function, language, {**unused, **places[n]["at"]}, result)))
    return found


def _called(function: Callable[..., Any], language: str, given: dict[str, Any], result: int | None) -> Any:
    if language == "torch":
        import torch

        given = {n: torch.as_tensor(v, dtype=torch.float64) for n, v in given.items()}
    value = function(**given)
    return np.asarray(value if result is None else value[result])


# ---- comparison with what was kept -------------------------------------------------------------------------------
def require_not_worse(kept: Record, now: Record, name: str = "", is_network: bool = False) -> None:
    """Make sure that a language is as good as it was.

    Raises:
        Worse: it is not.
    """
    if "missing" in kept:
        return
    if "missing" in now:
        raise Worse(f"{name}: there was code, now it is missing: {now['missing']}")
    problems = []
    was, stated = (math.inf if record["stated"] is None else record["stated"] for record in (kept, now))
    if kept["stated"] is not None and (now["stated"] is None or stated > NOISE * was):
        problems.append(f"an error of {now['stated']} is stated, it was {kept['stated']}")
    if _weakest(now) > _weakest(kept):
        problems.append(f"it is relative to {now['scales']}, it was to {kept['scales']}")
    if now["last"] < 0.9 * kept["last"]:
        problems.append(f"it was measured up to kernels of {now['last']}, and had been up to {kept['last']}")
    if lost := sorted(set(now["no number"]) - set(kept["no number"])):
        problems.append(f"no number at the places {lost}")
    for place, share in now["wrong"].items():
        if share > NOISE * kept["wrong"].get(place, 0.0):
            problems.append(f"an error of {share} at place {place}")
    for place, share in now["outside"].items():
        if share > NOISE * kept["outside"].get(place, 0.0):
            problems.append(f"an error of {share} at place {place}, although {now['stated']} is stated")
    for part in ("within", "beyond"):
        if part == "within" and math.isfinite(stated) and not is_network:
            continue  # the statement is compared at every place
        # where nothing is stated, an error that may be elsewhere is as good as a smaller one
        elsewhere = was if part == "beyond" and math.isfinite(was) else 0.0
        if now[part] > max(NOISE * kept[part], elsewhere, UNNOTICED):
            problems.append(f"an error of {now[part]} {part} what is measured, it was {kept[part]}")
    if problems:
        raise Worse(f"{name}: {'; '.join(problems)}")


def better(kept: Record, now: Record) -> Record:
    """A record that is not worse, with the smaller ones of both numbers: noise does not add up over renewals."""
    if "missing" in kept or "missing" in now:
        return now
    merged = dict(now)
    if kept["scales"] == now["scales"]:
        for part in ("stated", "within", "beyond"):
            if kept[part] is not None and now[part] is not None:
                merged[part] = min(kept[part], now[part])
    return merged


def _weakest(record: Record) -> int:
    return max((KINDS.index(kind) for kind in record["scales"]), default=0)


def require_same_places(kept: list[Place], now: list[Place], name: str) -> None:
    """Make sure that exact values are what they were.

    Raises:
        Worse: they are not.
    """
    for number, (was, found) in enumerate(zip(kept, now, strict=True)):
        if abs(Decimal(was["exact"]) - Decimal(found["exact"])) > Decimal("2e-17") * abs(Decimal(was["exact"])):
            raise Worse(f"{name}: the exact value at place {number} was {was['exact']}, now it is {found['exact']}")


def written(content: File) -> str:
    """The text of a file: a line for each place and for each language."""
    places = ",\n".join(f"    {json.dumps(place)}" for place in content["places"])
    languages = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in content["languages"].items())
    head = json.dumps(content["quantity"])
    return f'{{\n  "quantity": {head},\n  "places": [\n{places}\n  ],\n  "languages": {{\n{languages}\n  }}\n}}\n'
