"""Schedules in attributes that stock Triton obeys: text in, text out, attributes only, everything else byte for byte.

* `marked_stages`: software pipelining on sm_90 and sm_100, one instruction stream (`loop.stage`, `loop.cluster`);
* `marked_partitions`: warp groups on sm_100 (`ttg.partition`);
* `marked_tasks`: warp groups on sm_90, experimental (`async_task_id`);
* `unsound`: whether marks leave the meaning of a loop as it is;
* `restricted`: what Triton cannot lower, as constraints of the Problem.

Works without Triton.  `Marked.limits` lists what the marks do not say of the schedule.
"""

from __future__ import annotations

from twill.backends.triton_marks.constraints import CONSTRAINTS, PARTITIONS, TARGETS, restricted
from twill.backends.triton_marks.groups import marked_partitions, marked_tasks
from twill.backends.triton_marks.marked import Marked, marked_stages, rewritten
from twill.backends.triton_marks.sound import unsound

__all__ = [
    "CONSTRAINTS",
    "PARTITIONS",
    "TARGETS",
    "Marked",
    "marked_partitions",
    "marked_stages",
    "marked_tasks",
    "restricted",
    "rewritten",
    "unsound",
]
