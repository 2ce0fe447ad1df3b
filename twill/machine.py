"""Machine: what one SM offers to one thread block, and what each kind of op costs on it.  Data only; no files are read here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Number:
    """A number with its unit and where it comes from.  `quality` is "measured", "documented" or "derived"."""

    value: int
    unit: str
    source: str
    quality: str


@dataclass(frozen=True)
class Constant:
    """A named quantity of the cost formulas: exact, not necessarily whole.  unit, source and quality as in Number."""

    value: Fraction
    unit: str
    source: str
    quality: str


@dataclass(frozen=True)
class CostRule:
    """Cost of one op kind: formulas over the measures of a node (`twill.graph.loopgraph.Node.measures`), in cycles, rounded up.

    unit       functional unit that the op occupies, "" for none
    occupancy  cycles that the unit is busy
    latency    start to result usable; the formula may use the value of `occupancy`
    issue      cycles that the issuing group is held; the formula may use the values of `occupancy` and `latency`
    held       the same for a group that issues in order beside other groups: what its next instructions wait for is in it too (a
               maximum that lanes exchange in dependent steps), and what warps of other groups on the same schedulers take; the
               formula may use all of the above and the measure `others` (`twill.graph.strands`)
    asynchronous, variable_latency, blocking
               completes by barrier or wait; latency unknown to the scheduler; its consumers wait synchronously
    source, quality  as in Number
    """

    kind: str
    unit: str
    occupancy: str
    latency: str
    issue: str
    asynchronous: bool
    variable_latency: bool
    blocking: bool
    source: str
    quality: str
    held: str = "issue"


@dataclass(frozen=True)
class Machine:
    """One GPU.

    target          Triton target, e.g. "cuda:90"
    units           unit -> Number of servers
    memories        memory -> Number: capacity for one thread block
    limits          named Numbers: warps, registers_per_sm, registers_per_thread, register_granularity, register_minimum,
                    register_maximum, registers_reserved, ... (see the schema in `twill.machine_models`)
    handoff         named formulas for moving a register tile between groups: "spill" is the delay, over the measure bytes;
                    "spill_coupled" the same beside a busy tensor core, absent when not known
    rules           kind -> CostRule beside an idle tensor core ("alone")
    coupled         kind -> CostRule beside a busy tensor core; kinds that do not change are absent
    family, chip    e.g. "Hopper" and "H200 SXM"
    file            the model file, as messages name it
    device          the whole chip: sms, clock_mhz, l2_bytes, dram_bytes, dram_gb_per_s
    barriers        what synchronisation takes: mbarrier_one_way, named_barrier_one_way, proxy_fence, ..., in cycles
    constants       named quantities that formulas use
    definitions     named formulas that other formulas use; each uses only those before it
    sources         what the abbreviations at the head of every `source` stand for
    """

    name: str
    description: str
    target: str
    version: str
    units: tuple[tuple[str, Number], ...]
    memories: tuple[tuple[str, Number], ...]
    limits: tuple[tuple[str, Number], ...]
    handoff: tuple[tuple[str, str], ...]
    rules: tuple[CostRule, ...]
    coupled: tuple[CostRule, ...]
    notes: tuple[str, ...] = ()
    family: str = ""
    chip: str = ""
    file: str = ""
    device: tuple[tuple[str, Number], ...] = ()
    barriers: tuple[tuple[str, Number], ...] = ()
    constants: tuple[tuple[str, Constant], ...] = ()
    definitions: tuple[tuple[str, str], ...] = ()
    sources: tuple[tuple[str, str], ...] = ()

    def limit(self, name: str) -> int:
        """Value of limit `name`; KeyError when the model does not give it."""
        return dict(self.limits)[name].value

    def rule(self, kind: str, *, coupled: bool) -> CostRule:
        """Cost rule of `kind`; the coupled one when asked for and present.  KeyError when the model has no such kind."""
        if coupled:
            for rule in self.coupled:
                if rule.kind == kind:
                    return rule
        return {rule.kind: rule for rule in self.rules}[kind]
