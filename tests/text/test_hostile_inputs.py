"""Broken files through `twill schedule`: one sentence with file, place and remedy, the right exit status, never a traceback.

Word for word, because this is what a user reads.  Cases G7 and G8, the malformed list of the design's cases, and their relatives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

GEMM = (resources.files("twill.examples") / "gemm.ttgir").read_text(encoding="utf-8")
POINTERS = (resources.files("twill.examples") / "gemm_ptr.ttgir").read_text(encoding="utf-8")
BEFORE_YIELD = "      scf.yield %acc_8"
LOOP, DOT, YIELD = (GEMM[: GEMM.index(part)].count("\n") + 1 for part in ("scf.for", "ttng.warp_group_dot", "scf.yield"))
ALIASES = "The alias tables around the module must be part of the file."
CUT = "The file seems to be cut off; write it again."
DEEP = "Regions, attributes and types nest more than 64 levels deep. Kernels nest a few levels; check that the file is TTGIR."
DEEP_JSON = "brackets are nested more than 64 deep. No format that twill reads needs that."
NO_TEXT = "is not UTF-8 text. Give the text form of the module, encoded in UTF-8."
CORRECT = " Print the module again with Triton, or correct the text here."
GRAPH: dict[str, Any] = {
    "schema": "twill.problem/1",
    "name": "two",
    "limits": {"units": {"U": 1}, "warps": 4},
    "ops": [{"name": "a", "unit": "U", "occupancy": 1}, {"name": "b", "unit": "U", "occupancy": 1}],
    "dependences": [{"src": "a", "dst": "b"}],
}


WHILE = """\
module {
  tt.func public @k(%n: i32) {
    %c = arith.constant 0 : i32
    %r = scf.while (%a = %c) : (i32) -> i32 {
      %p = arith.cmpi slt, %a, %n : i32
      scf.condition(%p) %a : i32
    } do {
    ^bb0(%a: i32):
      scf.yield %a : i32
    }
    tt.return
  }
}
"""


def changed(old: str, new: str, text: str = GEMM) -> str:
    assert old in text
    return text.replace(old, new, 1)


def graph(**fields: Any) -> str:
    return json.dumps({**GRAPH, **fields}, indent=1)


def function(name: str) -> str:
    """The kernel once more, under another name."""
    begin, end = GEMM.index("  tt.func"), GEMM.index("\n} loc(#loc)")
    return GEMM[begin:end].replace("@gemm(", f"@{name}(")


def with_functions(*names: str) -> str:
    at = GEMM.index("\n} loc(#loc)")
    return GEMM[:at] + "\n" + "\n".join(map(function, names)) + GEMM[at:]


TTGIR: dict[str, tuple[str | bytes, int, str]] = {
    "truncated": (
        re.sub(r" loc\(#\w+\)", "", GEMM[: GEMM.index(BEFORE_YIELD)]),
        2,
        f"{DOT}:7: The text ends in the middle of 'ttng.warp_group_dot'. {CUT}",
    ),
    "truncated, with locations": (GEMM[: GEMM.index("scf.yield")], 2, f"25:46: '#loc1' is not defined. {ALIASES}"),
    "invalid UTF-8": (GEMM.encode()[:500] + b"\xff" + GEMM.encode()[500:], 2, f"7:10: Byte 0xff {NO_TEXT}"),
    "UTF-16": (GEMM.encode("utf-16"), 2, f"1:1: Byte 0xff {NO_TEXT}"),
    "empty": ("", 2, " The file is empty. Give TTGIR text, for example what Triton dumps."),
    "blank": ("\n \t\r\n", 2, " The file is empty. Give TTGIR text, for example what Triton dumps."),
    "zeros": ("\0" * 100, 2, "1:1: Expected a module, found the character U+0000. Give a module as Triton prints it."),
    "Python": ("import triton\n", 2, "1:1: Expected a module, found 'import'. Give a module as Triton prints it."),
    "two functions": (with_functions("second"), 2, " The module has 2 functions: 'gemm', 'second'. Choose one: --function NAME."),
    "a function twice": (with_functions("gemm"), 2, "46:3: Function 'gemm' is defined twice. Keep one of the two."),
    "no loop": (
        "module {\n  tt.func public @k(%n: i32) {\n    tt.return\n  }\n}\n",
        2,
        "2: no loop: kernel 'k' has no scf.for, so there is nothing to pipeline. Give a kernel with a counted loop over tiles.",
    ),
    "unknown op with a region": (
        changed(BEFORE_YIELD, '      "foo.bar"() ({\n        "foo.end"() : () -> ()\n      }) : () -> ()\n' + BEFORE_YIELD),
        3,
        f"{YIELD}:7: the loop at line {LOOP} holds foo.bar, which is not supported. "
        "Describe the loop as a JSON problem with costs of your own.",
    ),
    "yield with too few operands": (
        changed("scf.yield %acc_8 : tensor<128x128xf32, #mma>", "scf.yield"),
        2,
        f"{YIELD}:7: 'scf.yield' gives 0 values but 'scf.for' needs 1." + CORRECT,
    ),
    "undefined SSA name": (
        changed("%acc_5, %acc_7, %acc_3", "%nope, %acc_7, %acc_3"),
        2,
        f"{DOT}:36: '%nope' is used but not defined. Define the value before its use.",
    ),
    "type mismatch": (
        changed("%acc_4 : (tensor<128x64xf16, #blocked>)", "%acc_4 : (tensor<64x64xf16, #blocked>)"),
        2,
        "35:41: 'ttg.local_alloc' declares '%acc_4' as 'tensor<64x64xf16, #blocked>' but its type is 'tensor<128x64xf16, #blocked>'."
        + CORRECT,
    ),
    "marks on some ops": (
        changed("inputPrecision = 0 : i32", "inputPrecision = 0 : i32, ttg.partition = array<i32: 0>"),
        2,
        f"34:7: tt.descriptor_load has no ttg.partition, but 1 of 5 ops of the loop at line {LOOP} have one. "
        "Mark all ops of the loop or none; marks are not needed here.",
    ),
    "modules in modules": ("module {\n" * 10_000 + "}\n" * 10_000, 2, f"65:8: {DEEP}"),
    "lists in lists": (changed("inputPrecision = 0", "a = " + "[" * 10_000 + "]" * 10_000), 2, f"{DOT}:124: {DEEP}"),
    "an uncounted loop": (WHILE, 3, "2: kernel 'k' loops with scf.while only (line 4). Write the loop as a counted loop (scf.for)."),
}

INTEGER = "expected an integer from 0 to 2147483647, got"
JSON: dict[str, tuple[str | bytes, int, str]] = {
    "truncated": (graph()[:120], 2, "11: the file ends in the middle of a value. Complete the file."),
    "empty": ("", 2, " the file is empty. A problem starts with {."),
    "invalid UTF-8": (b'{"schema":\n"\xff"}', 2, "2: byte 12 (0xff) is not valid UTF-8. Save the file as UTF-8."),
    "UTF-16": (graph().encode("utf-16"), 2, "1: byte 0 (0xff) is not valid UTF-8. Save the file as UTF-8."),
    "a list": ("[1, 2]", 2, " expected an object, got [1, 2]."),
    "lists in lists": ("[" * 10_000 + "]" * 10_000, 2, f"1: {DEEP_JSON}"),
    "objects in objects": ('{"a":\n' * 10_000 + "1" + "}" * 10_000, 2, f"65: {DEEP_JSON}"),
    "G8 b, an unknown op": (graph(dependences=[{"src": "a", "dst": "c"}]), 2, 'dependences[0].dst: there is no op "c". Known ops: a, b.'),
    "G8 c, a negative delay": (graph(dependences=[{"src": "a", "dst": "b", "delay": -1}]), 2, f"dependences[0].delay: {INTEGER} -1."),
    "G8 d, a unit without capacity": (
        graph(limits={"units": {"U": 0}, "warps": 4}),
        2,
        'ops[0].occupancy: the op holds unit "U" for 1 cycle, but its capacity is 0. Give the unit a capacity of 1 or more.',
    ),
    "G8 e, a name twice": (graph(ops=[{"name": "a"}, {"name": "a"}]), 2, 'ops[1].name: two ops are called "a". Names must be unique.'),
    "G8 g, a cost above 2**31": (
        graph(ops=[{"name": "a", "latency": 2**31 + 1}, {"name": "b"}]),
        2,
        f"ops[0].latency: {INTEGER} 2147483649.",
    ),
    "a number of 100,000 digits": (
        graph(ops=[{"name": "a", "latency": 0}]).replace("0", "9" * 100_000),
        2,
        f"ops[0].latency: {INTEGER} {'9' * 40}... (100000 characters).",
    ),
    "NaN": (graph(ops=[{"name": "a", "latency": float("nan")}]), 2, f"ops[0].latency: {INTEGER} NaN."),
    "too many ops": (
        graph(ops=[{"name": f"o{i}"} for i in range(501)], dependences=[]),
        3,
        " the loop body has 501 ops; up to 500 are scheduled. Fold ops that belong together, or split the loop.",
    ),
}


def check(done: Any, path: Path, status: int, said: str) -> None:
    """The command said this sentence about this file, and nothing else."""
    where = f"twill: {path}:{said}" if not said.startswith(" the loop body") else f"twill:{said}"
    assert (done.status, done.out, done.err) == (status, "", f"{where}\n")


@pytest.mark.parametrize(("text", "status", "said"), TTGIR.values(), ids=TTGIR.keys())
def test_ttgir(twill_command: Callable[..., Any], tmp_path: Path, text: str | bytes, status: int, said: str) -> None:
    path = tmp_path / "kernel.ttgir"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    check(twill_command("schedule", path, "--machine", "h100"), path, status, said)


@pytest.mark.parametrize(("text", "status", "said"), JSON.values(), ids=JSON.keys())
def test_json(twill_command: Callable[..., Any], tmp_path: Path, text: str | bytes, status: int, said: str) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    check(twill_command("schedule", path), path, status, said)


@pytest.mark.parametrize(
    ("suffix", "said"),
    [
        (".ttgir", " This is a directory. Give the path of a .ttgir file."),
        (".json", " cannot be read: Is a directory. Give the path of a JSON file."),
    ],
)
def test_a_folder(twill_command: Callable[..., Any], tmp_path: Path, suffix: str, said: str) -> None:
    path = tmp_path / f"folder{suffix}"
    path.mkdir()
    options = ["--machine", "h100"] if suffix == ".ttgir" else []
    check(twill_command("schedule", path, *options), path, 2, said)


@pytest.mark.parametrize("change", [lambda data: data.replace(b"\n", b"\r\n"), lambda data: b"\xef\xbb\xbf" + data], ids=["CRLF", "BOM"])
@pytest.mark.parametrize(("name", "text"), [("kernel.ttgir", GEMM), ("graph.json", graph())])
def test_line_ends_and_byte_order_marks_change_nothing(
    twill_command: Callable[..., Any], tmp_path: Path, name: str, text: str, change: Callable[[bytes], bytes]
) -> None:
    written = []
    for folder, data in (("plain", text.encode()), ("changed", change(text.encode()))):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / name
        path.write_bytes(data)
        options = ["--machine", "h100"] if name == "kernel.ttgir" else []
        assert twill_command("schedule", path, *options, "-q", "--json", tmp_path / f"{folder}.json").status == 0
        written.append((tmp_path / f"{folder}.json").read_bytes())
    assert written[0] == written[1]


def test_a_module_of_five_megabytes(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    """Most of it is address arithmetic in the loop, which is read, checked and folded away."""
    path = tmp_path / "large.ttgir"
    filler = "".join(f"      %{'element_' * 10}{i} = arith.addi %k, %k : i32\n" for i in range(45_000))
    path.write_text(changed(BEFORE_YIELD, filler + BEFORE_YIELD), encoding="utf-8")
    assert path.stat().st_size > 5_000_000
    done = twill_command("schedule", path, "--machine", "h100", "-q")
    assert (done.status, done.out, done.err) == (0, "", "")


def test_costs_whose_sums_need_more_than_32_bits(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    most = 2**31 - 1
    path = tmp_path / "graph.json"
    path.write_text(graph(ops=[{"name": name, "unit": "U", "occupancy": most} for name in "ab"]), encoding="utf-8")
    for engine in ("yices", "cpsat"):
        done = twill_command("schedule", path, "--engine", engine)
        if "is not installed" in done.err:
            continue
        assert done.status == 0
        lines = [" ".join(line.split()) for line in done.out.splitlines()]
        assert f"II {2 * most} cycles proved optimal: equals the resource bound of U" in lines
        assert f"length {2 * most} cycles proved optimal: equals the shortest modulo schedule" in lines


def test_g8_a_an_impossible_cycle_is_shown_and_not_searched(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(graph(dependences=[{"src": "a", "dst": "b"}, {"src": "b", "dst": "a"}]), encoding="utf-8")
    for reading in ([], ["--literal"], ["--normalize", "zlp"]):
        done = twill_command("schedule", path, *reading)
        assert (done.status, done.err) == (4, "")
        assert "a -> b -> a depends on itself within one iteration and takes time, so no initiation interval\nsatisfies it.\n" in done.out


def test_g8_f_an_empty_graph_has_an_answer(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(graph(ops=[], dependences=[]), encoding="utf-8")
    done = twill_command("schedule", path, "--json", tmp_path / "out.json")
    assert (done.status, done.err) == (0, "")
    assert "  II      1  cycles  proved optimal: the loop body has no ops to schedule\n" in done.out
    assert "  length  0  cycles  proved optimal: the loop body has no ops to schedule\n" in done.out
    assert "  -  The problem has no ops: there is nothing to schedule.\n" in done.out
    assert twill_command("check", tmp_path / "out.json").status == 0


def test_g7_a_loop_with_constants_and_pointer_loads(twill_command: Callable[..., Any], tmp_path: Path) -> None:
    """A constant, pointer increments, two loads, a layout change and a product, marked for warp specialization: every op has a role."""
    text = changed("      %acc_42 =", "      %step = arith.constant dense<64> : tensor<128x64xi32, #blocked>\n      %acc_42 =", POINTERS)
    text = changed("%a_ptrs_40, %cst :", "%a_ptrs_40, %step :", text)
    text = changed(
        "%acc_45 = ttg.local_alloc %acc_44 : (tensor<64x128xf16, #blocked1>)",
        "%laid = ttg.convert_layout %acc_44 : tensor<64x128xf16, #blocked1> -> tensor<64x128xf16, #blocked>\n"
        "      %acc_45 = ttg.local_alloc %laid : (tensor<64x128xf16, #blocked>)",
        text,
    )
    text = changed("    } loc(#loc57)", "    } {tt.warp_specialize} loc(#loc57)", text)
    path, written = tmp_path / "matmul.ttgir", tmp_path / "problem.json"
    path.write_text(text, encoding="utf-8")
    done = twill_command("schedule", path, "--machine", "h100", "-q", "--problem-json", written)
    assert (done.status, done.out, done.err) == (0, "", "")
    origins = json.loads(written.read_text(encoding="utf-8"))["provenance"]["origins"]
    roles = sorted([o["source"].split()[-1] for o in origins] + [op for o in origins for op in o.get("folded", [])])
    assert roles == [
        "arith.constant",
        "tt.addptr",
        "tt.addptr",
        "tt.load",
        "tt.load",
        "ttg.convert_layout",
        "ttg.local_alloc",
        "ttng.warp_group_dot",
    ]
