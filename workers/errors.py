"""What stops a worker, named by what its operator has to do next."""

from tocsin.topology import TocsinError


class WorkerError(TocsinError):
    """A worker cannot go on; the message is a sentence for its operator."""

    exit_code = 2


class NotRunnable(WorkerError):
    """The rules need what workers cannot do yet: change them, or run a version that can."""


class BrokerAway(WorkerError):
    """No broker answers: start it, or correct the address."""


class TopicsWrong(WorkerError):
    """A topic is missing or has the wrong number of partitions: create or correct it."""


class TakenWrong(WorkerError):
    """What is taken from another application is not what it publishes: correct one of them, or start it."""


class StateMismatch(WorkerError):
    """The state and the group's offsets tell different stories: someone changed one of them by hand."""


class StateUnreadable(WorkerError):
    """The state is of another version, of rules with other facts, or damaged: run those, or give it up."""


class Fenced(WorkerError):
    """Another worker has this one's place: let it go, or give this one an instance name of its own."""

    exit_code = 3


class DiskFull(WorkerError):
    """There is no room for the local copy of the state: make some, and start the worker again."""

    exit_code = 4
