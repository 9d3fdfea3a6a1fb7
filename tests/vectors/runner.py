"""Runs cases: translate, parse, compile, detect on the oracle, compare."""

import importlib
from dataclasses import dataclass
from enum import StrEnum

from tests.oracle.history import Input
from tests.oracle.run import detect, parse
from tocsin.topology import RuleErrors, compile_rules

from .cases import Case, Inexpressible, Translation, Translator

SOURCES = ("drools", "esper", "flink", "opencep", "siddhi", "snoop", "trex")
"""The names of the files there are translators for, each a module here with a function `translate`."""


class Verdict(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    INEXPRESSIBLE = "inexpressible"


@dataclass(frozen=True)
class Outcome:
    """How a case ended: `detail` is the missing construct or what is wrong, `text` the rules, if any."""

    case: Case
    verdict: Verdict
    detail: str = ""
    text: str = ""


def run(case: Case) -> Outcome:
    """Run one case. Whatever a translator or the oracle raises is a failure of this case alone."""
    try:
        translation = translator(case.source)(case)
    except Inexpressible as missing:
        return Outcome(case, Verdict.INEXPRESSIBLE, missing.construct)
    except Exception as error:  # noqa: BLE001 (a bug in one translator is to be shown beside all results)
        return Outcome(case, Verdict.FAILED, f"the translator failed: {_told(error)}")
    try:
        difference = execute(translation)
    except RuleErrors as errors:
        difference = f"the compiler rejects it:\n{errors}"
    except Exception as error:  # noqa: BLE001 (as above, of the compiler or the oracle)
        difference = f"compiler or oracle failed: {_told(error)}"
    verdict = Verdict.PASSED if difference is None else Verdict.FAILED
    return Outcome(case, verdict, difference or "", translation.text)


def translator(source: str) -> Translator:
    """Return the translator for the file of that name."""
    if source not in SOURCES:
        raise Inexpressible(f"there is no translator for {source}.json")
    translate: Translator = importlib.import_module(f".{source}", __package__).translate
    return translate


def execute(translation: Translation) -> str | None:
    """Run a translated case; return what differs, if anything does."""
    compile_rules(translation.text, app="vectors")
    program = parse(translation.text)
    events = [Input(event.type, event.t, event.attrs, event.id) for event in translation.events]
    return translation.check(detect(program, events, until=translation.until, since=translation.since))


def _told(error: Exception) -> str:
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f" ({frame.tb_frame.f_code.co_filename}:{frame.tb_lineno})" if frame is not None else ""
    return f"{type(error).__name__}: {error}{place}"
