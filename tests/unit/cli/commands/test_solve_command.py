"""``symres solve``: targets, boxes, exit codes."""

import json

import pytest

from symres.cli import run


def test_solutions_with_certificates(capsys):
    arguments = (
        "relu",
        "--layer",
        "residual",
        "--target",
        "chi_perp=1",
        "--for",
        "C_W",
        "--set",
        "K=1",
        "--set",
        "C_b=0",
    )
    assert run(["solve", *arguments, "--set", "gamma=1/2"]) == 0
    assert capsys.readouterr().out.startswith("1 solution\n  C_W = 1.5 (chi_perp ")
    assert run(["solve", *arguments, "--set", "gamma=1/2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["targets"] == {"chi_perp": "1"} and document["curve"] is None
    assert document["solutions"][0]["values"] == {"C_W": 1.5}


def test_boxes_of_parameters_of_a_formula(capsys):
    arguments = ("a*z + sin(z)", "--target", "chi_perp=2", "--set", "K=1", "--set", "C_W=1", "--set", "C_b=0")
    assert run(["solve", *arguments, "--for", "a=0:1"]) == 0
    assert capsys.readouterr().out.startswith("1 solution\n  a = 0.73518905749850")
    assert run(["solve", *arguments, "--for", "a"]) == 0
    both = capsys.readouterr().out
    assert both.startswith("2 solutions\n  a = -1.9482503769237") and "\n  a = 0.73518905749850" in both


def test_no_solution_is_exit_code_3(capsys):
    arguments = ("relu", "--layer", "residual", "--target", "aspect_ratio=1/100", "--for", "gamma", "--set", "n_L=1")
    assert run(["solve", *arguments]) == 3
    assert "no solution\n  aspect_ratio stays between 0.0266293 and" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "it does not say what is wanted, and of what"),
        (("--target", "K=1"), "it does not say what is wanted, and of what"),
        (("--target", "K", "--for", "C_W"), "--target K: it is not of the form key=value"),
        (("--target", "K=1", "--for", "C_W=1"), "it is not of the form name=low:high"),
        (("--target", "size=1", "--for", "C_W"), "the target size"),
        (("--target", "K=1", "--for", "beta"), "the parameter beta"),
    ],
)
def test_what_is_refused(arguments, said, capsys):
    assert run(["solve", "tanh", *arguments]) == 2
    assert said in capsys.readouterr().err
