"""The one place where shared symbols are made.

sympy symbols with equal names and different assumptions are different symbols that print alike, so no other
module of symres creates one of these.
"""

from __future__ import annotations

import re
import unicodedata

from sympy import Symbol

_GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)")

z = Symbol("z", real=True)  # a neuron of the stream (preactivation); also the variable of every formula

K = Symbol("K", positive=True)  # kernel of the preactivation, one input
K1 = Symbol("K1", positive=True)  # kernel of the first of two inputs
K2 = Symbol("K2", positive=True)
C = Symbol("C", real=True)  # covariance of two inputs, C**2 <= K1*K2; of two positions of one
P1 = Symbol("P1", real=True)  # covariance of two positions of the first of two inputs
P2 = Symbol("P2", real=True)
E = Symbol("E", real=True)  # covariance of two inputs at two positions
T = Symbol("T", positive=True, integer=True)  # number of positions
t = Symbol("t", nonnegative=True)  # variance of the change of a neuron at one position
s = Symbol("s", real=True)  # covariance of its changes at two positions

C_W = Symbol("C_W", positive=True)  # fan_in * Var(weight)
C_b = Symbol("C_b", nonnegative=True)  # Var(bias)
C_A = Symbol("C_A", positive=True)  # of an attention, C_O*C_V
C_1, C_2, C_3 = (Symbol(f"C_{i}", positive=True) for i in (1, 2, 3))  # of the first, second and gating dense layer
gamma = Symbol("gamma", real=True)  # weight of the skip connection
xi = Symbol("xi", real=True)  # weight of the branch

n = Symbol("n", positive=True)  # width
n_L = Symbol("n_L", positive=True)  # output width
r = Symbol("r", positive=True)  # aspect ratio depth/width
L = Symbol("L", positive=True)  # depth
M = Symbol("M", positive=True)  # hidden units of a block
tau = Symbol("tau", nonnegative=True)  # depth in units in which small branches have an effect of order 1

x1, x2, x3, x4 = variables = tuple(Symbol(f"x{i}", real=True) for i in (1, 2, 3, 4))  # bound variables of an average

Theta = Symbol("Theta", real=True)  # tangent covariance of two inputs
Theta_E = Symbol("Theta_E", real=True)  # of two inputs at two positions
S_in = Symbol("S_in", positive=True)  # the one variance inside of the averages of a layer, where it is not K
k = Symbol("k", positive=True)  # kernel in units of a power of a parameter, K = k*beta**-2


def source(number: int) -> Symbol:
    """A neuron of the number-th Draw of a program."""
    return Symbol(f"y{number}", real=True)


def statistic(number: int) -> Symbol:
    """The number-th Mean of a program."""
    return Symbol(f"s{number}", real=True)


def shared(number: int) -> Symbol:
    """The number-th Batch of a program: the part of a neuron that all inputs share."""
    return Symbol(f"t{number}", real=True)


def at_place(statistic: Symbol, index: str) -> Symbol:
    """A statistic at the place of an index; one input has none."""
    return Symbol(f"{statistic.name}_{index}", real=True) if index else statistic


def variance(source: Symbol, index: str, is_of_one: bool, letter: str = "S") -> Symbol:
    """The covariance of a source at the two places of an index, which may be the same; one input has none.

    Args:
        source: the neuron of a draw.
        index: of the places.
        is_of_one: whether they are the same.
        letter: S; another for the Gram numbers of what it reads.
    """
    name = f"{letter}{source.name.removeprefix('y')}" + f"_{index}" * bool(index)
    return Symbol(name, positive=True) if is_of_one else Symbol(name, real=True)


kappa = Symbol("kappa", positive=True)  # bound variable of a root: the kernel K* that solves an equation
kappa_W = Symbol("kappa_W", positive=True)  # and the variances, of one that solves several
kappa_b = Symbol("kappa_b", nonnegative=True)

KERNELS = (K, K1, K2, C, Theta, kappa, *variables)  # the theory's own, never parameters of a layer
PARAMETERS = (z, C_W, C_b, gamma, xi, n, n_L, r)
SHARED = {s.name: s for s in (*KERNELS, *PARAMETERS)}  # names that no other symbol may have


def place(symbol: Symbol) -> tuple[int, str]:
    """The place of a parameter among the arguments of any function: C_W, C_b, gamma, xi, then others by name."""
    return (PARAMETERS.index(symbol) if symbol in PARAMETERS else len(PARAMETERS), symbol.name)


def greek(character: str) -> str:
    """The name of a Greek letter: alpha, Alpha; empty if it is none."""
    match = _GREEK.fullmatch(unicodedata.name(character, "") if len(character) == 1 else "")
    if match is None:
        return ""
    letter = match[2].lower().replace("lamda", "lambda")
    return letter if match[1] == "SMALL" else letter.title()


def ascii_name(name: str) -> str:
    """A name in ASCII, for languages that read no other: Greek letters by name, letters without accents, else codes."""

    def spelled(character: str) -> str:
        plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
        return plain or greek(character) or f"u{ord(character):x}"

    return "".join(map(spelled, unicodedata.normalize("NFKC", name)))


def bound_variables(count: int) -> tuple[Symbol, ...]:
    """The variables of a Gaussian average in print: one is called z, as in the literature, several z1, z2, ..."""
    return (z,) if count == 1 else tuple(Symbol(f"z{k}", real=True) for k in range(1, count + 1))
