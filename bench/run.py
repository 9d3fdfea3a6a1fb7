"""Figures of the engine and of a worker. Rates depend on the machine; ratios less so."""

import kernel
import worker
from rich.console import Console
from rich.table import Table

from tocsin.services import ServiceSet

EVENTS = 2_000_000
ROUNDS = 3


def main() -> None:
    """Run all benchmarks and print a table."""
    console = Console()
    table = Table("what", "events", "complex events", "M events/s", "in terms of the bare loop")
    console.print("engine alone…")
    alone = max((kernel.run(EVENTS) for _ in range(ROUNDS)), key=lambda figures: figures.rate)
    found = f"{alone.complex_events:,}"
    table.add_row("engine: decode, detect, encode", f"{EVENTS:,}", found, f"{alone.rate / 1e6:.2f}", "")
    with ServiceSet.start(progress=console.print) as services:
        console.print("worker and bare loop on the broker…")
        figures = worker.run(services.bootstrap, EVENTS)
    bare = f"{figures.bare_rate / 1e6:.2f}"
    table.add_row("consume and produce, nothing else", f"{EVENTS:,}", "", bare, "1.00")
    table.add_row(
        "worker, exactly once", f"{EVENTS:,}", "", f"{figures.worker_rate / 1e6:.2f}", f"{figures.ratio:.2f}"
    )
    console.print(table)


if __name__ == "__main__":
    main()
