"""Sets of services as their user sees them: start one, find its addresses, stop it."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import IO, Any, Self

from tocsin.deploy import jars, java
from tocsin.services import book, supervisor
from tocsin.services.book import DEFAULT_NAME, RunningSet, ServicesError
from tocsin.services.child import PortTaken

Progress = Callable[[str], None]

_ATTEMPTS = 3
_STOP_S = 30.0
_POLL_S = 0.05

_DETACHED: list["subprocess.Popen[bytes]"] = []
"""Supervisors that run on without us; kept so that nobody warns that we did not wait for them."""


class ServiceSet:
    """A broker and a registry that live until the end of a `with` block, or of this process."""

    def __init__(self, running: RunningSet, process: "subprocess.Popen[bytes]") -> None:
        self.running = running
        self._process = process

    @classmethod
    def start(cls, name: str | None = None, *, progress: Progress | None = None) -> Self:
        """Start a set and return when both services answer. Without a name it gets one nobody else has."""
        name = name or f"set-{secrets.token_hex(4)}"
        tell = progress or (lambda _line: None)
        arguments = [java(), str(jars("broker", progress=tell)), str(jars("registry", progress=tell))]
        book.sweep()
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(PortTaken):
                return cls._start(name, arguments, tell)
        return cls._start(name, arguments, tell)

    @classmethod
    def _start(cls, name: str, arguments: list[str], tell: Progress) -> Self:
        with _claim(name) as lock:
            command = [sys.executable, "-P", "-m", "tocsin.services", name, str(lock.fileno()), *arguments]
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[lock.fileno()],
                start_new_session=True,  # Ctrl-C is for us; the supervisor stops when we let go of it
            )
        try:
            for message in _messages(process):
                if "ready" in message:
                    return cls(RunningSet(**message["ready"]), process)
                tell(message["progress"])
            raise ServicesError("The supervisor of the services ended before they were up.")
        except BaseException:
            _end(process, name)
            raise

    @property
    def bootstrap(self) -> str:
        return self.running.bootstrap

    @property
    def registry_url(self) -> str:
        return self.running.registry_url

    def wait(self) -> None:
        """Return when someone has stopped the set; raise if a service or the supervisor died."""
        for _ in _messages(self._process):
            pass
        if self._process.wait() != 0:
            raise ServicesError("The supervisor of the services was killed, and they with it.")

    def detach(self) -> RunningSet:
        """Let the set run on without this process, until `down`."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(supervisor.DETACH)
        self._process.stdin.close()
        self._process.stdout.close()
        _DETACHED.append(self._process)
        return self.running

    def stop(self) -> None:
        """Stop the set and remove its folder. A set that is stopped or detached already is left alone."""
        if self._process not in _DETACHED:
            _end(self._process, self.running.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def up(name: str = DEFAULT_NAME, *, detach: bool = False, progress: Progress | None = None) -> RunningSet:
    """Start the set of that name; unless detached, return only when Ctrl-C or `down` has stopped it."""
    with ServiceSet.start(name, progress=progress) as services:
        if detach:
            return services.detach()
        with contextlib.suppress(KeyboardInterrupt):
            services.wait()
    return services.running


def down(name: str = DEFAULT_NAME) -> bool:
    """Stop the set of that name, also one that is only starting, and tell whether there was one."""
    asked = None
    deadline = time.monotonic() + _STOP_S
    while not book.discard(name):
        owner = book.owner(name)
        if owner is not None and owner != asked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(owner, signal.SIGTERM)
            asked = owner
        if time.monotonic() > deadline:
            raise ServicesError(f"The services {name!r} did not stop within {_STOP_S:.0f} s.")
        time.sleep(_POLL_S)
    return asked is not None


def _claim(name: str) -> IO[bytes]:
    deadline = time.monotonic() + 1  # the lock is also held for moments by those who look
    while (lock := book.claim(name)) is None:
        running = book.find(name)
        if running:
            raise ServicesError(
                f"The services {name!r} are running already, with the broker on {running.bootstrap}; "
                f"stop them with `tocsin services down`, or choose another name."
            )
        if time.monotonic() > deadline:
            raise ServicesError(f"The services {name!r} are being started or stopped by another process.")
        time.sleep(_POLL_S)
    return lock


def _messages(process: "subprocess.Popen[bytes]") -> Iterator[dict[str, Any]]:
    assert process.stdout
    for line in process.stdout:
        message = json.loads(line)
        if "failed" in message:
            raise (PortTaken if message["port_taken"] else ServicesError)(message["failed"])
        yield message


def _end(process: "subprocess.Popen[bytes]", name: str) -> None:
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    book.discard(name)  # a supervisor that was killed could not do it
