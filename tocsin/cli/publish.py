"""`tocsin publish`: events from the command line, a file or standard input."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from tocsin.cli.options import App, Brokers, Json, Registry, Rules, load_plan
from tocsin.cli.output import emit, note
from tocsin.errors import InputError
from tocsin.topology import Plan
from tocsin.values import checked, from_text, time_ms
from tocsin.vocabulary import input_type

if TYPE_CHECKING:
    from tocsin.publisher import Coordinates, Publisher

app = typer.Typer()

STDIN = "-"


@dataclass(frozen=True, slots=True)
class _Entry:
    """An event to be published."""

    type_name: str
    attributes: dict[str, object]
    time_ms: int | None


@app.command(
    epilog="Examples: tocsin publish Temp area=hall value=51.5\n\ntocsin publish --from events.jsonl\n\n"
    "some-feed | tocsin publish Temp --from -",
)
def publish(  # noqa: PLR0913, PLR0917 – a parameter an option
    type_name: Annotated[
        str | None, typer.Argument(metavar="TYPE", help="The event type.", show_default=False)
    ] = None,
    attributes: Annotated[
        list[str] | None,
        typer.Argument(metavar="ATTRIBUTE=VALUE", help="Its attributes.", show_default=False),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Read events from a file, or from standard input (-): one JSON object a line, as in "
            '{"type": "Temp", "time": 1709208000000, "area": "hall", "value": 51.5}. '
            "With TYPE, lines need no type. The time may also be ISO 8601, and is now if left out.",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time of the event, in milliseconds or ISO 8601. Default: now."),
    ] = None,
    rules: Rules = None,
    app_name: App = None,
    brokers: Brokers = None,
    registry: Registry = None,
    as_json: Json = False,
) -> None:
    """Publish events that a rule file declares.

    Exit codes: 0 the broker has them all, 1 one of them is wrong, 2 the broker, registry or topic is missing.
    """
    from tocsin.publisher import Publisher
    from tocsin.settings import Settings

    settings = Settings.load(app=app_name, brokers=brokers, registry=registry)
    plan = load_plan(rules, settings)
    if source is not None:
        if attributes or time is not None:
            raise InputError("Give either attributes or --from, not both.")
        with _opened(source) as lines:
            _publish(_from_lines(lines, type_name, plan), Publisher(*settings.addresses(), plan), as_json)
    elif type_name is not None:
        entry = _from_arguments(type_name, attributes or [], time, plan)
        _publish([entry], Publisher(*settings.addresses(), plan), as_json)
    else:
        raise InputError("Say what to publish: a TYPE with its attributes, or --from a file.")


def _publish(entries: Iterable[_Entry], publisher: "Publisher", as_json: bool) -> None:
    count = 0

    def delivered(coordinates: "Coordinates") -> None:
        nonlocal count
        count += 1
        if as_json:
            emit(coordinates._asdict())

    with publisher:
        try:
            for entry in entries:
                publisher.publish(entry.type_name, entry.attributes, entry.time_ms, delivered)
        finally:
            publisher.flush()
            if count:
                note(f"{count} {'event' if count == 1 else 'events'} published.")


def _from_arguments(type_name: str, pairs: list[str], time: str | None, plan: Plan) -> _Entry:
    texts = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"'{pair}' is not an attribute and its value, as in area=hall.")
        if name in texts:
            raise InputError(f"Attribute '{name}' is given twice.")
        texts[name] = text
    event = input_type(plan, type_name)
    values = checked(event, from_text(event, texts))
    return _Entry(type_name, dict(values), None if time is None else time_ms(time))


def _from_lines(lines: TextIO, type_name: str | None, plan: Plan) -> Iterator[_Entry]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield _from_line(line, type_name, plan)
            except InputError as error:
                raise InputError(f"Line {number}: {error}") from error


def _from_line(line: str, type_name: str | None, plan: Plan) -> _Entry:
    try:
        attributes = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"It is not JSON: {error.msg} at column {error.colno}.") from error
    if not isinstance(attributes, dict):
        raise InputError("It is not a JSON object.")
    name = type_name or attributes.pop("type", None)
    if not isinstance(name, str):
        raise InputError('It does not say its "type", and no TYPE is given.')
    event = input_type(plan, name)
    # Of an event that declares an attribute "time", it is the attribute.
    time = attributes.pop("time", None) if event.index_of("time") is None else None
    return _Entry(name, dict(checked(event, attributes)), None if time is None else time_ms(str(time)))


@contextmanager
def _opened(source: str) -> Iterator[TextIO]:
    if source == STDIN:
        yield sys.stdin
        return
    try:
        with Path(source).open(encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}.") from error
