"""The command line."""

from tocsin.cli.app import app, main

__all__ = ["app", "main"]
