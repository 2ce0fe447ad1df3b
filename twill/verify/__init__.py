"""The independent checker: whether a schedule obeys every constraint of its problem, recomputed from the definitions.

It lays one II of the steady state out and looks at every slot; it shares no code with the solvers, which never see a slot.  The
rules are those of formulation 4.4, one file a family; `Audit` also carries what was measured on the way, for reports.
"""

from __future__ import annotations

from twill.problem import Problem
from twill.schedule import Schedule
from twill.verify.audit import FAMILIES, Audit, Crossing, GroupUse, MemoryUse, UnitUse, ValueUse, Violation, Wait
from twill.verify.blocking import check_blocking, waits
from twill.verify.capacity import check_capacity, unit_uses
from twill.verify.dependences import check_dependences
from twill.verify.form import check_form, check_length, iteration_length, places_every_op_once
from twill.verify.groups import check_groups
from twill.verify.issue import check_issue
from twill.verify.liveness import crossings, value_uses
from twill.verify.memory import check_memories, memory_uses
from twill.verify.registers import check_registers, granted, group_uses, registers_of_sm
from twill.verify.steady import Steady

__all__ = [
    "FAMILIES",
    "Audit",
    "Crossing",
    "GroupUse",
    "MemoryUse",
    "UnitUse",
    "ValueUse",
    "Violation",
    "Wait",
    "check",
]


def check(problem: Problem, schedule: Schedule) -> Audit:
    """All violations of `schedule`, family by family, and its facts.

    Any schedule may be given, however wrong.  One that does not place every op once is checked for form only.  When the first op
    starts does not matter (shifting all starts changes no constraint), but it must not be before cycle 0.
    """
    form = tuple(check_form(problem, schedule))
    length = iteration_length(problem, schedule)
    if not places_every_op_once(problem, schedule):
        return Audit(schedule.ii, length, form)
    steady = Steady.of(problem, schedule)
    families = (check_dependences, check_capacity, check_groups, check_issue, check_blocking, check_memories, check_registers)
    groups = group_uses(steady)
    return Audit(
        ii=schedule.ii,
        length=length,
        violations=(
            *form,
            *check_length(problem, schedule),
            *(violation for family in families for violation in family(steady)),
        ),
        units=unit_uses(steady),
        groups=groups,
        registers_per_sm=registers_of_sm(groups),
        granted=granted(steady),
        memories=memory_uses(steady),
        values=value_uses(steady),
        waits=waits(steady),
        crossings=crossings(steady),
        notes=_notes(problem, steady),
    )


def _notes(problem: Problem, steady: Steady) -> tuple[str, ...]:
    if not problem.ops:
        return ("The problem has no ops: there is nothing to schedule.",)
    first = min(steady.start.values())
    if first > 0:
        return (f"The first op starts at cycle {first}; a schedule is usually given with the first start at 0.",)
    return ()
