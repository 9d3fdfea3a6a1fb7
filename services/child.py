"""A Java child process that does not outlive its parent, and the log it writes."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

from tocsin.services.book import ServicesError

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_TAIL_LINES = 20
_PORT_TAKEN = ("Address already in use", "seems to be in use by another process")


class PortTaken(ServicesError):
    """Someone else got a port between its choice and its use: choose again."""


class Child:
    """One service, in a process group of its own."""

    def __init__(self, what: str, command: list[str], folder: Path) -> None:
        self.what = what
        self._log = folder / f"{what}.log"
        parent = os.getpid()

        def die_with_parent() -> None:
            if _LIBC is not None:
                _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != parent:  # it died before the call above
                    os._exit(1)

        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 – the supervisor has no other threads when it starts children
            )

    def check(self) -> None:
        """Raise if the process has ended, with the end of its log."""
        code = self._process.poll()
        if code is not None:
            taken = any(words in self._log.read_text(errors="replace") for words in _PORT_TAKEN)
            error = PortTaken if taken else ServicesError
            raise error(f"The {self.what} ended with code {code}. {self.tail()}")

    def finish(self) -> None:
        """Wait for the process to end, and raise if it did not end well."""
        if self._process.wait() != 0:
            self.check()

    def tail(self) -> str:
        """The end of the log, introduced."""
        lines = self._log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        return "\n".join(["Its log ends:", *lines]) if lines else "It logged nothing."

    def kill(self) -> None:
        """End the whole group at once: its data is thrown away, so nothing has to be written in order."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def java_command(java: str, folder: Path, heap_mb: int) -> list[str]:
    """What all services' command lines begin with; it keeps them from writing outside their folder."""
    scratch = folder / "tmp"
    scratch.mkdir(exist_ok=True)
    return [java, f"-Xmx{heap_mb}m", "-XX:-UsePerfData", f"-Djava.io.tmpdir={scratch}"]
