"""Stage 2: start cycles, warp groups, liveness, spills and blocking as one formula.

One file a constraint family, named as in formulation section 4.4.  `assemble` puts them together for one initiation interval;
`twill.engines` decides the formula; `decode` turns a model into a Schedule.
"""
