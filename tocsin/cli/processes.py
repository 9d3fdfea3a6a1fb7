"""Several workers on one machine: a process each, which live and end together."""

import signal
import subprocess
import sys
import threading

from tocsin.cli.output import complain

_PATIENCE_S = 60.0
"""How long a worker may take to hand over before it is killed."""


def run_all(arguments: list[str], count: int, stop: threading.Event) -> int:
    """Run `tocsin` so many times until `stop` is set or one of them ends; return how that one ended.

    Whoever watches over this process, such as Kubernetes, starts all of them again: one that ends by itself
    has a reason that the others will meet too.
    """
    command = [sys.executable, "-P", "-m", "tocsin", *arguments, "--exit-with-parent"]
    ended = threading.Event()
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(count)]
    codes: list[int] = []

    def watch(worker: "subprocess.Popen[bytes]") -> None:
        codes.append(worker.wait())
        ended.set()
        stop.set()

    watchers = [threading.Thread(target=watch, args=(worker,), daemon=True) for worker in workers]
    for watcher in watchers:
        watcher.start()
    stop.wait()
    first = codes[0] if ended.is_set() else 0
    for worker in workers:
        if worker.poll() is None:
            worker.send_signal(signal.SIGTERM)
    for worker, watcher in zip(workers, watchers, strict=True):
        watcher.join(_PATIENCE_S)
        if watcher.is_alive():
            complain(f"The worker with process id {worker.pid} does not end, and is killed.")
            worker.kill()
            watcher.join()
    # What a signal ended counts as a failure; shells say it with a number above 128.
    return first if first >= 0 else 128 - first
