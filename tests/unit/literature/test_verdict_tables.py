"""What people read of judgements, from three claims."""

import json

from symres.cli import run
from symres.literature import verdict_tables as tables
from symres.literature.judging import judge
from symres.literature.printed_claims import chosen

JUDGED = [judge(*pair) for name in ("pdlt:B.12", "fischer2025:42", "fischer2025:113") for pair in chosen(name)]


def test_tables():
    assert tables.summary(JUDGED[:1]).splitlines()[1].split() == ["pdlt", "000", "1", "1", "0", "0", "0"]
    lines = tables.table(JUDGED).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["(B.12)", "(42)", "(113)"]
    assert "NOT DERIVABLE" in lines[2] and not any(line.startswith("!") for line in lines)


def test_a_claim_whole_and_the_errata():
    shown = tables.errata(JUDGED)
    assert shown == tables.whole(JUDGED[1])
    for part in (
        "verdict     ERRATUM",
        "derived     derivative(expect('erf(z)^2'), 'K')",
        "reason      the factor 1/2",
    ):
        assert part in shown


def test_the_errata_sheet():
    sheet = tables.errata_sheet(JUDGED)
    assert sheet.count(r"\subsection*") == 1 and r"\textbf{(42)} Price's theorem in one dimension" in sheet
    assert r"\left\langle" in sheet and "<" not in sheet.partition("Values:")[2]


def test_the_command(capsys, tmp_path):
    assert run(["literature", "pdlt:B.12", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["source"], entry["label"], entry["verdict"]) == ("000", "(B.12)", "CONFIRMED")
    assert run(["literature", "000:B.12"]) == 0
    assert "derive(residual(phi)).kernel_map" in capsys.readouterr().out
    assert run(["literature", "000:B.12", "--out", str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"errata.tex", "literature.json", "literature.txt"}
    assert run(["literature", "nowhere"]) == run(["literature", "pdlt:B.99"]) == 2
