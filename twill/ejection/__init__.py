"""Ejection search: schedules near the smallest II for loops that are too large for proofs.

Iterative modulo scheduling (Rau, MICRO 1994) takes away what is in the way of an op and schedules it again.  Here this is done as in
guided ejection search (Nagata and Braysy, 2009): an op that could not be placed without ejecting others weighs more the next time, and
what weighs least is ejected.  Cycle and warp group are chosen together, and registers and memories are kept within their limits all
the time, so that what is placed in the end is a schedule but for what `board` says it does not count.

No proof of anything: the caller checks every schedule exactly.  The same problem always gets the same schedules.
"""

from twill.ejection.ladder import Ladder

__all__ = ["Ladder"]
