"""A diagram: boxes with text in bands, and links between them; what SVG and Mermaid are written from."""

from dataclasses import dataclass
from enum import StrEnum


class Look(StrEnum):
    """What a box stands for, and so what it looks like."""

    EVENT = "event"
    FACT = "fact"
    SOURCE = "source"
    OPERATOR = "operator"
    DEFINE = "define"
    RULE = "rule"


class ChipLook(StrEnum):
    """What a chip tells."""

    CONTEXT = "context"
    HORIZON = "horizon"
    SHARED = "shared"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Chip:
    """A short remark at the foot of a box."""

    look: ChipLook
    text: str


@dataclass(frozen=True, slots=True)
class Box:
    """A node of the diagram: what it is, its name, details in the language's words, and remarks."""

    look: Look
    tag: str
    title: str
    lines: tuple[str, ...] = ()
    chips: tuple[Chip, ...] = ()
    tooltip: str = ""
    band: int = 0

    @property
    def shared(self) -> bool:
        """Whether several boxes are fed by this one node of the plan."""
        return any(chip.look is ChipLook.SHARED for chip in self.chips)


@dataclass(frozen=True, slots=True)
class Link:
    """From one box to another, by index; a link over a topic is one that leaves the task."""

    start: int
    end: int
    label: str = ""
    over_topic: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """What runs in one task: its name, and what there is to say of it, one thing a line."""

    title: str
    lines: tuple[str, ...]
    look: str


@dataclass(frozen=True, slots=True)
class Diagram:
    """Boxes, the links between them, and the bands they lie in."""

    title: str
    subtitle: str
    bands: tuple[Band, ...]
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
