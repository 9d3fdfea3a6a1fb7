"""Runs the job and kills it, JVM included, when a part of a batch is written: `job_that_dies.py BATCH …`.

The rest of the command line is that of the job.
"""

import os
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from tocsin.analytics import __main__ as job
from tocsin.analytics import stream


def main() -> int:
    fatal, *arguments = sys.argv[1:]
    write_batch = stream.write_batch

    def write_and_die(events: DataFrame, batch_id: int, output: Path) -> None:
        if batch_id == int(fatal):
            write_batch(events.limit(1), batch_id, output)
            os.killpg(0, signal.SIGKILL)
        write_batch(events, batch_id, output)

    stream.write_batch = write_and_die
    return job.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
