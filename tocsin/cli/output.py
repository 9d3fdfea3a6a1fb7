"""Where commands write: results to standard output, words about them to standard error."""

import json
import sys

from rich.console import Console

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def emit(result: object) -> None:
    """Write a result as one line of JSON, at once: a script may be waiting for it."""
    sys.stdout.write(json.dumps(result, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Say something that is not part of the result."""
    err.print(text, markup=False, style="dim")


def warn(text: str) -> None:
    """Say what may surprise."""
    err.print(f"Note: {text}", markup=False, style="yellow")


def complain(text: str) -> None:
    """Say what went wrong."""
    err.print(text, markup=False, style="red")
