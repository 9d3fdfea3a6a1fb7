"""Batch detection: the rules of a live application, run over a stored log as fast as the engine goes.

    known = InputSchemas(plan, None)
    streams = open_files([Path("events.jsonl")], plan, known)
    for found in Replay(plan, streams, known).run():
        for event in found:
            print(event.to_json())

Whoever opens streams closes them.
"""

from tocsin.replay.detection import Replay, Summary
from tocsin.replay.files import open_files
from tocsin.replay.streams import Place, Stream
from tocsin.replay.topics import TopicLog
from tocsin.workers.formats import InputSchemas

__all__ = ["InputSchemas", "Place", "Replay", "Stream", "Summary", "TopicLog", "open_files"]
