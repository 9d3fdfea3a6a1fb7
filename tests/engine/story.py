"""A history told line by line to an engine, for tests of what it tells people."""

import json
from collections.abc import Sequence

from tests.engine.differential.records import TASK, planned
from tocsin._engine import Batch, Ending, Engine, NodeCounts, Participant

NOW_MS = 1_000_000_000

EVENTS = """
event A (k: string, n: long?) on "A" key k;
event B (k: string, n: long?) on "B" key k;
event C (k: string, n: long?) on "C" key k;
"""


class Story:
    """An engine that is told events one by one; each is handled at once, and so is what is due before it."""

    def __init__(self, rules: str) -> None:
        plan = planned(EVENTS + rules)
        made = [t["name"] for t in plan["types"] if t["origin"] == "defined"]
        self.engine = Engine(json.dumps(plan), TASK, 0, {name: (f"made.{name}", b"", 1) for name in made})
        self.sent: dict[str, int] = {}

    def tell(self, line: str) -> "Story":
        """Tell of events: `A1` is an A at 1 s with k `x`, `A2y` one with k `y`, `A3=5` one with n 5.

        `.9` only lets time go on, to 9 s.
        """
        for word in line.split():
            if word.startswith("."):
                self.until(float(word[1:]))
                continue
            text, _, number = word[1:].partition("=")
            digits = text.rstrip("xyz")
            self.send(word[0], float(digits), text[len(digits) :] or "x", int(number) if number else None)
        return self

    def send(self, name: str, seconds: float, k: str, n: int | None) -> None:
        """Send an event, and let everything up to it happen."""
        offset = self.sent[name] = self.sent.get(name, -1) + 1
        record = (offset, round(seconds * 1000), k.encode(), json.dumps({"k": k, "n": n}).encode(), None)
        self.engine.feed(Batch.build(name, 0, [record]), NOW_MS)
        self.until(seconds + 0.001)

    def until(self, seconds: float) -> None:
        """Let everything before a time happen."""
        for topic in self.engine.topics:
            self.engine.advance(topic, round(seconds * 1000))
        self.engine.run()

    def detected(self) -> int:
        """How much was detected since it was asked last."""
        return len(self.engine.take().outputs)

    def counts(self, kind: str, context: str | None = None) -> NodeCounts:
        """Return the only count of its kind."""
        (found,) = (c for c in self.engine.census() if c.kind == kind and c.context in {context, None})
        return found

    def endings(self, *, kinds: Sequence[str] = (), rule: str = "R") -> list[str]:
        """Return how partial matches ended, without what the leaves turned away: see `told`."""
        endings = self.engine.why_not(rule, limit=100)
        return [told(e) for e in endings if e.kind != "source" and (not kinds or e.kind in kinds)]


def told(ending: Ending) -> str:
    """Tell an ending in a line: `2.0 negated: a=A1 b=B2 by C1.5; no b, but B0`."""
    constituents = " ".join(f"{one.role}={name(one)}" for one in ending.constituents)
    by = f" by {name(ending.by)}" if ending.by else ""
    missing = f"; no {ending.missing}" if ending.missing else ""
    nearest = f", but {name(ending.nearest)}" if ending.nearest else ""
    return f"{ending.time / 1000:g} {ending.reason}: {constituents}{by}{missing}{nearest}"


def name(one: Participant) -> str:
    """Name an event by its type and time."""
    return f"{one.type}{one.time / 1000:g}"
