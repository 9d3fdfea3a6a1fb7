"""Memory over time: many events through windows of 10 s, in every context but unrestricted.

What is stored, and what is allocated, must stop growing with the first windows: the program fails if one of
them does not. What is resident is more: also what was freed and lies between, which grows on for a while.
"""

import ctypes
import sys
import time

from detection import EVENTS, Workload, feed, load, resident_mb
from rich.console import Console
from rich.table import Table

MILLION = 1_000_000
DEFAULT_EVENTS = 20 * MILLION
TOLERANCE = 1.25
"""Random events do not fill windows evenly: so much more than before is no growth."""

CONTEXTS = ("recent", "chronicle", "continuous", "cumulative")
EXPRESSIONS = {
    "Seq": "(Temp(sensor = $x) ; Smoke(sensor = $x)) within 10 s",
    "And": "(Temp(sensor = $x) and Rain(sensor = $x)) within 10 s",
    "Collected": "aperiodic*(Temp(sensor = $x), Smoke(sensor = $x), Rain(sensor = $x)) within 10 s",
}
SELECTIONS = ("each", "last", "first")
OTHERS = """
define Rise from match every (Temp(sensor = $x, value > 80) as q then Temp(sensor = $x, value > q.value) as r
  then Smoke(sensor = $x) as s within 10 s from q);
define Mean (value: double?, count: long)
from Rain(sensor = $x) as r
 and $m = avg(Temp(sensor = $x).value) within 10 s from r
 and $n = count(Smoke(sensor = $x)) within 10 s from r
where value = $m, count = $n;
"""


def rules() -> str:
    """Return every operator in every context, every selection, a match and aggregates."""
    expressions = (
        f"define {name}{context.title()} from {text} context {context};"
        for name, text in EXPRESSIONS.items()
        for context in CONTEXTS
    )
    patterns = (
        f"define Select{select.title()} from Smoke(sensor = $x) as s\n"
        f" and {select} Temp(sensor = $x, value > 45) as t within 10 s from s;"
        for select in SELECTIONS
    )
    return "\n".join((*expressions, *patterns, OTHERS))


class Mallinfo(ctypes.Structure):
    """What glibc tells about its heap."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def allocated_mb() -> float:
    """Return how much of its heap the process uses now."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
    heap = mallinfo()
    return float(heap.uordblks + heap.hblkhd) / 1e6


def main() -> int:
    """Print a line each million; say whether what is stored and allocated stayed the same."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_EVENTS
    workload = Workload("windows of 10 s", rules(), (45, 45, 10))
    loaded = load(EVENTS + workload.rules)
    engine, console = loaded.engine, Console()
    result = Table("M events", "stored", "allocated MB", "resident MB", "complex events", "M events/s")
    stored: list[int] = []
    allocated: list[float] = []
    seconds, handled, found = 0.0, 0, 0
    for batches in feed(loaded, workload, count):
        start = time.process_time()
        for batch in batches:
            handled += len(batch)
            engine.feed(batch, 2**53)
        engine.run()
        seconds += time.process_time() - start
        found += len(engine.take().outputs)
        if handled % MILLION == 0 or handled == count:
            del batch, batches
            stored.append(engine.stored)
            allocated.append(allocated_mb())
            line = (
                f"{handled / MILLION:.0f}",
                f"{stored[-1]:,}",
                f"{allocated[-1]:.1f}",
                f"{resident_mb():.0f}",
                f"{found:,}",
            )
            console.print(*line, sep="   ")
            result.add_row(*line, f"{handled / seconds / 1e6:.2f}")
    console.print(result)
    growing = [
        what
        for what, values in (("stored", stored), ("allocated", allocated))
        if max(values) > TOLERANCE * values[0]
    ]
    console.print(f"what is {' and '.join(growing)} grows" if growing else "nothing grows")
    return 1 if growing else 0


if __name__ == "__main__":
    sys.exit(main())
