"""LoopGraph and Machine to Problem: what each op costs, what each dependence delays, what the machine leaves for the loop.

Occupancy goes into reservation tables, latency onto dependences, issue time into the ops (formulation, sections 1.2, 4.5 and 7).
Whatever was chosen on the way is a sentence in the Problem's provenance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from twill.cost_rules import Cost, CostTable
from twill.errors import BadInput, Place, Unsupported
from twill.graph.around import stored_behind
from twill.graph.loopgraph import Edge, LoopGraph, Node
from twill.graph.roles import BUFFER_VIEWS
from twill.graph.strands import others, strands
from twill.machine import Machine
from twill.problem import Dependence, Limits, Op, Origin, Problem, Provenance, RegisterFile, Reservation, Rules
from twill.program.program import Operation
from twill.program.types import MemDesc
from twill.resources import register_pool

COUPLINGS = ("auto", "coupled", "alone")
MODELS = {"paper": Rules(), "hardware": Rules(in_order=True, hold=True, rings=True)}
"""Readings of the machine: the published one, and the one in which a warp group issues in order and buffers are held (4.8, A26, A27)."""
REDUCTIONS = ("reduce_max", "reduce_sum", "reduce_other")
READERS = ("global_load", "smem_load", "tmem_load")
"""Kinds that read a memory and leave it as it is."""


@dataclass(frozen=True)
class Pricing:
    """A loop graph on a machine: ops of the program by number, nodes by name, and their costs.

    in_order  a warp group issues in order, so that all that its ops take of its own time counts (formulation 4.8)
    """

    graph: LoopGraph
    machine: Machine
    table: CostTable
    operations: dict[int, Operation]
    nodes: dict[str, Node]
    costs: dict[str, Cost]
    in_order: bool = False

    def principal(self, node: Node) -> Operation:
        """The op that gives the node its kind."""
        return self.operations[node.operations[0]]

    def is_buffer(self, value: int) -> bool:
        """Whether the value is a buffer in shared or tensor memory."""
        return isinstance(self.graph.program.type(value), MemDesc)

    def buffer(self, value: int) -> int:
        """The value that names the whole buffer of which `value` is a view; other values name themselves."""
        definition = self.graph.program.definitions.get(value)
        return self.buffer(definition.operands[0]) if definition is not None and definition.name in BUFFER_VIEWS else value

    def issue(self, node: Node) -> int:
        """Cycles for which the node keeps its warp group: with `in_order`, all that it takes of a group's own time.

        That is also what barriers take: a wait for every tile that a load of the variable-latency group brings, though the tile be
        there, and an arrival that gives its slot back.
        """
        cost = self.costs[node.name]
        if not self.in_order or cost.rule.variable_latency:
            return cost.issue
        cycles = {name: number.value for name, number in self.machine.barriers}
        loads = {edge.src for edge in self.graph.edges if edge.dst == node.name and self.waits_for_load(edge)}
        return cost.held + len(loads) * (cycles["mbarrier_wait_ready"] + cycles["mbarrier_arrive"])

    def stays(self, node: Node, size: int) -> bool:
        """Whether a register value of `size` bytes has to stay in its group: with `in_order`, copying it would take time of its own.

        What is loaded may be handed on: another group could as well load it itself.
        """
        most = dict(self.machine.limits).get("handoff_bytes")
        return self.in_order and most is not None and size > most.value and node.kind != "global_load"

    def waits_for_load(self, edge: Edge) -> bool:
        """Whether the edge brings a tile by the barrier of a load of variable latency."""
        rule = self.costs[edge.src].rule
        return edge.kind in ("data", "carried") and rule.variable_latency and rule.blocking

    def streams(self, node: Node) -> bool:
        """Whether the node runs ahead of the loop: its latency is unknown, and nothing in the loop feeds it."""
        return node.streaming and self.costs[node.name].rule.variable_latency


def price(graph: LoopGraph, machine: Machine, *, coupling: str = "auto", model: str = "paper") -> Problem:
    """The scheduling problem of a loop on a machine.

    coupling   "coupled": costs beside a busy tensor core; "alone": beside an idle one; "auto": coupled when the loop has tensor work
    model      one of MODELS: the rules of the problem

    Raises BadInput for a kernel that was compiled for another target, for a machine's formula that fails on an op and for costs
    that a Problem cannot hold; Unsupported for an op or a memory that the machine does not have.
    """
    if coupling not in COUPLINGS:
        raise BadInput(f'coupling is "{coupling}".', remedy=f"Known: {', '.join(COUPLINGS)}.")
    if model not in MODELS:
        raise BadInput(f'model is "{model}".', remedy=f"Known: {', '.join(MODELS)}.")
    _check_target(graph, machine)
    tensor_work = any(node.kind == "mma" for node in graph.nodes)
    table = CostTable(machine, coupled=tensor_work if coupling == "auto" else coupling == "coupled")
    operations = graph.program.operations
    parts = strands(graph)
    at = {node.name: _place(graph, operations[node.operations[0]]) for node in graph.nodes}
    costs = {node.name: table.cost(node, at[node.name], others=others(node, parts)) for node in graph.nodes}
    pricing = Pricing(graph, machine, table, operations, {node.name: node for node in graph.nodes}, costs, MODELS[model].in_order)
    ops = tuple(_op(pricing, node) for node in graph.nodes)
    return Problem(
        name=graph.program.name,
        ops=ops,
        dependences=tuple(_dependence(pricing, edge) for edge in graph.edges),
        limits=_limits(pricing, model),
        rules=MODELS[model],
        provenance=_provenance(pricing, (*graph.decisions, *_decisions(pricing, ops, coupling, tensor_work, model))),
    )


def _check_target(graph: LoopGraph, machine: Machine) -> None:
    target = graph.program.target
    if target and target != machine.target:
        raise BadInput(
            f"the kernel is compiled for {target}, {machine.name} is {machine.target}.",
            place=Place(file=graph.program.file),
            remedy=f"Compile the kernel for {machine.target}, or choose a machine for {target}.",
        )


def _place(graph: LoopGraph, op: Operation) -> Place:
    return Place(file=graph.program.file, line=op.line)


# ---------------------------------------------------------------------------------------------------------------------------- ops
def _op(pricing: Pricing, node: Node) -> Op:
    cost = pricing.costs[node.name]
    unit, size = cost.rule.unit, 4 * node.result.registers
    known = dict(pricing.machine.memories)
    missing = next((memory for memory, amount in node.result.memory if amount and memory not in known), None)
    if missing is not None:
        message = f'{pricing.machine.name} has no memory "{missing}", in which {node.name} puts its result.'
        raise Unsupported(message, place=_place(pricing.graph, pricing.principal(node)))
    return Op(
        name=node.name,
        kind=node.kind,
        reservations=(Reservation(unit, 0, cost.occupancy),) if unit else (),
        cycles=cost.occupancy,
        issue=pricing.issue(node),
        warps=node.warps,
        variable_latency=cost.rule.variable_latency,
        streaming=pricing.streams(node),
        asynchronous=cost.rule.asynchronous,
        registers=node.result.registers,
        memory=tuple(sorted((memory, amount) for memory, amount in node.result.memory if amount)),
        spill=pricing.table.handoff(size) if size else 0,
        spill_bytes=size,
        latency=cost.latency if pricing.streams(node) else 0,
        stays=pricing.stays(node, size),
    )


# -------------------------------------------------------------------------------------------------------------------- dependences
def _dependence(pricing: Pricing, edge: Edge) -> Dependence:
    src, dst = pricing.nodes[edge.src], pricing.nodes[edge.dst]
    delay, blocking = _delay(pricing, edge)
    in_place = edge.kind in ("data", "carried") and _accumulates(pricing, src, dst)
    return Dependence(edge.src, edge.dst, delay, edge.distance, blocking, edge.kind, edge.value, in_place)


def _delay(pricing: Pricing, edge: Edge) -> tuple[int, bool]:
    """Cycles between the two starts, and whether the second op waits synchronously.

    * Products that follow each other on the tensor core, on one accumulator: the core works in order, so the second may start when
      the first has left it, and nobody waits.
    * A reader before what overwrites its source: when it has read, which for work that the threads do themselves is when it is done.
    * In a group that issues in order, work of the threads on what they computed themselves: result by result, so when it is the user's
      turn, where the machine knows how long that is (`CostRule.held`).
    * Everything else, readers after writers and writers after asynchronous readers included: when the result, or the end of the
      access, is visible.  Streaming loads run ahead, so their users wait but not for their latency.

    The result of an asynchronous op arrives by a barrier or a wait, so its users wait.  A result that the threads make themselves
    is waited for only by asynchronous users, which see it behind a fence and a barrier.
    """
    src, dst = pricing.nodes[edge.src], pricing.nodes[edge.dst]
    cost, user = pricing.costs[edge.src], pricing.costs[edge.dst]
    if src.kind == "mma" and _accumulates(pricing, src, dst):
        return cost.occupancy, False
    blocking = cost.rule.blocking and (cost.rule.asynchronous or user.rule.asynchronous)
    if edge.kind in ("memory", "token") and src.kind in READERS and not cost.rule.asynchronous:
        return max(cost.occupancy, pricing.issue(src)), False
    if pricing.in_order and not cost.rule.asynchronous:
        streamed = cost.rule.held != "issue" and src.kind not in REDUCTIONS and not user.rule.asynchronous
        return max(0 if streamed else cost.latency, pricing.issue(src)), blocking
    return (0 if pricing.streams(src) else cost.latency), blocking


def _accumulates(pricing: Pricing, src: Node, dst: Node) -> bool:
    """Whether `dst` is a product that works in place on what `src`, a product or a store into tensor memory, leaves there."""
    if dst.kind != "mma" or src.kind not in ("mma", "tmem_store"):
        return False
    made, product = pricing.principal(src), pricing.principal(dst)
    # A product reads its first two operands and writes its third; a store writes the one buffer that it names.
    written = made.operands[2:3] if src.kind == "mma" else made.operands
    left = {pricing.buffer(value) for value in (*made.results, *(v for v in written if pricing.is_buffer(v)))}
    return not left & {pricing.buffer(value) for value in product.operands[:2]}


# ------------------------------------------------------------------------------------------------------------------------- limits
def _limits(pricing: Pricing, model: str) -> Limits:
    """What is left for the loop's own values: less what is reserved, and less what values from before the loop hold."""
    machine, held = pricing.machine, dict(pricing.graph.resident)
    held_registers = held.get("registers", 0)
    granted = model == "hardware"
    file = _register_file(machine, -(-held_registers // pricing.graph.program.num_warps))
    return Limits(
        units=tuple((unit, number.value) for unit, number in machine.units),
        memories=tuple((memory, _left(pricing, memory, number.value)) for memory, number in machine.memories),
        warps=machine.limit("warps") - machine.limit("warps_reserved"),
        registers_per_warp=max(0, _registers_per_warp(machine) - -(-held_registers // pricing.graph.program.num_warps)),
        registers_per_sm=_most_registers(file) if granted else max(0, _registers_per_sm(machine) - held_registers),
        register_file=file if granted else None,
    )


def _register_file(machine: Machine, held: int) -> RegisterFile:
    """The register file that grants are made from; `held` words of a warp are taken before the loop."""
    return RegisterFile(
        words=machine.limit("registers_per_sm"),
        granularity=machine.limit("register_granularity"),
        least=machine.limit("register_minimum"),
        most=machine.limit("register_maximum"),
        reserved=machine.limit("registers_reserved"),
        held=held,
        threads=machine.limit("threads_per_warp"),
        warpgroup=machine.limit("warps_per_warpgroup"),
    )


def _left(pricing: Pricing, memory: str, capacity: int) -> int:
    held = dict(pricing.graph.resident).get(memory, 0)
    return max(0, capacity - _reserved(pricing.machine, memory) - held)


def _reserved(machine: Machine, memory: str) -> int:
    number = dict(machine.limits).get(f"{memory}_reserved")
    return 0 if number is None else number.value


def _registers_per_warp(machine: Machine) -> int:
    """32-bit words of one warp that values can have (formulation, section 7.5)."""
    free = machine.limit("registers_usable") - machine.limit("registers_reserved")
    return machine.limit("threads_per_warp") * free


def _registers_per_sm(machine: Machine) -> int:
    """32-bit words of a full block that values can have: the pool less what every thread reserves, group 0 included.

    The published rules know no grants: this is a bound of the same kind as theirs.
    """
    threads = machine.limit("threads_per_warp") * machine.limit("warps")
    return register_pool(machine, threads) - machine.limit("registers_reserved") * threads


def _most_registers(file: RegisterFile) -> int:
    """32-bit words that values can have at most in a block, whatever the grants: implied by them, and easier to see for a solver."""
    return file.pool(1) - file.lanes * file.reserved


# --------------------------------------------------------------------------------------------------------------------- provenance
def _provenance(pricing: Pricing, decisions: tuple[str, ...]) -> Provenance:
    program, machine = pricing.graph.program, pricing.machine
    table = "beside a busy tensor core" if pricing.table.coupled else "beside an idle tensor core"
    return Provenance(
        file=program.file,
        kernel=program.name,
        loop_line=pricing.operations[pricing.graph.loop].line,
        machine=machine.name,
        costs=f"{machine.name} {machine.version}, {table}",
        decisions=decisions,
        origins=tuple(_origin(pricing, node) for node in pricing.graph.nodes),
        subtile=pricing.graph.subtile or None,
        operands=pricing.graph.operands or None,
        step=pricing.graph.step,
        stored=stored_behind(program, pricing.operations[pricing.graph.loop]),
        resident=dict(pricing.graph.resident).get("smem", 0),
    )


def _origin(pricing: Pricing, node: Node) -> Origin:
    """The line of the kernel's own source when the IR tells it, else the line of the IR."""
    op = pricing.principal(node)
    at = op.location
    return Origin(
        op=node.name,
        label=at.name,
        file=PurePath(at.file).name if at.file else pricing.graph.program.file,
        line=at.line if at.file else op.line,
        source=f"line {op.line}: {op.name}",
        folded=tuple(pricing.operations[index].name for index in node.folded),
    )


def _decisions(pricing: Pricing, ops: tuple[Op, ...], coupling: str, tensor_work: bool, model: str) -> Iterable[str]:
    machine, graph = pricing.machine, pricing.graph
    yield _coupling_decision(pricing, coupling, tensor_work)
    for memory, number in machine.memories:
        yield from _memory_decision(pricing, memory, number.value, number.unit.split()[0])
    reserved, warps, kept = (machine.limit(name) for name in ("registers_reserved", "warps", "warps_reserved"))
    per_sm = "" if model == "hardware" else f" and {_registers_per_sm(machine):,} per SM"
    yield (
        f"{reserved} registers per thread are kept for addresses, loop state and barriers: values have "
        f"{_registers_per_warp(machine):,} words per warp{per_sm}"
    )
    held = dict(graph.resident).get("registers", 0)
    if held:
        yield f"tiles from before the loop hold {held:,} words of registers; every warp is charged its share"
    yield f"{warps - kept} of {warps} warps run regular groups; the others are kept for group 0"
    if any(pricing.streams(node) for node in graph.nodes):
        yield "streaming loads run ahead of the loop: their users wait for them, but their latency delays nobody"
    if any(op.stays for op in ops):
        most = machine.limit("handoff_bytes")
        which = f"computed register values of more than {most:,} bytes stay" if most else "computed register values stay"
        yield f"{which} in their warp group, because copying them would take both groups' own time (--model paper lets them go)"
    if any(op.registers and not op.stays for op in ops):
        yield (
            f"register tiles reach other warp groups through shared memory: 16 KiB take {pricing.table.handoff(16 * 1024)} cycles "
            f"(handoff.{pricing.table.handoff_name} of {machine.name})"
        )
    if any(edge.kind in ("memory", "token") for edge in graph.edges):
        yield "order without a value: readers hold what they read until they have read it, writers until their result is visible"
    yield from _model_decision(pricing, model)


def _model_decision(pricing: Pricing, model: str) -> Iterable[str]:
    if model == "hardware":
        file = _register_file(pricing.machine, 0)
        yield (
            f"warpgroups are granted registers in steps of {file.granularity} from {file.least} to {file.most} a thread; all grants "
            "together fit into the pool that the block is launched with"
        )
        yield (
            "a warp group issues in order, asynchronous ops hold their operands in memory until they complete, and every value in "
            "memory has its own ring of buffers, copies for other warp groups included (--model paper turns these off)"
        )
        yield (
            "rings of streaming loads are two slots deeper than lifetimes need where the memory has room, because loads do not always "
            "take the same time (--depth N chooses)"
        )


def _coupling_decision(pricing: Pricing, coupling: str, tensor_work: bool) -> str:
    machine, table = pricing.machine, pricing.table
    why = "as asked" if coupling != "auto" else "the loop has tensor work" if tensor_work else "the loop has no tensor work"
    if not table.coupled:
        return f"costs are those beside an idle tensor core ({why})"
    if not machine.coupled:
        return f"{machine.name} has no costs beside a busy tensor core: those beside an idle one are used"
    changed = {rule.kind for rule in machine.coupled}
    kinds = ", ".join(dict.fromkeys(node.kind for node in pricing.graph.nodes if node.kind in changed))
    return f"costs are those beside a busy tensor core ({why})" + (f", which differ for {kinds}" if kinds else "")


def _memory_decision(pricing: Pricing, memory: str, capacity: int, unit: str) -> Iterable[str]:
    reserved, held = _reserved(pricing.machine, memory), dict(pricing.graph.resident).get(memory, 0)
    parts = []
    if reserved:
        parts.append(f"{reserved:,} are kept for barriers and padding")
    if held:
        parts.append(f"{held:,} hold tiles from before the loop")
    if parts:
        left = _left(pricing, memory, capacity)
        yield f"{memory}: of {capacity:,} {unit}, {' and '.join(parts)}; {left:,} are left for the loop"
