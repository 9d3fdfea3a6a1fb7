"""What an application tells those that take its events: what it publishes, and how far its tasks have come.

It has one compacted topic for that. A record a task holds the watermark that its last commit went to, in the
same transaction: whatever of an earlier time the task found is committed with it, or was before. One more
record is the application's card, which says which tasks there are: one that has told nothing yet counts, too.
And one is for itself: how many partitions the topics have that it reads, for which its state was made.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Self

from tocsin import schemas
from tocsin.topology.plan import Plan, Subtopology
from tocsin.workers.task import Task
from tocsin.workers.topics import Names

CARD = b"application"
"""The key of the card."""
INPUTS = b"inputs"
"""The key of the partitions of the input topics; all others are names of tasks."""

UNTOLD_MS = -(2**63)
"""The watermark of a task that has told nothing yet."""

_TELL_EVERY_MS = 500
"""How often a watermark is told that went on over nothing: a commit for nothing else."""


@dataclass(frozen=True, slots=True)
class Published:
    """A complex event as others find it: the schema of its records, and the attribute that spreads them."""

    schema: str
    key: str | None


@dataclass(frozen=True, slots=True)
class Card:
    """What others must know of an application. `takes` are those it waits for, directly or through others."""

    tasks: Mapping[str, int]
    takes: tuple[str, ...]
    types: Mapping[str, Published]

    @property
    def task_names(self) -> Iterator[str]:
        """The tasks that publish."""
        return (f"{name}-{partition}" for name, count in self.tasks.items() for partition in range(count))

    def to_json(self) -> bytes:
        """Return the record's value."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, value: bytes) -> Self:
        """Read what `to_json` gave; what a later version added is passed over."""
        told = json.loads(value)
        types = {name: Published(type_["schema"], type_["key"]) for name, type_ in told["types"].items()}
        return cls(told["tasks"], tuple(told["takes"]), types)


def card_of(plan: Plan, counts: Mapping[str, int], taken: Mapping[str, Card]) -> Card:
    """Return the card of an application that takes from those whose cards are given."""
    names = Names(plan.app)
    publishing = [sub for sub in plan.subtopologies if sub.subscribers]
    return Card(
        tasks={sub.name: counts[names.changelog(sub.name)] for sub in publishing},
        takes=tuple(sorted({*taken, *(further for card in taken.values() for further in card.takes)})),
        types={
            defined.name: Published(
                schemas.event_schema(defined.to_dict(), plan.app),
                None if defined.key is None else defined.fields[defined.key].name,
            )
            for defined in plan.defined_types
        },
    )


class Teller:
    """Tells how far the tasks of a sub-topology have come."""

    def __init__(self, plan: Plan, subtopology: Subtopology, card: Card, counts: Mapping[str, int]) -> None:
        self.topic = Names(plan.app).watermarks
        self._name = subtopology.name
        self._publishes = bool(subtopology.subscribers)
        self._card = card.to_json()
        self._inputs = json.dumps({topic: counts[topic] for topic in plan.input_topics}).encode()
        self._introduced = False
        self._told: dict[int, tuple[int, int]] = {}

    def has_news(self, task: Task, now_ms: int) -> bool:
        """Tell whether it is time to tell that a task has gone on, though it found nothing."""
        watermark_ms, at_ms = self._told.get(task.partition, (UNTOLD_MS, 0))
        went_on = task.engine.released_ms > watermark_ms
        return self._publishes and went_on and now_ms - at_ms >= _TELL_EVERY_MS

    def records(self, task: Task) -> Iterable[tuple[bytes, bytes]]:
        """Return what belongs into the commit of a task, as keys and values."""
        if not self._introduced:
            yield INPUTS, self._inputs
        if self._publishes and not self._introduced:
            yield CARD, self._card
        if self._publishes:
            mark = {"watermark_ms": task.engine.released_ms}
            yield f"{self._name}-{task.partition}".encode(), json.dumps(mark).encode()

    def committed(self, task: Task, now_ms: int) -> None:
        """Note that what `records` gave is committed."""
        self._introduced = True
        self._told[task.partition] = task.engine.released_ms, now_ms
