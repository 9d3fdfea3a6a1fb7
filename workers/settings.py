"""What a worker needs to know beside its plan."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Addresses, folders, intervals and limits of one worker."""

    brokers: str
    state_dir: Path
    registry: str | None = None
    """Address of a Confluent-compatible registry; without one, output is in single-object encoding."""
    instance: str | None = None
    """Name of this worker among those of its application; unset: the first free place in `state_dir`."""
    start: Literal["earliest", "latest"] | int = "earliest"
    """Where a new application begins to read: a number is the time of the first records, in milliseconds."""
    commit_interval_ms: int = 200
    exactly_once: bool = True
    """Commit by transactions; otherwise complex events may come again after a crash."""
    create_topics: bool = True
    """Create the application's own topics; otherwise they are only verified."""
    create_inputs: bool = False
    """Create missing input topics too."""
    partitions: int = 4
    """Partitions of input topics that are created; all other topics follow those of the inputs."""
    replication: int = -1
    """Replication factor of created topics; -1 is the broker's default."""
    max_record_bytes: int = 1_048_576
    """A larger record becomes a dead letter."""
    max_output_bytes: int = 5_242_880
    """The largest record written: it must carry a letter for the largest record read, with room to spare."""
    max_ahead_ms: int = 3_600_000
    """An event time further ahead of the clock becomes a dead letter."""
    max_batch: int = 20_000
    """Messages taken from the client at once."""
    max_waiting: int = 500_000
    """Events of one task that may wait for the watermark before the sources that are ahead are held back."""
    state_memory_bytes: int | None = None
    """What the tasks of this worker may keep of their state in memory, all together; unset: all of it."""
    standbys: int = 0
    """How many workers follow the changelog of each task, beside the one that runs it."""
    transaction_timeout_ms: int = 10_000
    """After so long the broker gives up a transaction that a dead worker left open, which others wait for."""
    status_interval_ms: int = 3_000
    """How often the status of the tasks is written to its topic; when their states change, it is at once."""
    report_interval_ms: int = 1_000
    """How often the status is reported to whoever asked for it."""
