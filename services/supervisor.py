"""The process that owns a set: starts the services, watches them, and leaves nothing behind.

    parent ──stdin──► supervisor ──► broker, registry
           ◄─stdout──

It reads its standard input: end of file means that the parent is gone and the set has to go too, unless the
parent detached it first. It writes what happens as one JSON object a line. It holds the lock on the set's
folder, which the parent took and passed on, until the last process is dead and the folder is removed.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from tocsin.services import book, broker, registry
from tocsin.services.child import Child, PortTaken

DETACH = b"detach\n"

_STDIN = 0
_STDOUT = 1
_STDERR = 2
_READY_S = 120.0
_POLL_S = 0.1
_TICK_S = 1.0


class _Stop(Exception):
    """The set is to end: its parent is gone, or someone asked for it."""


class _Watch:
    """Waits, and notices meanwhile that the set is to end."""

    def __init__(self) -> None:
        self.detached = False
        self._parent = os.getppid()
        self._asked = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(_STDIN, selectors.EVENT_READ)
        # Signals end a wait: SIGCHLD so that a service's death is noticed at once.
        self._wake, wake = socket.socketpair()
        for end in (self._wake, wake):
            end.setblocking(False)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._wake_sender = wake
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def _detach(self) -> None:
        self.detached = True
        self._selector.unregister(_STDIN)
        # Whoever waits for the end of the parent's output must not wait for us.
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), _STDERR)

    def _ask(self, _number: int, _frame: object) -> None:
        self._asked = True

    def wait(self, seconds: float) -> None:
        """Return after that time or when something happened; raise `_Stop` if the set is to end."""
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._wake:
                self._wake.recv(64)
            elif os.read(_STDIN, 64) == DETACH:
                self._detach()
            else:
                raise _Stop
        # A process that the parent forked may keep the pipe open after the parent's death.
        orphaned = not self.detached and os.getppid() != self._parent
        if self._asked or orphaned:
            raise _Stop


def main() -> None:
    name, lock, java, broker_jars, registry_jars = sys.argv[1:]
    folder = book.folder_of(name)
    os.truncate(int(lock), 0)
    os.write(int(lock), str(os.getpid()).encode())
    watch = _Watch()
    children: list[Child] = []
    failure: book.ServicesError | None = None
    try:
        running = _start(name, folder, java, Path(broker_jars), Path(registry_jars), children, watch)
        book.enter(running)
        _tell(ready=asdict(running))
        while True:
            watch.wait(_TICK_S)
            for child in children:
                child.check()
    except _Stop:
        pass
    except book.ServicesError as error:
        failure = error
    finally:
        for child in children:
            child.kill()
        if failure and watch.detached:
            book.note_failure(folder, str(failure))
        else:
            book.remove(folder)
    if failure:
        _tell(failed=str(failure), port_taken=isinstance(failure, PortTaken))


def _start(
    name: str,
    folder: Path,
    java: str,
    broker_jars: Path,
    registry_jars: Path,
    children: list[Child],
    watch: _Watch,
) -> book.RunningSet:
    broker_port, controller_port, registry_port = _free_ports(3)
    cluster_id = broker.new_cluster_id()
    # The registry takes longest, so it starts first; and asking makes threads, so both start before that.
    children.append(registry.start(java, registry_jars, folder, registry_port))
    children.append(broker.start(java, broker_jars, folder, broker_port, controller_port, cluster_id))
    _await(children[1], children, watch, lambda: broker.is_ready(broker_port, cluster_id))
    _tell(progress=f"broker up on 127.0.0.1:{broker_port}")
    _await(children[0], children, watch, lambda: registry.is_ready(registry_port))
    _tell(progress=f"registry up on 127.0.0.1:{registry_port}")
    return book.RunningSet(
        name=name,
        pid=os.getpid(),
        bootstrap=f"127.0.0.1:{broker_port}",
        registry_url=registry.url(registry_port),
        started_ms=time.time_ns() // 1_000_000,
        folder=str(folder),
    )


def _await(child: Child, children: list[Child], watch: _Watch, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _READY_S
    while not is_ready():
        for each in children:
            each.check()
        if time.monotonic() > deadline:
            why = f"The {child.what} did not answer within {_READY_S:.0f} s. {child.tail()}"
            raise book.ServicesError(why)
        watch.wait(_POLL_S)
    child.check()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _tell(**message: object) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(_STDOUT, json.dumps(message).encode() + b"\n")
