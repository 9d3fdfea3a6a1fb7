"""A real broker and a real schema registry as child processes, for tests, demos and trying things out."""

from tocsin.services.book import RunningSet, ServicesError, failure, find, status
from tocsin.services.sets import ServiceSet, down, up

__all__ = ["RunningSet", "ServiceSet", "ServicesError", "down", "failure", "find", "status", "up"]
