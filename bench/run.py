"""Figures of the engine and of a worker. Rates depend on the machine; ratios less so."""

import kernel
import worker
from rich.console import Console
from rich.table import Table
from workload import MIXES, Mix

from tocsin.services import ServiceSet

EVENTS = 2_000_000
ROUNDS = 3


def main() -> None:
    """Run all benchmarks and print a table for each mix of events."""
    console = Console()
    with ServiceSet.start(progress=console.print) as services:
        for mix in MIXES:
            console.print(f"[bold]{mix.name}[/], {EVENTS:,} events…")
            console.print(table(mix, services.bootstrap))


def table(mix: Mix, brokers: str) -> Table:
    """Run the benchmarks of one mix."""
    alone = max((kernel.run(EVENTS, mix) for _ in range(ROUNDS)), key=lambda figures: figures.rate)
    beside = worker.run(brokers, EVENTS, mix)
    result = Table("", "M events/s", "M complex events/s", "bare loops")
    detected = alone.complex_events / alone.events
    for name, rate, share in (
        ("engine alone, one thread: decode, detect, encode", alone.rate, detected),
        ("bare loop on the broker: consume, produce", beside.bare_rate, 0),
        ("worker on the broker, exactly once", beside.worker_rate, detected),
    ):
        ratio = rate / beside.bare_rate
        result.add_row(name, f"{rate / 1e6:.2f}", f"{rate * share / 1e6:.2f}", f"{ratio:.2f}")
    return result


if __name__ == "__main__":
    main()
