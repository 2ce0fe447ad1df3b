"""Malformed problem files: one sentence with file, path, value and remedy; never a traceback (cases G8 b to g and their relatives)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from twill.errors import BadInput, ExitCode
from twill.frontends.graph_json import read_golden, read_problem

# What each case changes in a good file, and what the reader says about it.
GOOD = """{
  "schema": "twill.problem/1",
  "limits": {"units": {"U": 1, "NONE": 0}, "memories": {"smem": 64}},
  "ops": [
    {"name": "a", "unit": "U", "occupancy": 3, "latency": 5},
    {"name": "b", "memory": {"smem": 8}}
  ],
  "dependences": [{"src": "a", "dst": "b", "delay": 2, "distance": 0}]
}
"""
INTEGER = "expected an integer from 0 to 2147483647, got"


def message(path: Path, text: str | bytes) -> str:
    """What the reader says about a file with this text, without the file's name; the error's class and exit code are checked."""
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    with pytest.raises(BadInput) as caught:
        read_problem(path)
    assert caught.value.exit_code == ExitCode.BAD_INPUT == 2
    said = str(caught.value)
    assert said.startswith(f"{path}:")
    return said.removeprefix(f"{path}:")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "graph.json"


def test_the_good_file_is_good(file: Path) -> None:
    file.write_text(GOOD)
    assert len(read_problem(file).ops) == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        # G8 (b) to (e), (g)
        ('"dst": "b"', '"dst": "c"', 'dependences[0].dst: there is no op "c". Known ops: a, b.'),
        ('"src": "a"', '"src": "A"', 'dependences[0].src: there is no op "A". Known ops: a, b.'),
        ('"delay": 2', '"delay": -2', f"dependences[0].delay: {INTEGER} -2."),
        (
            '"unit": "U"',
            '"unit": "NONE"',
            'ops[0].occupancy: the op holds unit "NONE" for 3 cycles, but its capacity is 0. Give the unit a capacity of 1 or more.',
        ),
        ('"name": "b"', '"name": "a"', 'ops[1].name: two ops are called "a". Names must be unique.'),
        ('"latency": 5', '"latency": 2147483648', f"ops[0].latency: {INTEGER} 2147483648."),
        # what takes the place of an integer
        ('"latency": 5', '"latency": true', f"ops[0].latency: {INTEGER} true."),
        ('"latency": 5', '"latency": 5.0', f"ops[0].latency: {INTEGER} 5.0."),
        ('"latency": 5', '"latency": 1e3', f"ops[0].latency: {INTEGER} 1e3."),
        ('"latency": 5', '"latency": "5"', f'ops[0].latency: {INTEGER} "5".'),
        ('"latency": 5', '"latency": null', f"ops[0].latency: {INTEGER} null."),
        ('"latency": 5', '"latency": [5]', f"ops[0].latency: {INTEGER} [5]."),
        ('"latency": 5', '"latency": NaN', f"ops[0].latency: {INTEGER} NaN."),
        ('"latency": 5', '"latency": Infinity', f"ops[0].latency: {INTEGER} Infinity."),
        ('"latency": 5', '"latency": -Infinity', f"ops[0].latency: {INTEGER} -Infinity."),
        ('"latency": 5', '"latency": 1e999', f"ops[0].latency: {INTEGER} 1e999."),
        ('"latency": 5', f'"latency": {"9" * 5000}', f"ops[0].latency: {INTEGER} {'9' * 40}... (5000 characters)."),
        ('"distance": 0', '"distance": -1', f"dependences[0].distance: {INTEGER} -1."),
        (
            '"distance": 0',
            '"warps": 0',
            "dependences[0].warps: unknown field. Known here: src, dst, delay, distance, blocking, kind, value, in_place.",
        ),
        ('"U": 1', '"U": 1.5', f"limits.units.U: {INTEGER} 1.5."),
        ('"U": 1', '"U": 1, "has space": -1', f'limits.units["has space"]: {INTEGER} -1.'),
        # names that are not there
        ('"unit": "U"', '"unit": "W"', 'ops[0].unit: the machine has no unit "W". Known units: U, NONE.'),
        ('"smem": 8', '"tmem": 8', 'ops[1].memory.tmem: the machine has no memory "tmem". Known memories: smem.'),
        (
            '"memories": {"smem": 64}',
            '"memories": {}',
            'ops[1].memory.smem: the machine has no memory "smem". The file declares no memories.',
        ),
        # fields
        ('"latency"', '"latancy"', 'ops[0].latancy: unknown field. Did you mean "latency"?'),
        ('"latency": 5', '"latency": 5, "latency": 6', "ops[0].latency: the key occurs twice. Keep one of the two."),
        ('"U": 1', '"U": 1, "U": 2', "limits.units.U: the key occurs twice. Keep one of the two."),
        ('"name": "a", ', "", 'ops[0]: the field "name" is missing.'),
        ('"dst": "b", ', "", 'dependences[0]: the field "dst" is missing.'),
        ('"name": "a"', '"name": ""', 'ops[0].name: expected a name (a string of one or more printable characters), got "".'),
        ('"name": "a"', '"name": "a\\n"', 'ops[0].name: expected a name (a string of one or more printable characters), got "a\\n".'),
        ('"name": "a"', '"name": "\\ud800"', 'ops[0].name: expected a name (a string of one or more printable characters), got "\\ud800".'),
        ('"name": "a"', '"name": 7', "ops[0].name: expected a name (a string of one or more printable characters), got 7."),
        ('"name": "b"', '"name": "b", "warps": 0', "ops[1].warps: expected an integer from 1 to 2147483647, got 0."),
        ('"name": "b"', '"name": "b", "kind": "\\udfff"', 'ops[1].kind: expected a string, got "\\udfff".'),
        ('"name": "b"', '"name": "b", "streaming": 1', "ops[1].streaming: expected true or false, got 1."),
        (
            '"delay": 2',
            '"kind": "anti"',
            'dependences[0].kind: expected "data" or "carried" or "memory" or "token" or "ring", got "anti".',
        ),
        # what an op occupies
        ('"name": "b"', '"name": "b", "unit": "U"', 'ops[1]: the field "occupancy" is missing.'),
        (
            '"name": "b"',
            '"name": "b", "occupancy": 1',
            'ops[1].occupancy: an occupancy without a unit. Add "unit" or leave "occupancy" out.',
        ),
        (
            '"latency": 5',
            '"rrt": {"U": [1]}',
            'ops[0].unit: "rrt" and "unit" both describe what the op occupies. Keep one of the two.',
        ),
        (
            '"latency": 5',
            '"cycles": 2',
            "ops[0].cycles: 2 cycles, but the op holds a unit until cycle 3. Set cycles to 3 or more.",
        ),
        (
            '"name": "b"',
            '"name": "b", "rrt": {"NONE": [0, 1]}',
            'ops[1].rrt.NONE: the op holds unit "NONE" for 1 cycle, but its capacity is 0. Give the unit a capacity of 1 or more.',
        ),
        ('"name": "b"', '"name": "b", "rrt": {"U": [0, -1]}', f"ops[1].rrt.U[1]: {INTEGER} -1."),
        (
            '"name": "b"',
            '"name": "b", "reservations": [{"unit": "U", "duration": 0}]',
            "ops[1].reservations[0].duration: expected an integer from 1 to 2147483647, got 0.",
        ),
        (
            '"name": "b"',
            '"name": "b", "reservations": [{"unit": "U", "offset": 2147483647, "duration": 1}]',
            "ops[1].reservations[0]: the unit is held until cycle 2147483648, after the last one, 2147483647.",
        ),
        # shapes
        ('"dependences": [', '"dependences": [[], ', "dependences[0]: expected an object, got []."),
        ('"limits": {"units": {"U": 1, "NONE": 0}', '"limits": {"units": ["U"]', 'limits.units: expected an object, got ["U"].'),
        # formats
        (
            '"twill.problem/1"',
            '"twill.problem/2"',
            'schema: unknown format "twill.problem/2". Expected here: twill.problem/1 or twill-golden-1.',
        ),
        ('"twill.problem/1"', "1", "schema: unknown format 1. Expected here: twill.problem/1 or twill-golden-1."),
    ],
)
def test_one_thing_wrong(file: Path, old: str, new: str, said: str) -> None:
    assert GOOD.count(old) == 1
    assert message(file, GOOD.replace(old, new)) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", " the file is empty. A problem starts with {."),
        (" \n\n", " the file is empty. A problem starts with {."),
        ("7", " expected an object, got 7."),
        ("[]", " expected an object, got []."),
        ("{}", ' the field "schema" is missing. Expected here: twill.problem/1 or twill-golden-1.'),
        ('{"schema": "twill.problem/1"}', ' the field "ops" is missing.'),
        (GOOD[: GOOD.index('"latency"')], "5: the file ends in the middle of a value. Complete the file."),
        (GOOD[: GOOD.index("tency")], "5: the file ends in the middle of a value. Complete the file."),
        (GOOD + "}", "10:1: not JSON: extra data. Correct the text there."),
        (GOOD.replace('"b", "mem', '"b" "mem'), "6:18: not JSON: expecting ',' delimiter. Correct the text there."),
        ("[" * 10_000, "1: brackets are nested more than 64 deep. No format that twill reads needs that."),
        ('\n{"a":' * 10_000, "66: brackets are nested more than 64 deep. No format that twill reads needs that."),
        (b'{"schema":\n"\xff"}', "2: byte 12 (0xff) is not valid UTF-8. Save the file as UTF-8."),
        ("{".encode("utf-16"), "1: byte 0 (0xff) is not valid UTF-8. Save the file as UTF-8."),
    ],
)
def test_not_a_problem_at_all(file: Path, text: str | bytes, said: str) -> None:
    assert message(file, text) == said


def test_brackets_inside_strings_do_not_nest(file: Path) -> None:
    file.write_text(GOOD.replace('"name": "b"', json.dumps({"name": '[{"\\' * 100})[1:-1]).replace('"dst": "b"', '"dst": "a"'))
    assert len(read_problem(file).ops) == 2


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_problem(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory. Give the path of a JSON file."


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_problem(tmp_path / "nowhere.json")
    assert str(caught.value) == f"{tmp_path}/nowhere.json: cannot be read: No such file or directory. Give the path of a JSON file."


def test_origins_name_ops_that_exist(file: Path) -> None:
    assert message(file, GOOD.replace('"dependences"', '"provenance": {"origins": [{"op": "c"}]}, "dependences"')) == (
        'provenance.origins[0].op: there is no op "c". Known ops: a, b.'
    )


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ('{"id": "a"}', 'nodes[0]: the field "cycles" is missing.'),
        ('{"id": "a", "cycles": 2, "rrt": {"U": [1]}}', "nodes[0].rrt.U: 1 demand for an op of 2 cycles. Give one demand a cycle."),
        ('{"id": "a", "cycles": 0}, {"id": "a", "cycles": 0}', 'nodes[1].id: two nodes are called "a". Names must be unique.'),
    ],
)
def test_golden_files_are_read_as_strictly(file: Path, node: str, said: str) -> None:
    document = f'{{"schema": "twill-golden-1", "machine": {{"units": {{"U": 1}}, "warps": 1}}, "nodes": [{node}], "edges": []}}'
    assert message(file, document) == said


def test_a_problem_is_not_a_golden_instance(file: Path) -> None:
    file.write_text(GOOD)
    with pytest.raises(BadInput) as caught:
        read_golden(file)
    assert str(caught.value) == f'{file}:schema: unknown format "twill.problem/1". Expected here: twill-golden-1.'
