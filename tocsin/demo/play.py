"""The play: feed and watch, until Ctrl-C, or for some seconds and then compare."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.live import Live

from tocsin.cli.output import complain, note, out
from tocsin.demo.expectation import Fire, detected, expected, judge
from tocsin.demo.feed import Feed, Published
from tocsin.demo.screen import Scene
from tocsin.demo.stage import Stage, set_up
from tocsin.publisher import Publisher
from tocsin.subscriber import Subscriber

DEFAULT_S = 15.0
"""Without a terminal."""
TAIL_S = 90.0
"""For the last fires, which the silence after the feed releases."""
TICK_S = 0.02
LINE_EVERY_S = 2.0
FRAMES_PER_S = 4
SHOWN = 3


def run(seconds: float | None, seed: int) -> int:
    """Play the demo and return its exit code."""
    if seconds is None and not out.is_terminal:
        seconds = DEFAULT_S
    with (
        _unwinding_on_sigterm(),
        set_up(note) as stage,
        Publisher(stage.services.bootstrap, stage.services.registry_url, stage.plan) as publisher,
        _subscriber(stage) as fires,
    ):
        play = Play(stage, publisher, fires, seed)
        return _watch(play) if seconds is None else _compare(play, seconds)


class Play:
    """Feeds, listens and keeps the scene up to date, in small steps."""

    def __init__(self, stage: Stage, publisher: Publisher, fires: Subscriber, seed: int) -> None:
        self.stage = stage
        self.scene = Scene(stage.services.bootstrap, len(stage.workers))
        self.feed = Feed(publisher, seed, self._on_published)
        self.remembers = False
        """Whether to keep what is needed to compare, which grows for as long as it goes on."""
        self.record: list[Published] = []
        self.seen: set[Fire] = set()
        self._fires = fires

    def step(self, *, feeding: bool) -> None:
        """Publish what is due, if feeding, and take in what was detected."""
        if feeding:
            self.feed.publish_due()
        event = self._fires.read(TICK_S)
        if event is not None:
            self.scene.fires += 1
            self.scene.latest.append(event)
            if self.remembers:
                self.seen.add(detected(event))
        self.scene.workers_up = self.stage.workers_up
        self.stage.check()

    def steps(self, seconds: float, *, feeding: bool, until: Callable[[], bool]) -> None:
        """Go on for that long, or until something holds, with a line about it now and then."""
        now_s = time.monotonic()
        end_s, line_s = now_s + seconds, now_s + LINE_EVERY_S
        while now_s < end_s and not until():
            self.step(feeding=feeding)
            now_s = time.monotonic()
            if now_s >= line_s:
                note(self.scene.line())
                line_s += LINE_EVERY_S

    def _on_published(self, event: Published) -> None:
        self.scene.events += 1
        if self.remembers:
            self.record.append(event)


def _watch(play: Play) -> int:
    with Live(get_renderable=play.scene.table, refresh_per_second=FRAMES_PER_S, console=out):
        try:
            while True:
                play.step(feeding=True)
        except KeyboardInterrupt:
            pass
    note("Stopping.")
    return 0


def _compare(play: Play, seconds: float) -> int:
    play.remembers = True
    play.steps(seconds, feeding=True, until=lambda: False)
    play.feed.finish()
    wanted = expected(play.record)
    note("The feed has ended; waiting for the last fires, which its silence releases.")
    play.steps(TAIL_S, feeding=False, until=lambda: wanted <= play.seen)
    play.stage.stop_workers()
    # Once more, from the beginning to the end: what any other subscriber would find.
    with _subscriber(play.stage) as everything:
        fires = [detected(event) for event in everything.read_all()]
    out.print(f"events: {len(play.record)}")
    out.print(f"complex events: {len(fires)}")
    out.print(f"expected: {len(wanted)}")
    verdict = judge(wanted, fires)
    for what, wrong in verdict._asdict().items():
        if wrong:
            complain(f"{what}: {len(wrong)}, as {', '.join(map(str, wrong[:SHOWN]))}")
    return 0 if verdict.is_exact else 1


def _subscriber(stage: Stage) -> Subscriber:
    return Subscriber(
        stage.services.bootstrap, stage.services.registry_url, [stage.output_topic], start="earliest"
    )


@contextmanager
def _unwinding_on_sigterm() -> Iterator[None]:
    """Unwind on SIGTERM as on Ctrl-C, so that everything is stopped."""

    def end(_number: int, _frame: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
