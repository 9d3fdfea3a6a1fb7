"""Tree to plan: the passes, one a file, in the order they run."""

from collections.abc import Callable

from tocsin.topology.model import Compilation
from tocsin.topology.passes.actions import type_actions
from tocsin.topology.passes.clauses import apply_clauses
from tocsin.topology.passes.coupling import couple_rules
from tocsin.topology.passes.cycles import refuse_cycles
from tocsin.topology.passes.declare import declare_names
from tocsin.topology.passes.denials import warn_of_denials
from tocsin.topology.passes.detections import apply_detections
from tocsin.topology.passes.expressions import type_expressions
from tocsin.topology.passes.filters import type_filters
from tocsin.topology.passes.graph import build_graph
from tocsin.topology.passes.horizons import bound_horizons
from tocsin.topology.passes.inherit import inherit_attributes
from tocsin.topology.passes.keys import analyse_keys
from tocsin.topology.passes.lingering import refuse_lingering
from tocsin.topology.passes.loops import refuse_loops
from tocsin.topology.passes.matches import type_matches
from tocsin.topology.passes.named import expand_named
from tocsin.topology.passes.nesting import check_nesting
from tocsin.topology.passes.openings import check_openings
from tocsin.topology.passes.patterns import type_patterns
from tocsin.topology.passes.placing import place_rules
from tocsin.topology.passes.push_down import push_down
from tocsin.topology.passes.ties import check_ties
from tocsin.topology.passes.values import type_values
from tocsin.topology.passes.whens import type_whens

Pass = Callable[[Compilation], None]


def raise_mistakes(compilation: Compilation) -> None:
    """Raise what the passes before have reported; those behind can rely on a sound file."""
    compilation.report.check()


TYPING: tuple[Pass, ...] = (
    declare_names,
    inherit_attributes,
    apply_clauses,
    expand_named,
    type_patterns,
    type_expressions,
    type_matches,
    type_whens,
    check_nesting,
    check_ties,
    check_openings,
    type_filters,
    type_values,
    type_actions,
    apply_detections,
    couple_rules,
)
"""From the tree to the typed model."""

PASSES: tuple[Pass, ...] = (
    *TYPING,
    push_down,
    bound_horizons,
    refuse_lingering,
    refuse_cycles,
    refuse_loops,
    raise_mistakes,
    warn_of_denials,
    analyse_keys,
    build_graph,
    place_rules,
)
