"""`python -m tests.vectors FOLDER [ID…]`: run the cases of a folder, or some of them, and show how they went.

Ends with 1 if a case that the language can express fails, with 2 if there are no cases.
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import track

from .cases import NoCases, load
from .report import show
from .runner import Verdict, run


def main(arguments: list[str] | None = None) -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(prog="python -m tests.vectors", description="Run cases of other suites.")
    parser.add_argument("folder", type=Path, help="a folder with *.json files of cases")
    parser.add_argument("ids", nargs="*", metavar="ID", help="only cases whose id begins so")
    chosen = parser.parse_args(arguments)
    console, progress = Console(), Console(stderr=True)
    try:
        cases = load(chosen.folder)
    except NoCases as error:
        progress.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 2
    if chosen.ids:
        cases = [case for case in cases if case.id.startswith(tuple(chosen.ids))]
    outcomes = [run(case) for case in track(cases, "cases", console=progress)]
    show(outcomes, console)
    return 1 if any(outcome.verdict is Verdict.FAILED for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
