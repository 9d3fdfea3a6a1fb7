"""Tocsin: complex event detection on Kafka, exact under distribution, failure and replay.

What programs need is here, and in `tocsin.rules` what builds rules in Python; everything else is for those
who work on Tocsin.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tocsin.complex_event import ComplexEvent, Constituent
    from tocsin.publisher import Coordinates, Publisher
    from tocsin.subscriber import Subscriber
    from tocsin.topology import Plan, TocsinError, compile_rules

__version__ = "0.1.0"

__all__ = [
    "ComplexEvent",
    "Constituent",
    "Coordinates",
    "Plan",
    "Publisher",
    "Subscriber",
    "TocsinError",
    "__version__",
    "compile_rules",
]

_HOMES = {
    "ComplexEvent": "complex_event",
    "Constituent": "complex_event",
    "Coordinates": "publisher",
    "Plan": "topology",
    "Publisher": "publisher",
    "Subscriber": "subscriber",
    "TocsinError": "topology",
    "compile_rules": "topology",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: most programs need few of them."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
