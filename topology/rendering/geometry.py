"""Places and sizes, in pixels."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """How much room a box takes."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Head:
    """How much room the heading of a band takes: its height, and the least width of the band."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Point:
    """A place; y grows downwards."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Rect:
    """A place and a size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The height of its centre."""
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Route:
    """The way of a link: horizontal stretches, from and to, that smooth curves join.

    A route back runs in its own lane below the boxes, at right angles.
    """

    stretches: tuple[tuple[Point, Point], ...]
    back: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is."""

    width: float
    height: float
    boxes: tuple[Rect, ...]
    routes: tuple[Route, ...]
    bands: tuple[Rect, ...]
