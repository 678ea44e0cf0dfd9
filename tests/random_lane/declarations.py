"""Random forward equations with constants of every kind, and names that a parameter may be given."""

import builtins
import keyword
import re
from random import Random

from .formulas import CONSTANTS

ACTIVATIONS = ("tanh", "erf", "relu", "gelu", "silu", "sin", "softplus", "elu", "hard_tanh", "leaky_relu", "abs")
_FACTORS = (
    *(constant for constant in CONSTANTS if constant not in ("0", "1e20", "1e-20")),
    "cos(a)", "sin(a)", "1/sqrt(1 + a^2)", "exp(-a)", "gamma", "a",
)  # fmt: skip
_BRANCHES = (
    "Dense(phi({u}))", "Dense(phi({u}))", "Dense(phi({u}))", "Dense(phi(Dense({u})))", "Dense(phi({u}) - phi(0))",
    "Dense(phi({u})*Dense({u}))", "Dense(phi({u}), {c}, 0)", "Dense({u})", "Dense(2)", "phi({u})",
)  # fmt: skip
_INNER = ("z", "z", "z", "LayerNorm(z)", "RMSNorm(z)", "{c}*z")


def random_equation(generator: Random) -> tuple[str, str, dict[str, str]]:
    """A forward equation, its activation, and a number for each parameter."""

    def constant() -> str:
        return f"({generator.choice(_FACTORS)})"

    def branch() -> str:
        inner = generator.choice(_INNER).format(c=constant())
        return generator.choice(_BRANCHES).format(u=inner, c="abs" + constant())

    terms = [f"{constant()}*z"] if generator.random() < 0.7 else []
    for _ in range(generator.choice((1, 1, 2))):
        terms.append(generator.choice(("{b}", "{c}*{b}", "{b}/sqrt(2)")).format(b=branch(), c=constant()))
    text = " + ".join(terms)
    if "phi" not in text:
        text += " + Dense(phi(z))"
    if generator.random() < 0.3:
        text = f"({text})/sqrt(2)"
    numbers = {
        "a": generator.choice(("0.3", "1/2", "sqrt(2)/2", "pi/4")),
        "gamma": generator.choice(("1/sqrt(2)", "1/2", "1")),
    }
    return (
        text,
        generator.choice(ACTIVATIONS),
        {name: value for name, value in numbers.items() if name in re.findall(r"\w+", text)},
    )


_C_WORDS = """
auto char const double extern float goto inline int long register restrict short signed sizeof static struct switch
typedef union unsigned void volatile NULL EOF offsetof assert errno INFINITY NAN M_PI size_t stdin stdout main h
isnan fabs erf erfc tgamma j0 y1 I complex double_t
"""
_LIBRARY_WORDS = """
np math torch jnp jax numpy numba njit prange lax xp out special self cls text what found own known given name
symbols K1 K2 C C_W C_b n n_L tau Theta r M L phi z x u v w i j k S N E O Q pi beta zeta lambda_ Lambda alpha omega
kernel_map covariance_map chi_perp tanh relu gelu Dense LayerNorm digits values dtype shape len_ sum_ inf nan oo
float64 float32 warnings annotations functools _t0 _h s1 t1 K_1 index result value order scale where erfcx ndtr
"""
_HARD = (
    "a" * 100, "α", "γ_1", "é", "a_b_c", "a__b", "_a", "__a__", "A", "a1", "a_1", "a.b", "a b", "1a", "a-b", "a'", "",
    " ", r"\input{x}", r"a$b", "a%b", "a&b", "a#b", "a{b}", "a^b", "a\\", "ａ", "ℏ", "√", "x" * 1000, "a\nb", '"', "*/",
)  # fmt: skip
NAMES = tuple(
    dict.fromkeys(
        [*keyword.kwlist, *keyword.softkwlist, *_C_WORDS.split(), *_LIBRARY_WORDS.split(), *_HARD, *dir(builtins)]
    )
)
