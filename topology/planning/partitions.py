"""How many partitions the topics have that rules read as they are, without a route."""

from collections.abc import Mapping

from tocsin.topology.model import Compilation


def own_partitions(reads: Mapping[str, int | None], compilation: Compilation) -> dict[str, int]:
    """Return, by type, the partitions of the topics that have the key by which they are read, where known."""
    types, partitions = compilation.types, compilation.partitions
    return {
        name: partitions[types[name].topic]
        for name, key in reads.items()
        if key in {None, types[name].key} and types[name].topic in partitions
    }
