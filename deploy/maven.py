"""Turns a pom into a folder of jars: once per user and pom, whoever asks and however many at a time."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tocsin.deploy import tools

POMS = Path(__file__).parent
ATTEMPTS = 3

Progress = Callable[[str], None]


class FetchFailed(Exception):
    """Maven could not get what a pom names."""

    exit_code = 1


def jars(name: str, *, progress: Progress | None = None) -> Path:
    """The folder with what `deploy/<name>/pom.xml` names, fetched if this pom was not fetched before."""
    pom = POMS / name / "pom.xml"
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tocsin" / "jars"
    folder = cache / f"{name}-{digest}"
    if folder.is_dir():
        return folder
    client = tools.maven()
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / "lock"):
        if folder.is_dir():
            return folder
        if progress:
            progress(f"fetching jars: {name} (first time only)…")
        for abandoned in cache.glob("fetch-*"):
            shutil.rmtree(abandoned)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as scratch:
            shutil.copy(pom, scratch)
            _run(client, Path(scratch), name)
            # A rename, so that the folder exists only when it is complete.
            (Path(scratch) / "jars").rename(folder)
    return folder


def _run(client: str, scratch: Path, name: str) -> None:
    command = [client, "--batch-mode", "--quiet", "--strict-checksums", "package"]
    for _ in range(ATTEMPTS):
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        if done.returncode == 0 and (scratch / "jars").is_dir():
            return
        # Maven remembers what it could not get; this makes it ask again.
        command = [*command, "--update-snapshots"]
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    reason = said[0].removeprefix("[ERROR]").strip() if said else f"it ended with code {done.returncode}"
    raise FetchFailed(f"Maven could not fetch the jars of `{name}` after {ATTEMPTS} attempts: {reason}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    # One lock for all poms: Maven's own repository does not take two writers.
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
