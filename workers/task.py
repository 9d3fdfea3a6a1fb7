"""A task: the detector of one partition, with its state.

        assigned            replayed         positioned          revoked
CREATED ────────► RESTORING ────────► LOADED ──────────► RUNNING ───────► CLOSED
                                         ▲                  │
                                 compared│                  │aborted
                                         └────── UNDONE ◄───┘
A task can be closed in every state.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice

from confluent_kafka import TopicPartition

from tocsin._engine import Batch, Commit, Engine
from tocsin.workers.errors import StateMismatch, StateUnreadable
from tocsin.workers.memory import Memory
from tocsin.workers.restore import Restore
from tocsin.workers.store import Change, Checkpoint, Entry, Store, disjoint, end_of

_CHUNK = 1_000
"""Entries that are read from the store at once."""
_SWEPT = 2
"""Stored entries that are looked at for one that is written: no more has expired, then, than has not."""

_LEARNT = 10_000
"""Stored entries that are looked at a commit until all were: what is not stored need not be asked for."""


class TaskState(Enum):
    """Where a task is in its life."""

    CREATED = "created"
    RESTORING = "restoring"
    LOADED = "loaded"
    RUNNING = "running"
    UNDONE = "undone"
    CLOSED = "closed"


_NEXT = {
    TaskState.CREATED: {TaskState.RESTORING, TaskState.CLOSED},
    TaskState.RESTORING: {TaskState.LOADED, TaskState.CLOSED},
    TaskState.LOADED: {TaskState.RUNNING, TaskState.CLOSED},
    TaskState.RUNNING: {TaskState.UNDONE, TaskState.CLOSED},
    TaskState.UNDONE: {TaskState.LOADED, TaskState.CLOSED},
    TaskState.CLOSED: set(),
}


@dataclass(slots=True)
class SourceClock:
    """What is known of a source's silence."""

    quiet_since_ms: int
    caught_up_to: int = -1
    """The offset at which the client reported the end of the partition."""
    paused: bool = False
    read_to: int = -1
    """One past the last offset that was read since the task runs."""
    told_ms: int = -(2**63)
    """How far the application that writes it has come, as far as the source could follow."""


class LocalStateDamaged(Exception):
    """The local copy cannot be read; the changelog has it all."""


