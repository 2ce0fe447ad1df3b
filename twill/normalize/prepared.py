"""How the public reproduction prepares costs for the published program (formulation 2.5: A1, B1, B2)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from twill.normalize.pool import Entry, delay_entries, op_entries, spill_entries
from twill.problem import Problem


def pool(problem: Problem) -> list[Entry]:
    """A1: one entry per op that takes time, and the delays and spills that are not 0."""
    return [entry for entry in (*op_entries(problem), *delay_entries(problem), *spill_entries(problem)) if entry.cost > 0]


def merged(costs: Sequence[int], tolerance: Fraction) -> list[int]:
    """B1: costs within `tolerance` of the smallest of their cluster become the mean over its entries, halves rounded up.

    Clusters are formed in ascending order; the first cost of a cluster is its anchor.
    """
    clusters: list[list[int]] = []
    for cost in sorted(costs):
        if clusters and cost <= clusters[-1][0] * (1 + tolerance):
            clusters[-1].append(cost)
        else:
            clusters.append([cost])
    mean = {cost: (2 * sum(cluster) + len(cluster)) // (2 * len(cluster)) for cluster in clusters for cost in cluster}
    return [mean[cost] for cost in costs]


def floored(costs: Sequence[int], floor: int) -> list[int]:
    """B2: costs below 1/`floor` of the largest become 0."""
    return [cost if cost * floor >= max(costs) else 0 for cost in costs]
