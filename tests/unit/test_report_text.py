"""Reports from hand-made results: every section, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

from twill.frontends.graph_json import read_golden
from twill.problem import Origin, Problem, Provenance
from twill.report.audit import audit_report
from twill.report.dot import dot
from twill.report.render import plain, render
from twill.report.text import report
from twill.schedule import Bound, Certificate, Claim, Placement, Refutation, Result, Schedule
from twill.verify import check

INSTANCES = Path(__file__).parent.parent / "golden" / "instances"


def attention() -> tuple[Problem, Schedule]:
    """Hopper attention in units of 64 cycles, with the schedule that its file proves optimal, dressed up as if read from TTGIR."""
    golden = read_golden(INSTANCES / "r1_fa_fwd_hopper_split.json")
    provenance = Provenance(
        file="attention_fwd_2tile.ttgir",
        kernel="attention_fwd_2tile",
        loop_line=68,
        machine="h100",
        costs="h100 2026-11-29, beside a busy tensor core",
        decisions=("the innermost loop with tensor-core work is scheduled", "[bold]no markup here"),
        origins=(Origin("S0", "s0", "kernels/attention.py", 69), Origin("K", file="attention.py")),
    )
    assert golden.witness is not None
    return replace(golden.problem, provenance=provenance), golden.witness


CERTIFICATE = Certificate(
    "optimal",
    bounds=(
        Bound("recurrence", 14, "", ("O0", "MU0"), "O0 -> MU0 -> O0 takes 14 cycles in 1 iteration"),
        Bound("resource", 32, "TC", ("S0", "S1", "O0", "O1"), "TC is busy for 32 cycles: 8 each for S0, S1, O0, O1"),
    ),
    modulo=(32, 48),
    claims=(
        Claim("ii", 32, 32, True, "equals the resource bound of TC"),
        Claim("length", 48, 48, True, "equals the shortest modulo schedule (CBC)"),
        Claim("crossing_bytes", 0, 0, True, "zero cannot be improved"),
        Claim("groups", 2, 2, True, "no schedule with at most 1 (Yices 2.6.5)"),
    ),
    engines=("CBC 2.10.3", "Yices 2.6.5"),
    checked=True,
)


def test_report_of_an_optimal_schedule(golden: Callable[[str, str], None]) -> None:
    problem, schedule = attention()
    seconds = {"read": 0.031, "graph": 0.002, "search": 1.234}
    golden("report/optimal.txt", plain(report(problem, Result(schedule, CERTIFICATE), check(problem, schedule), seconds)))


def test_report_of_a_schedule_that_is_not_proved_best() -> None:
    problem, schedule = attention()
    claims = (
        Claim("ii", 32, 30, False, "the time limit of 5 s is over"),
        Claim("length", 48, 1, False, "the time limit of 5 s is over"),
        Claim("groups", 2, 0, False, "the time limit of 5 s is over"),
    )
    refuted = tuple(Refutation(ii, None, "stage 1", "no modulo schedule") for ii in range(20, 30))
    result = Result(schedule, replace(CERTIFICATE, status="feasible", claims=claims, refuted=refuted))
    text = plain(report(problem, result, check(problem, schedule), {}))
    assert text.startswith("Schedule found, not all of it proved best for attention_fwd_2tile\n")
    assert "  II              32  cycles  proved: not below 30; the time limit of 5 s is over\n" in text
    assert "  regular groups   2          not proved optimal; the time limit of 5 s is over\n" in text
    assert text.count("no modulo schedule") == 8
    assert "and 2 more: --json FILE lists them all" in text


def test_report_of_an_infeasible_problem() -> None:
    problem, _ = attention()
    certificate = Certificate("infeasible", reason="the dependence cycle a -> b -> a has distance 0 and takes time")
    assert plain(report(problem, Result(None, certificate), None, {})) == (
        "No schedule exists for attention_fwd_2tile\n"
        "attention_fwd_2tile.ttgir, loop at line 68, 20 ops\n"
        "costs of h100 2026-11-29, beside a busy tensor core\n"
        "\n"
        "the dependence cycle a -> b -> a has distance 0 and takes time.\n"
        "\n"
        "Decisions taken by default\n"
        "  -  the innermost loop with tensor-core work is scheduled.\n"
        "  -  [bold]no markup here.\n"
    )


def test_report_of_an_unknown_answer_gives_the_bound_reached() -> None:
    problem, _ = attention()
    certificate = Certificate("unknown", claims=(Claim("ii", None, 33, False, "interrupted"),), reason="interrupted")
    text = plain(report(problem, Result(None, certificate), None, {"search": 2.0}))
    assert "\ninterrupted.\n" in text
    assert "  II  ?  cycles  proved: not below 33; interrupted\n" in text
    assert "seconds  search 2.00; 2.00 in all" in text


def test_plain_reports_have_no_escapes_no_trailing_blanks_and_at_most_100_columns() -> None:
    problem, schedule = attention()
    text = plain(report(problem, Result(schedule, CERTIFICATE), check(problem, schedule), {"search": 1.0}))
    assert text.isascii() and "\x1b" not in text
    assert all(line == line.rstrip() and len(line) <= 100 for line in text.splitlines())


def test_a_terminal_gets_the_same_words_in_colour() -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    problem, schedule = attention()
    parts = report(problem, Result(schedule, CERTIFICATE), check(problem, schedule), {"search": 1.0})
    shown = render(parts, Terminal())
    words = re.sub(r"\x1b\[[0-9;]*m", "", shown).split()
    assert "proved" in words and "32" in words
    assert render(parts, StringIO()) == plain(parts)


def test_audit_of_a_valid_schedule_shows_what_it_uses() -> None:
    problem, schedule = attention()
    text = plain(audit_report(problem, schedule, check(problem, schedule)))
    assert text.startswith("Valid schedule for attention_fwd_2tile\nII 32, length 48, 20 ops\n")
    assert "  TC   100.0 %  ########################################  32 of 32\n" in text


def test_audit_of_an_invalid_schedule_lists_every_violation() -> None:
    problem, schedule = attention()
    moved = tuple(Placement(p.op, p.start + 1, p.group) if p.op == "S1" else p for p in schedule.placements)
    audit = check(problem, Schedule(32, 48, moved))
    text = plain(audit_report(problem, Schedule(32, 48, moved), audit))
    assert text.startswith(f"Invalid schedule: {len(audit.violations)} violations for attention_fwd_2tile\n")
    assert len(audit.violations) > 1
    joined = " ".join(text.split())
    assert all(" ".join(f"{v.family} {v.message}".split()) in joined for v in audit.violations)
    assert "Units" not in text


def test_dot_shows_costs_delays_and_distances(golden: Callable[[str, str], None]) -> None:
    golden("report/g13.dot", dot(read_golden(INSTANCES / "g13_carried_liveness.json").problem))


def test_dot_quotes_names() -> None:
    problem, _ = attention()
    text = dot(replace(problem, name='a "b" \\ c'))
    assert text.startswith('digraph "a \\"b\\" \\\\ c" {\n')
