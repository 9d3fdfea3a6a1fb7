"""Tree to plan: the passes, one a file, in the order they run."""

from collections.abc import Callable

from tocsin.topology.model import Compilation
from tocsin.topology.passes.conditions import type_conditions
from tocsin.topology.passes.constituents import resolve_constituents
from tocsin.topology.passes.declare import declare_types
from tocsin.topology.passes.graph import build_graph
from tocsin.topology.passes.horizons import bound_horizons
from tocsin.topology.passes.keys import analyse_keys
from tocsin.topology.passes.push_down import push_down
from tocsin.topology.passes.values import type_values


def raise_mistakes(compilation: Compilation) -> None:
    """Raise what the passes before have reported; those behind can rely on a sound file."""
    compilation.report.check()


PASSES: tuple[Callable[[Compilation], None], ...] = (
    declare_types,
    resolve_constituents,
    type_conditions,
    type_values,
    push_down,
    bound_horizons,
    analyse_keys,
    raise_mistakes,
    build_graph,
)
