"""The folder of a set is removed whole, whatever still happens in it."""

import subprocess
import sys
from pathlib import Path

from tocsin.services import book

WRITER = """
import itertools, sys
for number in itertools.count():
    try:
        open(f"{sys.argv[1]}/{number}", "w").close()
    except FileNotFoundError:
        sys.exit("the folder is gone")
    if number == 1000:
        print("writing", flush=True)
    if number == 20000:
        sys.exit("dead at last")
"""


def test_a_folder_goes_although_a_dying_process_still_writes_into_it(tmp_path: Path) -> None:
    folder = tmp_path / "set" / "worker"
    folder.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", WRITER, folder], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        book.remove(folder.parent)
    assert not folder.parent.exists()
