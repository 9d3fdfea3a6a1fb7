"""What a run of cases is told as: tables by source and by family, what is missing, what failed."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .runner import Outcome, Verdict


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print everything there is to say about a run."""
    console.print(table("source", outcomes, lambda outcome: (outcome.case.source,), total=True))
    console.print(table("family", outcomes, lambda outcome: outcome.case.families))
    show_missing(outcomes, console)
    show_failures(outcomes, console)


def table(
    name: str,
    outcomes: Sequence[Outcome],
    groups: Callable[[Outcome], Iterable[str]],
    *,
    total: bool = False,
) -> Table:
    """Count cases, expressible and passed ones; a case may be in several groups."""
    counts: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
    for outcome in outcomes:
        for group in groups(outcome):
            counts[group][outcome.verdict] += 1
    shown = Table(name, show_footer=total)
    for column in ("cases", "expressible", "passed"):
        shown.add_column(column, justify="right")
    for group in sorted(counts):
        shown.add_row(group, *_cells(counts[group]))
    if total:
        footer = ("all", *_cells(Counter(outcome.verdict for outcome in outcomes)))
        for shown_column, text in zip(shown.columns, footer, strict=True):
            shown_column.footer = text
    return shown


def show_missing(outcomes: Iterable[Outcome], console: Console) -> None:
    """Print the cases that cannot be said, by what the language lacks, the most wanted first."""
    missing: defaultdict[str, list[str]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.verdict is Verdict.INEXPRESSIBLE:
            missing[outcome.detail].append(outcome.case.id)
    if missing:
        console.print("\n[bold]Not expressible, by missing construct[/]")
    for construct, ids in sorted(missing.items(), key=lambda item: (-len(item[1]), item[0])):
        console.print(f"{len(ids):4}  {escape(construct)}: [dim]{', '.join(ids)}[/]", highlight=False)


def show_failures(outcomes: Iterable[Outcome], console: Console) -> None:
    """Print every failed case with its words, its rules, what was expected and what came."""
    for outcome in outcomes:
        if outcome.verdict is Verdict.FAILED:
            case = outcome.case
            console.print(f"\n[bold red]{case.id}[/] {escape(str(case.pattern.get('words', '')))}")
            console.print(outcome.text, markup=False, highlight=False, soft_wrap=True)
            console.print(
                f"expected: {json.dumps(case.expected)}", markup=False, highlight=False, soft_wrap=True
            )
            console.print(outcome.detail, markup=False, highlight=False, soft_wrap=True)


def _cells(counts: Counter[Verdict]) -> tuple[str, str, str]:
    expressible = counts[Verdict.PASSED] + counts[Verdict.FAILED]
    return str(counts.total()), str(expressible), str(counts[Verdict.PASSED])
