"""Plans to look at: explained as text, drawn as SVG and Mermaid."""

from tocsin.topology.plan import Plan
from tocsin.topology.rendering.explain import explain
from tocsin.topology.rendering.mermaid import to_mermaid
from tocsin.topology.rendering.picture import picture
from tocsin.topology.rendering.svg import to_svg

__all__ = ["draw_mermaid", "draw_svg", "explain"]


def draw_svg(plan: Plan) -> str:
    """Return the shared event graph of a plan as an SVG document."""
    return to_svg(picture(plan))


def draw_mermaid(plan: Plan) -> str:
    """Return the shared event graph of a plan as a Mermaid flowchart."""
    return to_mermaid(picture(plan))
