"""Units of the numbers in a performance machine file; converted, times are in microseconds and clocks in cycles per microsecond."""

from __future__ import annotations

from fractions import Fraction

from twill.errors import BadInput

# dimension -> unit -> (factor to the base unit, power of the clock in MHz that it is multiplied by)
UNITS: dict[str, dict[str, tuple[Fraction, int]]] = {
    "time": {  # base: microseconds
        "ps": (Fraction(1, 1_000_000), 0),
        "ns": (Fraction(1, 1_000), 0),
        "us": (Fraction(1), 0),
        "ms": (Fraction(1_000), 0),
        "cycles": (Fraction(1), -1),
    },
    "copy rate": {  # base: bytes per microsecond
        "MB/s": (Fraction(1), 0),
        "GB/s": (Fraction(1_000), 0),
        "TB/s": (Fraction(1_000_000), 0),
        "B/cycle": (Fraction(1), 1),
    },
    "math rate": {  # base: multiply-accumulates per microsecond
        "MAC/us": (Fraction(1), 0),
        "MAC/ns": (Fraction(1_000), 0),
        "MAC/cycle": (Fraction(1), 1),
    },
    "frequency": {"MHz": (Fraction(1), 0), "GHz": (Fraction(1_000), 0)},
    "size": {"B": (Fraction(1), 0), "KiB": (Fraction(1024), 0), "MiB": (Fraction(1024 * 1024), 0)},
    "element size": {"B/element": (Fraction(1), 0)},
    "SMs": {"SMs": (Fraction(1), 0)},
    "registers": {"registers": (Fraction(1), 0)},
    "threads": {"threads": (Fraction(1), 0)},
    "thread blocks": {"thread blocks": (Fraction(1), 0)},
}


def to_base(value: int | Fraction, unit: str, dimension: str, clock_mhz: Fraction | None) -> Fraction:
    """`value` in the base unit of `dimension`, exact.  BadInput when the unit counts cycles and no clock is given."""
    factor, power = UNITS[dimension][unit]
    if power == 0:
        return value * factor
    if clock_mhz is None:
        raise BadInput(f"a {dimension} in {unit} needs a clock.", remedy="Give the SM clock in MHz, measured during the run.")
    return value * factor * clock_mhz**power
