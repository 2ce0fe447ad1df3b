"""Asynchronous copies, barriers and waits.  One program instance runs in order: what is asynchronous happens at once.

So fences and waits for copies have nothing to do; mbarriers are counted, and a wait that would never end is a fault.  Whether a wait
that the hardware needs is missing cannot be seen here.
"""

from __future__ import annotations

from twill.simulate import mbarriers
from twill.simulate.faults import Missing
from twill.simulate.semantics.call import Call, Handler
from twill.simulate.semantics.dots import tensor_core
from twill.simulate.semantics.pointers import load as load_pointers
from twill.simulate.semantics.tensor_maps import load, reduce, store
from twill.simulate.state import TOKEN, RuntimeValue


def _nothing(call: Call) -> RuntimeValue:
    return TOKEN


def _pass_through(call: Call) -> tuple[RuntimeValue, ...]:
    return call.values()


def _copy_in(call: Call) -> RuntimeValue:
    call.view("result").write(load_pointers(call, "src"))
    return TOKEN


def _tma_in(call: Call) -> tuple[()]:
    if call.given("offsets"):
        raise Missing("copies an im2col block, which the interpreter does not")
    if call.flag("pred", True):
        target = call.view("result")
        target.write(load(call, "coord", target.shape))
        mbarriers.delivered(call.view("barrier"), target.data.nbytes)
    return ()


def _tma_out(call: Call) -> tuple[()]:
    store(call, "coord", call.tile("src"))
    return ()


def _tma_reduce(call: Call) -> tuple[()]:
    reduce(call, "coord", call.tile("src"))
    return ()


def _start(call: Call) -> tuple[()]:
    mbarriers.start(call.view("alloc"), call.attribute_integer("count"))
    return ()


def _end(call: Call) -> tuple[()]:
    call.view("alloc").forget()
    return ()


def _expect(call: Call) -> tuple[()]:
    if call.flag("pred", True):
        mbarriers.arrive(call.view("alloc"), expect=call.attribute_integer("size"))
    return ()


def _arrive(call: Call) -> tuple[()]:
    if call.flag("pred", True):
        mbarriers.arrive(call.view("alloc"), call.attribute_integer("count"))
    return ()


def _wait(call: Call) -> tuple[()]:
    if call.flag("pred", True):
        mbarriers.wait(call.view("alloc"), *call.integers("phase"))
    return ()


def _commit(call: Call) -> tuple[()]:
    if call.flag("pred", True):
        mbarriers.arrive(call.view("barrier"))
    return ()


def _tensor_core(call: Call) -> RuntimeValue:
    """The product, then the arrivals that tell of its end."""
    token = tensor_core(call)
    for barrier, holds in zip(call.views("barriers"), call.integers("barrier_preds"), strict=True):
        if holds and call.flag("pred", True):
            mbarriers.arrive(barrier)
    return token


_NOTHING = (
    "gpu.barrier",
    "ttg.barrier",
    "ttg.async_commit_group",
    "ttg.async_wait",
    "ttng.async_tma_store_wait",
    "ttng.fence_async_shared",
    "ttng.tmem_wait",
    "tt.grid_dependency_launch_dependents",
    "tt.grid_dependency_wait",
)

HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_NOTHING, _nothing),
    "ttng.warp_group_dot_wait": _pass_through,
    "ttg.async_copy_global_to_local": _copy_in,
    "ttng.async_tma_copy_global_to_local": _tma_in,
    "ttng.async_tma_copy_local_to_global": _tma_out,
    "ttng.async_tma_reduce": _tma_reduce,
    "ttng.init_barrier": _start,
    "ttng.inval_barrier": _end,
    "ttng.barrier_expect": _expect,
    "ttng.arrive_barrier": _arrive,
    "ttng.wait_barrier": _wait,
    "ttng.tc_gen5_commit": _commit,
    "ttng.tc_gen5_mma": _tensor_core,
}
