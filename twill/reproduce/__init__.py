"""What is published about warp-specialised attention, found again: `twill reproduce`.

    graphs.py     the loops: bundled kernels on machines, and two reference graphs
    variants.py   the same with something taken away or fixed beforehand: ablations and counter-checks
    structure.py  what makes a schedule that of FlashAttention-3 or 4, read off the schedule
    cases.py      the list: what is published, what is asked, what must come out
    runs.py       one answer of an engine with its evidence and its seconds

Sources: "Optimal Software Pipelining and Warp Specialization for Tensor Core GPUs" (arXiv 2512.18134) as restated in formulation 5.5
and 5.6, and measurements of a hand-written Hopper kernel (formulation 4.8).
"""
