"""Diagrams as Mermaid text, for wherever Markdown is shown."""

from collections.abc import Iterator

from tocsin.topology.rendering.diagram import Box, Diagram, Look

_SHAPES = {
    Look.EVENT: ("([", "])"),
    Look.FACT: ("[(", ")]"),
    Look.SOURCE: ("[/", "/]"),
    Look.OPERATOR: ("(", ")"),
    Look.DEFINE: ("{{", "}}"),
    Look.RULE: (">", "]"),
}


def to_mermaid(diagram: Diagram) -> str:
    """Return the diagram as a Mermaid flowchart; equal diagrams give equal text."""
    return "\n".join(_lines(diagram)) + "\n"


def _lines(diagram: Diagram) -> Iterator[str]:
    yield f"%% {diagram.title}: {diagram.subtitle}"
    yield "flowchart LR"
    for index, band in enumerate(diagram.bands):
        name = ": ".join([band.title, "; ".join(band.lines)])
        yield f'  subgraph band{index}["{_quoted(name)}"]'
        for number, box in enumerate(diagram.boxes):
            if box.band == index:
                yield f"    {_node(number, box)}"
        yield "  end"
    for link in diagram.links:
        arrow = "-.->" if link.over_topic else "-->"
        label = f'|"{_quoted(link.label)}"|' if link.label else ""
        yield f"  n{link.start} {arrow}{label} n{link.end}"
    shared = [f"n{number}" for number, box in enumerate(diagram.boxes) if box.shared]
    if shared:
        yield "  classDef shared stroke-width:3px"
        yield f"  class {','.join(shared)} shared"


def _node(number: int, box: Box) -> str:
    opening, closing = _SHAPES[box.look]
    chips = " · ".join(chip.text for chip in box.chips)
    rows = [f"<small>{_quoted(box.tag)}</small>", f"<b>{_quoted(box.title)}</b>"]
    rows += [_quoted(line) for line in (*box.lines, chips) if line]
    return f'n{number}{opening}"{"<br/>".join(rows)}"{closing}'


def _quoted(text: str) -> str:
    """Return text in which nothing is read as Mermaid or HTML."""
    return "".join(c if c.isalnum() or c in " .,:=+-*/%$()[]{}_·…" else f"#{ord(c)};" for c in text)
