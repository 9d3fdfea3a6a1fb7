"""What the demo shows: counts, rates and the latest fires, as a live table or as lines."""

import time
from collections import deque
from dataclasses import dataclass, field

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tocsin.complex_event import ComplexEvent
from tocsin.values import time_text

LATEST = 12
RATE_WINDOW_S = 5.0


class Rate:
    """Events a second, over the last few seconds."""

    def __init__(self) -> None:
        self._samples = deque([(time.monotonic(), 0)])

    def at(self, now_s: float, count: int) -> float:
        """Take the count at a moment and return the rate up to it."""
        self._samples.append((now_s, count))
        while now_s - self._samples[0][0] > RATE_WINDOW_S:
            self._samples.popleft()
        since_s, before = self._samples[0]
        return (count - before) / (now_s - since_s) if now_s > since_s else 0.0


@dataclass
class Scene:
    """The state of the demo that is shown."""

    brokers: str
    workers: int
    events: int = 0
    fires: int = 0
    workers_up: int = 0
    latest: deque[ComplexEvent] = field(default_factory=lambda: deque(maxlen=LATEST))
    _event_rate: Rate = field(default_factory=Rate)
    _fire_rate: Rate = field(default_factory=Rate)

    def line(self) -> str:
        """Return the counts and rates in one line."""
        now_s = time.monotonic()
        return (
            f"events {self.events} ({self._event_rate.at(now_s, self.events):.0f}/s)  "
            f"complex events {self.fires} ({self._fire_rate.at(now_s, self.fires):.0f}/s)  "
            f"workers {self.workers_up} of {self.workers}"
        )

    def table(self) -> Group:
        """Return the counts, rates and the latest fires."""
        fires = Table("fire at", "area", "degrees", "hot for", "identity", expand=True, header_style="dim")
        for fire in reversed(self.latest):
            fires.add_row(
                time_text(fire.end_ms)[11:-1],
                str(fire.attributes["area"]),
                f"[red]{fire.attributes['value']:.1f}[/red]",
                f"{(fire.end_ms - fire.start_ms) / 1000:.1f} s",
                f"[dim]{fire.identity}[/dim]",
            )
        return Group(
            Text(self.line(), style="bold"),
            fires,
            Text(f"Kafka at {self.brokers}. Ctrl-C stops everything.", style="dim"),
        )
