"""The literature: every claim of every document is judged; what is confirmed stays confirmed."""

import dataclasses

import mpmath as mp
import pytest

from derivations import (
    chizat_resnets,
    doshi_partial_jacobians,
    fischer_residual_scaling,
    pdlt_appendix_b,
    pdlt_finite_width,
)
from derivations.doshi_partial_jacobians import gelu

DOCUMENTS = {
    "pdlt": pdlt_appendix_b.claims(),
    "pdlt, finite width": pdlt_finite_width.claims(),
    "fischer": fischer_residual_scaling.claims(),
    "doshi": doshi_partial_jacobians.claims(),
    "chizat": chizat_resnets.claims(),
}
CONFIRMED = {
    "pdlt, finite width": "(B.25), (B.26) l=1, (B.26) |z|, (B.29) |z|, (B.35)",
    "fischer": "(51), (55)",
    "pdlt": """(B.11), (B.12), (B.13), (B.14), (B.15), (B.16), (B.18), (B.20), (B.21)""",
    "doshi": """
        (3), (5), (9), (11)*, (14), (16), (17), (20) K, (20) chi, (21) K, (21) chi, (22) K, (22) chi, (24), (24) C,
        (25)*, (26), (27), (33), (35), (36)*, (37)*, (52), (54), (64), (65), (69)*, (71), (71) J, (71) zeta,
        (72) n=2, (72)*, (72) zeta, (78), Rem. 4.2*, Thm 4.3, Rem. 5.1 K*, Rem. 5.1 J*, Rem. 5.2,
        (95), (96), (97), (99), (100), (102), (103), (104), (105), (108), (109), (110), (111), (112), (113), (115),
        (116), (117), (117) b,
        (120)*, (120) int*, (121), (122), (123), (126), (127), (128), (129), (130), (133), (134), (135), (135) no.,
        (136), (137), (138), (139), (140), (141), (142), (143), (144), (146), (147), (148),
        (151), (152), (153), (154), (155)*, (157), (158), (159), (160), (161), (162), (163), (164), (165)*, (166)*,
        (166) side, (169)*, (170), (171), (171) no., (172), (173), (174), (175), (176), (177), (178), (179), (180),
        (181), (182), (183), (184), (185), (185) b*
    """,
    "chizat": "2.2, Rem. 2.3, Prop. 2.1, 2.1 limit, 3.1, 3.3",
}
CONTRADICTED = {
    "pdlt": "",
    "pdlt, finite width": "(B.26), (B.29), (B.36) below",
    "fischer": "(115), (68), (142), after (133)",
    "doshi": """
        (11), (25), (36), (37), (69), (72), Rem. 4.2, Rem. 5.1 K, Rem. 5.1 J, (95) int, (99) int, (120), (120) int,
        (155), (165), (166), (169), (185) b
    """,
    "chizat": "Rem. 2.2",
}


def _listed(names):
    return {" ".join(name.split()) for name in names.split(",") if name.strip()}


def _chosen(table):
    return [pytest.param(c, id=f"{d} {c.equation}") for d, all_ in DOCUMENTS.items() for c in all_ if _in(table, d, c)]


def _in(table, document, claim):
    return claim.equation in _listed(table[document])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_claim_is_listed_once(document):
    names = [claim.equation for claim in DOCUMENTS[document]]
    assert len(names) == len(set(names))
    assert set(names) == _listed(CONFIRMED[document]) | _listed(CONTRADICTED[document])
    assert not _listed(CONFIRMED[document]) & _listed(CONTRADICTED[document])


@pytest.mark.sample(10)
@pytest.mark.parametrize("claim", _chosen(CONFIRMED))
def test_what_is_confirmed(claim):
    judgement = claim.judge()
    assert judgement.confirmed, str(judgement)


@pytest.mark.sample(11)
@pytest.mark.parametrize("claim", _chosen(CONTRADICTED))
def test_what_is_contradicted(claim):
    """A third value, by iteration, quadrature or a finite network, lies where the derivation is, not the print."""
    judgement = claim.judge()
    assert not judgement.confirmed, str(judgement)
    assert claim.witness is not None
    with mp.workdps(80):
        printed, derived, seen = (f(*judgement.place) for f in (claim.printed, claim.derived, claim.witness))
    assert abs(seen - derived) < abs(seen - printed) / 5


@pytest.mark.sample(40)
@pytest.mark.parametrize("claim", _chosen(CONFIRMED))
def test_a_misprint_would_be_seen(claim):
    """Sabotage: the printed side off by one part in a million, or by what the comparison allows if that is more."""
    factor = 1 + mp.mpf("1e-6") + 3 * claim.tolerance
    wrong = dataclasses.replace(claim, printed=lambda *point: claim.printed(*point) * factor, points=claim.points[:1])
    assert not wrong.judge().confirmed


@pytest.mark.parametrize(("side", "attracted"), [(1, True), (-1, False)])
def test_the_half_stable_point_attracts_from_above(side, attracted):
    """What decides (165) to (169): the recursion of (151), iterated: the kernel falls, above the point and below it."""
    star = (3 + mp.sqrt(17)) / 2
    weight = 1 / gelu.slope(star)
    kernel, growth = star + side * mp.mpf("0.1"), mp.mpf(0)
    for _ in range(3000):
        growth += mp.log(weight * gelu.slope(kernel))
        kernel = weight * gelu.square(kernel) + star - weight * gelu.square(star)
    assert kernel < star + side * mp.mpf("0.1")
    assert (abs(kernel - star) < 0.1) == attracted
    assert (growth > 0) == attracted
