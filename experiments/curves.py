"""Line charts as SVG that reads on light and dark pages, the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Line", "Panel", "chart"]

# Middling colours, which stand out from white and from black; told apart by marks too.
_COLOURS = ("#8a8a8a", "#2f8fd8", "#e0662f", "#2f9e63")
_INK = "#808080"
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 270, 190, 36, 28, 46


@dataclass(frozen=True)
class Line:
    """A line of a chart: its name, and a share (between 0 and 1) at each place; None where nothing is known."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Panel:
    """One chart: its title, the names of the places along it, and its lines."""

    title: str
    places: Sequence[str]
    lines: Sequence[Line]


def chart(panels: Sequence[Panel], axis: str, title: str) -> str:
    """Return panels side by side with one legend, from 0 to 100 %.

    Args:
        panels: All with the same names of lines.
        axis: What the places along them mean.
        title: What the picture shows, for those who do not see it.
    """
    # A legend of many lines may be wider than the only panel.
    legend = _LEFT + sum(map(_legend_width, panels[0].lines))
    width, height = max(_WIDTH * len(panels) + 10, legend), _TOP + _HEIGHT + _BOTTOM + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="11" fill="{_INK}">',
        f"<title>{escape(title)}</title>",
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, number * _WIDTH, axis)
    x = _LEFT
    for number, line in enumerate(panels[0].lines):
        colour = _COLOURS[number % len(_COLOURS)]
        parts += [_mark(number, x + 6, height - 13), f'<text x="{x + 16}" y="{height - 9}" fill="{colour}">']
        parts[-1] += f"{escape(line.name)}</text>"
        x += _legend_width(line)
    return "\n".join([*parts, "</svg>", ""])


def _legend_width(line: Line) -> int:
    """The room for a mark, a name and the gap behind it."""
    return 40 + 7 * len(line.name)


def _panel(panel: Panel, left: float, axis: str) -> list[str]:
    inner = _WIDTH - _LEFT - 14
    right, bottom = left + _LEFT + inner, _TOP + _HEIGHT
    step = inner / max(1, len(panel.places))
    centres = [left + _LEFT + step * (i + 0.5) for i in range(len(panel.places))]
    parts = [f'<text x="{left + _LEFT}" y="{_TOP - 12}" font-weight="bold">{escape(panel.title)}</text>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = bottom - share * _HEIGHT
        parts.append(
            f'<line x1="{left + _LEFT}" y1="{y:g}" x2="{right:g}" y2="{y:g}" stroke="{_INK}" stroke-opacity="0.3"/>'
        )
        parts.append(f'<text x="{left + _LEFT - 5}" y="{y + 4:g}" text-anchor="end">{100 * share:g}</text>')
    for centre, name in zip(centres, panel.places, strict=True):
        parts.append(f'<text x="{centre:.1f}" y="{bottom + 16}" text-anchor="middle">{escape(name)}</text>')
    middle = left + _LEFT + inner / 2
    parts.append(f'<text x="{middle:.1f}" y="{bottom + 34}" text-anchor="middle">{escape(axis)}</text>')
    for number, line in enumerate(panel.lines):
        known = [
            (centre, bottom - value * _HEIGHT)
            for centre, value in zip(centres, line.values, strict=True)
            if value is not None
        ]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in known)
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [_mark(number, x, y) for x, y in known]
    return parts


def _mark(number: int, x: float, y: float) -> str:
    """A disc, a square, a triangle or a diamond."""
    colour = _COLOURS[number % len(_COLOURS)]
    if number % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
    corners = ([(-3, -3), (3, -3), (3, 3), (-3, 3)], [(0, -4), (4, 3), (-4, 3)], [(0, -4), (4, 0), (0, 4), (-4, 0)])
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners[number % 4 - 1])
    return f'<polygon points="{points}" fill="{colour}"/>'
