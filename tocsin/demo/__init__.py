"""The demo: a broker, a registry, two workers, a sensor feed, and fires as they are detected.

feed ──► temps, smoke ──► two workers ──► tocsin.fire.Fire ──► screen
  └────► expectation ─────────────────── compared with ──────────┘
"""

from tocsin.demo.play import run

__all__ = ["run"]
