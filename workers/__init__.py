"""The runtime on Kafka: tasks with their state and changelog, transactions, and the worker that runs them."""

from tocsin.workers.errors import (
    BrokerAway,
    DiskFull,
    Fenced,
    NotRunnable,
    StateMismatch,
    TakenWrong,
    TopicsWrong,
    WorkerError,
)
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.status import Status, TaskStatus
from tocsin.workers.task import TaskState
from tocsin.workers.worker import Worker

__all__ = [
    "BrokerAway",
    "DiskFull",
    "Fenced",
    "NotRunnable",
    "StateMismatch",
    "Status",
    "TakenWrong",
    "TaskState",
    "TaskStatus",
    "TopicsWrong",
    "Worker",
    "WorkerError",
    "WorkerSettings",
]
