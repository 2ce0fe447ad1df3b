"""Arithmetic on one element: ops of the arith and math dialects as C expressions.

Floats of 32 bits or fewer are C floats; the caller rounds to narrower types.  The fast forms are those that Triton's own lowering
uses: ex2.approx, lg2.approx, div.full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twill.backends.cuda.values import storage_type
from twill.errors import Place, Unsupported
from twill.program.program import Operation
from twill.program.types import Pointer, Scalar

Element = Scalar | Pointer

_INFIX = {
    "arith.addi": "+",
    "arith.subi": "-",
    "arith.muli": "*",
    "arith.andi": "&",
    "arith.ori": "|",
    "arith.xori": "^",
    "arith.divsi": "/",
    "arith.remsi": "%",
    "arith.shrsi": ">>",
    "arith.addf": "+",
    "arith.subf": "-",
    "arith.mulf": "*",
    "tt.addptr": "+",
}
_UNSIGNED = {"arith.divui": "/", "arith.remui": "%", "arith.shrui": ">>", "arith.shli": "<<"}
_CALLS = {
    "arith.ceildivsi": "ceil_div",
    "arith.floordivsi": "floor_div",
    "arith.maxsi": "max",
    "arith.minsi": "min",
    "arith.maxnumf": "fmaxf",
    "arith.minnumf": "fminf",
    "arith.maximumf": "max_propagating",
    "arith.minimumf": "min_propagating",
    "arith.remf": "fmodf",
    "arith.divf": "fast_div",
    "math.fma": "fmaf",
    "math.exp2": "ex2",
    "math.log2": "log2f",
    "math.log": "logf",
    "math.sqrt": "sqrtf",
    "tt.precise_sqrt": "__fsqrt_rn",
    "tt.precise_divf": "__fdiv_rn",
    "tt.approx_divf": "fast_div",
    "math.rsqrt": "rsqrtf",
    "math.absf": "fabsf",
    "math.floor": "floorf",
    "math.ceil": "ceilf",
    "math.trunc": "truncf",
    "math.roundeven": "rintf",
    "math.erf": "erff",
    "math.tanh": "tanhf",
    "math.sin": "sinf",
    "math.cos": "cosf",
    "math.absi": "abs",
}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INTEGER_CASTS = ("arith.extsi", "arith.trunci", "arith.index_cast")


def is_known(op: Operation) -> bool:
    """Whether `expression` knows the op."""
    return op.name in {*_INFIX, *_UNSIGNED, *_CALLS, *_INTEGER_CASTS, *_OTHER}


def expression(op: Operation, texts: Sequence[str], elements: Sequence[Element], result: Element, place: Place) -> str:
    """C expression of an op on elements.  Raises Unsupported for ops and types that are not generated."""
    if any(isinstance(e, Scalar) and e.is_float and e.bits == 64 for e in (*elements, result)):
        raise Unsupported(f"{op.name} on f64 is not generated.", place=place)
    name = op.name
    if name in _INFIX:
        return f"({texts[0]} {_INFIX[name]} {texts[1]})"
    if name in _UNSIGNED:
        kind = "unsigned long long" if elements[0].bits == 64 else "unsigned"
        return f"({storage_type(result)})(({kind}){texts[0]} {_UNSIGNED[name]} ({kind}){texts[1]})"
    if name in _CALLS:
        return f"{_CALLS[name]}({', '.join(texts)})"
    if name in _INTEGER_CASTS:
        return _integer_cast(texts[0], result)
    if name in _OTHER:
        return _OTHER[name](op, texts, elements, result)
    raise Unsupported(f"{name} is not generated.", place=place)


def _integer_cast(text: str, result: Element) -> str:
    if result.bits == 1:
        return f"(({text} & 1) != 0)"
    narrow = {8: "(int8_t)", 16: "(int16_t)"}.get(result.bits, "")
    return f"({storage_type(result)}){narrow}({text})"


def _compare_integers(op: Operation, texts: Sequence[str], elements: Sequence[Element], _: Element) -> str:
    predicate = str(op.get("predicate"))
    kind = "unsigned long long" if elements[0].bits == 64 else "unsigned"
    left, right = (f"({kind}){text}" if predicate[0] == "u" else text for text in texts)
    return f"({left} {_COMPARE[predicate[-2:]]} {right})"


def _compare_floats(op: Operation, texts: Sequence[str], elements: Sequence[Element], _: Element) -> str:
    predicate = str(op.get("predicate"))
    left, right = texts
    plain = {"oeq": "==", "ogt": ">", "oge": ">=", "olt": "<", "ole": "<=", "une": "!="}
    opposite = {"ueq": ("one", ""), "ugt": ("ole", "<="), "uge": ("olt", "<"), "ult": ("oge", ">="), "ule": ("ogt", ">")}
    if predicate in plain:
        return f"({left} {plain[predicate]} {right})"
    if predicate in opposite and opposite[predicate][1]:
        return f"(!({left} {opposite[predicate][1]} {right}))"
    different = f"({left} < {right} || {left} > {right})"
    return {
        "one": different,
        "ueq": f"(!{different})",
        "ord": f"({left} == {left} && {right} == {right})",
        "uno": f"({left} != {left} || {right} != {right})",
        "true": "true",
        "false": "false",
    }[predicate]


def _extended_unsigned(_: Operation, texts: Sequence[str], elements: Sequence[Element], result: Element) -> str:
    kind = {1: "", 8: "(uint8_t)", 16: "(uint16_t)", 32: "(unsigned)"}[elements[0].bits]
    return f"({storage_type(result)}){kind}({texts[0]})"


def _bits(_: Operation, texts: Sequence[str], elements: Sequence[Element], result: Element) -> str:
    pair = (str(elements[0]), str(result))
    if pair == ("f32", "i32"):
        return f"__float_as_int({texts[0]})"
    if pair == ("i32", "f32"):
        return f"__int_as_float({texts[0]})"
    if pair[0] == pair[1] or (isinstance(elements[0], Pointer) and isinstance(result, Pointer)):
        return f"({storage_type(result)})({texts[0]})"
    raise Unsupported(f"a bitcast from {pair[0]} to {pair[1]} is not generated.")


_Rule = Callable[[Operation, Sequence[str], Sequence[Element], Element], str]

_OTHER: dict[str, _Rule] = {
    "arith.cmpi": _compare_integers,
    "arith.cmpf": _compare_floats,
    "arith.select": lambda _op, texts, _e, _r: f"({texts[0]} ? {texts[1]} : {texts[2]})",
    "arith.negf": lambda _op, texts, _e, _r: f"(-{texts[0]})",
    "arith.extf": lambda _op, texts, _e, _r: texts[0],
    "arith.truncf": lambda _op, texts, _e, _r: texts[0],
    "tt.fp_to_fp": lambda _op, texts, _e, _r: texts[0],
    "arith.extui": _extended_unsigned,
    "arith.index_castui": _extended_unsigned,
    "arith.sitofp": lambda _op, texts, _e, _r: f"(float)({texts[0]})",
    "arith.uitofp": lambda _op, texts, e, _r: f"(float)({'unsigned long long' if e[0].bits == 64 else 'unsigned'})({texts[0]})",
    "arith.fptosi": lambda _op, texts, _e, r: f"({storage_type(r)})({texts[0]})",
    "arith.fptoui": lambda _op, texts, _e, r: f"({storage_type(r)})({'unsigned long long' if r.bits == 64 else 'unsigned'})({texts[0]})",
    "arith.bitcast": _bits,
    "tt.bitcast": _bits,
    "math.exp": lambda _op, texts, _e, _r: f"ex2({texts[0]} * 1.44269504f)",
    "arith.maxui": lambda _op, texts, _e, r: f"({storage_type(r)})max((unsigned){texts[0]}, (unsigned){texts[1]})",
    "arith.minui": lambda _op, texts, _e, r: f"({storage_type(r)})min((unsigned){texts[0]}, (unsigned){texts[1]})",
    "tt.clampf": lambda _op, texts, _e, _r: f"fminf(fmaxf({texts[0]}, {texts[1]}), {texts[2]})",
}


def literal(value: object, element: Element) -> str:
    """A constant."""
    if isinstance(element, Scalar) and element.is_float:
        assert isinstance(value, (int, float))
        number = float(value)
        if number != number:
            return "__int_as_float(0x7fc00000)"
        if number in (float("inf"), float("-inf")):
            return f"__int_as_float({'0x7f800000' if number > 0 else '0xff800000'})"
        text = f"{number!r}f"
        return f"({text})" if number < 0 else text
    if isinstance(value, bool):
        return ("true" if value else "false") if element.bits == 1 else str(int(value))
    assert isinstance(value, int)
    if element.bits == 1:
        return "true" if value else "false"
    if value == -(1 << 31):
        return "(-2147483647 - 1)"
    text = f"{value}LL" if element.bits == 64 else str(value)
    return f"({text})" if value < 0 else text
