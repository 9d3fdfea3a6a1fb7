"""Rules in Python: `from tocsin.rules import event, define, …`; `tocsin.topology.building` says how."""

from tocsin.topology.building import *  # noqa: F403 (this is where they are public)
from tocsin.topology.building import __all__ as __all__  # noqa: PLC0414
