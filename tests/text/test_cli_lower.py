"""`twill lower` and `twill simulate`, through their command lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from twill.backends.pipelined_ir import from_text, to_text
from twill.cli.lower import command as lower
from twill.cli.options import State
from twill.cli.simulate import command as simulate
from twill.errors import BadInput, Unsupported
from twill.examples import write

SCHEDULES = Path(__file__).parent.parent / "golden" / "schedules"


def invoke(command: click.Command, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(a) for a in arguments], obj=State(), standalone_mode=False)


def test_lower_prints_the_program(golden: Callable[[str, str], None]) -> None:
    done = invoke(lower, SCHEDULES / "hardware" / "gemm.json")
    assert done.exception is None
    golden("ir/gemm.pir", done.output)


def test_lower_writes_a_file(tmp_path: Path) -> None:
    out = tmp_path / "gemm.pir"
    done = invoke(lower, SCHEDULES / "hardware" / "gemm.json", "--to", "ir", "-o", out)
    assert (done.exception, done.output) == (None, "")
    assert out.read_text(encoding="utf-8").startswith("pipeline.program @gemm {ii = 716")


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A folder with the bundled kernels."""
    write(tmp_path)
    return tmp_path


def test_lower_with_the_kernel_prints_the_code_around_the_loop(kernels: Path, golden: Callable[[str, str], None]) -> None:
    done = invoke(lower, SCHEDULES / "hardware" / "gemm_sm100.json", "--kernel", kernels / "gemm_sm100.ttgir")
    assert done.exception is None
    golden("ir/gemm_sm100_kernel.pir", done.output)
    assert to_text(from_text(done.output)) == re.sub(r"  // (?!Turn).*\n", "", done.output)


def test_simulate_with_the_kernel_in_sub_tiles(kernels: Path) -> None:
    done = invoke(simulate, SCHEDULES / "hardware" / "attention_fwd_2.json", "--kernel", kernels / "attention_fwd.ttgir")
    assert (done.exception, int(done.return_value)) == (None, 0)
    assert "proved: no hang" in done.output


def test_kernel_of_something_else_is_refused(kernels: Path) -> None:
    path = kernels / "softmax.ttgir"
    done = invoke(lower, SCHEDULES / "hardware" / "gemm.json", "--kernel", path)
    assert isinstance(done.exception, BadInput)
    assert str(done.exception) == (
        f"{path}: the schedule is not one of this kernel's loop: their ops differ. "
        "Give the kernel that was scheduled, and the line of its loop with --loop."
    )


@pytest.mark.parametrize(
    ("name", "status"),
    [("hardware/attention_fwd_2", 0), ("hardware/softmax", 0), ("paper/attention_bwd_dq", 0), ("hardware/gemm_sm100", 0)],
)
def test_simulate_reports(name: str, status: int, golden: Callable[[str, str], None]) -> None:
    done = invoke(simulate, SCHEDULES / f"{name}.json")
    assert done.exception is None
    assert int(done.return_value) == status
    golden(f"ir/simulate_{name.replace('/', '_')}.txt", done.output)


def test_simulate_checks_what_somebody_edited(tmp_path: Path) -> None:
    schedule, edited = SCHEDULES / "hardware" / "gemm.json", tmp_path / "gemm.pir"
    invoke(lower, schedule, "-o", edited)
    lines = edited.read_text(encoding="utf-8").splitlines(keepends=True)
    edited.write_text("".join(line for line in lines if "wait @tma_load.2" not in line), encoding="utf-8")
    done = invoke(simulate, schedule, "--ir", edited)
    assert int(done.return_value) == 7
    assert done.output.splitlines()[-1].strip() == "mma.1 of iteration 0 begins without knowing that tma_load.2 of iteration 0 is done"


def test_trace_has_a_row_for_every_group_and_unit(tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    done = invoke(simulate, SCHEDULES / "hardware" / "attention_fwd_2.json", "--trips", "3", "--trace", out)
    assert done.exception is None
    events = json.loads(out.read_text(encoding="utf-8"))["traceEvents"]
    rows = [e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
    assert rows == ["group 0 (load, 1 warps)", "group 1 (compute, 4 warps)", "group 2 (compute, 4 warps)", "TC", "TMA", "SFU", "ALU", "MEM"]
    products = [(e["ts"], e["name"]) for e in events if e["ph"] == "X" and e["pid"] == 2 and e["tid"] == 0]
    assert len(products) == 3 * 4
    ends = sorted((begin, begin + 512) for begin, _ in products)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(ends))


def test_files_without_a_schedule_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_text('{"schema": "twill.schedule/1", "certificate": {"status": "infeasible"}, "problem": {"schema": "twill.problem/1", '
                    '"name": "p", "ops": [], "dependences": []}}', encoding="utf-8")  # fmt: skip
    done = invoke(lower, path)
    assert isinstance(done.exception, BadInput)
    assert done.exception.message == 'the file holds no schedule (status "infeasible").'


def test_schedules_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    text = (SCHEDULES / "hardware" / "gemm.json").read_text(encoding="utf-8")
    path.write_text(text.replace('"smem": 230400', '"smem": 20000'), encoding="utf-8")
    done = invoke(lower, path)
    assert isinstance(done.exception, Unsupported)
    assert done.exception.message.startswith("smem: the rings of the schedule need 32,768, the loop has 20,000 (")


def test_a_free_order_takes_no_turns() -> None:
    schedule = SCHEDULES / "hardware" / "attention_fwd_2tile.json"
    fixed, free = (invoke(lower, schedule, "--order", order).output for order in ("fixed", "free"))
    assert "  token @TC.0 " in fixed
    assert "token" not in free.replace("tokens", "")
    assert re.findall(r"= issue @(\S+)\(", fixed) == re.findall(r"= issue @(\S+)\(", free)


def test_marks_keep_their_own_order() -> None:
    done = invoke(lower, SCHEDULES / "hardware" / "gemm.json", "--to", "ttgir", "--order", "free")
    assert isinstance(done.exception, click.UsageError)
    assert str(done.exception) == "--order is for --to ir and --to cuda."