class Task:
    """One partition's detector. Everything here is of one thread."""

    def __init__(
        self,
        partition: int,
        engine: Engine,
        store: Store,
        now_ms: int,
        *,
        sends: bool = False,
        memory: Memory = Memory(),  # noqa: B008 (it is immutable)
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.partition = partition
        self.engine = engine
        self.store = store
        self.state = TaskState.CREATED
        self._sends = sends
        self._memory = memory
        self._handled = 0
        self._on_close = on_close
        self.sources = {topic: SourceClock(now_ms) for topic in self.engine.topics}
        self._restore: Restore | None = None
        self._offsets: dict[str, int] = {}
        self._sweeps = bool(engine.shelved)
        self._to_sweep = 0
        self._swept_to = b""
        self._knows_stored = True
        self.dirty = False
        self.read_on: dict[str, int] = {}
        """Where each topic is read on, as the last commit says."""
        self.amends: list[Change] = []
        """Entries that the changelog has otherwise than they were committed; the next commit mends that."""

    def _enter(self, state: TaskState) -> None:
        assert state in _NEXT[self.state], f"a task cannot go from {self.state} to {state}"
        self.state = state

    def begin_restore(self, offsets: dict[str, int], restore: Restore) -> None:
        """Start to replay the changelog; `offsets` are the group's, to be compared with the state's."""
        self._enter(TaskState.RESTORING)
        self._offsets = offsets
        self._restore = restore

    def restore_step(self) -> None:
        """Replay some more; when that was all, load the state."""
        assert self._restore is not None
        if not self._restore.done:
            self._restore.step()
        if not self._restore.done:
            return
        self._restore.close()
        try:
            self._load()
            self.amends = self._restore.amends
        except Exception as error:
            # The engine refuses what it does not understand, RocksDB what its checksums do not confirm.
            if not self._restore.is_whole:
                raise LocalStateDamaged(str(error)) from error
            raise StateUnreadable(
                f"The state of partition {self.partition} cannot be read: {error}. It was written by another "
                "version, or by rules in which an attribute of a fact had another type, or is damaged; go "
                "back to those, or begin anew with `tocsin reset`."
            ) from error
        self._enter(TaskState.LOADED)

    @property
    def unmarked(self) -> int | None:
        """Where the changelog ended that was restored, if no mark of a commit told so."""
        restore = self._restore
        return None if restore is None or restore.is_marked else restore.stands

    @property
    def progress(self) -> tuple[int, int]:
        """How many records of the changelog were replayed, of how many."""
        restore = self._restore
        if restore is None:
            return 0, 0
        # The last ones may be markers of transactions, which nobody sees.
        return min(restore.position, restore.end) - restore.begin, restore.end - restore.begin

    @property
    def restored_bytes(self) -> int:
        """How many bytes of the changelog were replayed."""
        return 0 if self._restore is None else self._restore.read_bytes

    def _load(self) -> None:
        """Load what must be in memory, and of the rest all, if there is room for it, or nothing."""
        shelved = list(disjoint(self.engine.shelved))
        ends = [end_of(prefix) for prefix in shelved]
        for begin, end in zip([b"", *ends], [*shelved, None], strict=True):
            if begin is not None:
                for chunk in _chunks(self.store.entries(begin, end)):
                    self.engine.load(chunk)
        # In memory it takes more than on disk.
        if shelved and self.store.size_bytes() > (self._memory.task_bytes or 0):
            self._let_go()
            return
        for begin, end in zip(shelved, ends, strict=True):
            for chunk in _chunks(self.store.entries(begin, end)):
                self.engine.load(chunk)
                if self.engine.is_full:
                    self._let_go()
                    return

    def _let_go(self) -> None:
        self.engine.let_go()
        self._knows_stored = False

    def places(self, first: Callable[[str], int]) -> list[TopicPartition]:
        """Return where to read from, which is `first` for a topic never read before.

        The state says where: it was committed in one transaction with the group's offsets, which must agree.
        """
        resume = {topic: offset for (topic, _), offset in (self.engine.resume or {}).items()}
        committed = self._offsets
        held = {topic: offset for topic, offset in committed.items() if offset >= 0}
        if any(held.get(topic, offset) != offset for topic, offset in resume.items()):
            raise StateMismatch(
                f"The state of partition {self.partition} ends at {resume}, but the group's offsets are "
                f"{committed}: one was changed by hand. Set the offsets back, or begin anew with "
                "`tocsin reset`."
            )
        if held and not resume:
            raise StateMismatch(
                f"The group has read partition {self.partition} of {', '.join(sorted(held))} before, but the "
                "changelog has no state of it: it was deleted. Begin anew with `tocsin reset`."
            )
        # Where the group has no offset the state alone tells: brokers forget those of a group away for long.
        begun = {
            topic: held[topic] if topic in held else first(topic)
            for topic in self.engine.topics
            if topic not in resume
        }
        for topic, offset in begun.items():
            self.engine.start(topic, offset)
        # What was begun is committed even if nothing comes, or `latest` would be elsewhere after a restart.
        self.dirty = bool(begun) or not resume.keys() <= held.keys()
        return [TopicPartition(topic, self.partition, offset) for topic, offset in (begun | resume).items()]

    def begin(self) -> None:
        """Start to run: the client reads from where `places` said."""
        self._enter(TaskState.RUNNING)

    def feed(self, batch: Batch, now_ms: int) -> None:
        """Read a batch."""
        self.sources[batch.topic].read_to = batch.end
        if self.engine.feed(batch, now_ms):
            # Only events count: a source that brings nothing but garbage is silent too.
            self.sources[batch.topic].quiet_since_ms = now_ms
        self.dirty = True

    def advance(self, topic: str, watermark_ms: int) -> None:
        """Let time go on over a silent source."""
        self.engine.advance(topic, watermark_ms)
        # Those to whom events are sent on have only the commits to know it from.
        self.dirty = self.dirty or self._sends

    def run(self) -> None:
        """Handle what the watermark releases; after `LocalStateDamaged` the task can only be closed."""
        # A watermark that moved on over nothing need not be committed: it would move on again after a crash.
        room = self._memory.positions - self._handled
        handled = self.engine.run(room, self._fetch) if room > 0 else 0
        if handled:
            self._handled += handled
            self.dirty = True
            self._sweep()

    def _sweep(self) -> None:
        """Show some of the stored entries to an engine that has not all in memory: it finds the expired."""
        while self._to_sweep > 0:
            count = min(self._to_sweep, _CHUNK)
            try:
                entries = list(islice(self.store.entries(self._swept_to), count))
                self.engine.sweep(entries)
            except Exception as error:
                raise LocalStateDamaged(str(error)) from error
            self._to_sweep -= count
            if len(entries) < count:
                # The next round begins with the next commit.
                self.engine.swept()
                self._knows_stored = True
                self._to_sweep, self._swept_to = 0, b""
            else:
                self._swept_to = entries[-1][0] + b"\0"

    def _fetch(self, prefixes: list[bytes]) -> list[Entry]:
        """Answer the engine from the store, which has what was committed and nothing else."""
        try:
            return self.store.fetch(prefixes)
        except Exception as error:
            raise LocalStateDamaged(str(error)) from error

    def take(self) -> Commit:
        """Return what has to be committed."""
        self.dirty, self._handled = False, 0
        return self.engine.take()

    def committed(self, commit: Commit, checkpoint: Checkpoint) -> None:
        """Write to the store what the transaction made permanent."""
        self.read_on = {topic: offset for topic, _, offset in commit.offsets}
        self.store.apply(commit.state, checkpoint)
        self.amends = []
        self.engine.committed()
        if self._sweeps:
            self._to_sweep = max(_SWEPT * len(commit.state), 0 if self._knows_stored else _LEARNT)

    def undo(self, now_ms: int) -> None:
        """Forget what was done since the last commit; after `LocalStateDamaged` it can only be closed."""
        try:
            self.engine.undo(self._fetch)
        except ValueError as error:
            raise LocalStateDamaged(str(error)) from error
        # What follows the last commit is read again, so no source is known to be at its end.
        self.sources = {topic: SourceClock(now_ms) for topic in self.engine.topics}
        self.dirty, self._handled = False, 0
        self._enter(TaskState.UNDONE)

    def compare(self, offsets: dict[str, int]) -> None:
        """Take the group's offsets as they are after an abort, to be compared with the state's."""
        self._offsets = offsets
        self._enter(TaskState.LOADED)

    def close(self) -> None:
        """Let go of everything; what was not committed is forgotten."""
        if self.state is TaskState.CLOSED:
            return
        self._enter(TaskState.CLOSED)
        if self._restore is not None:
            self._restore.close()
        self.store.close()
        if self._on_close is not None:
            self._on_close()


def _chunks(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    rest = iter(entries)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk
