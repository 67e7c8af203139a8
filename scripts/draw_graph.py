"""Draws the model's graph for the README: `make figures`.

The numbers beside the edges are the exact edge probabilities that `hf_corefel.trees` gives for the scores below;
the scores are made up for the drawing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from hf_corefel.trees import SpanningTreeDistribution

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"

SENTENCE = "“The Alliance will answer together,” NATO spokeswoman Katrin Vossberg said."
SPANS = ("Alliance", "NATO", "Katrin Vossberg")
ENTITIES = ("Alliance,_Ohio", "Alliance_Party", "NATO", "NATO_summit")
# Log-weights. A span has two candidates here; span_to_span[i][j] is parent i -> child j.
ROOT = (0.0, -0.5, 1.6)
CANDIDATES = ((1.0, 0.8), (3.9, 0.9), (-math.inf, -math.inf))
CANDIDATE_IDS = ((0, 1), (2, 3), (-1, -1))
SPAN_TO_SPAN = ((0.0, 0.9, -1.2), (3.9, 0.0, -0.6), (-1.2, -0.9, 0.0))

INK, CHOSEN, FAINT, FAINT_INK = "#1f2933", "#d9480f", "#b8c2cc", "#7b8794"
FILL = {"root": "#ffffff", "entity": "#e7f5ff", "span": "#fff4e6"}
EDGE = {"root": INK, "entity": "#1971c2", "span": CHOSEN}

ROOT_PLACE = (5.0, 5.15)
ENTITY_PLACES = ((0.95, 3.35), (2.95, 3.35), (5.0, 3.35), (6.75, 3.35))
SPAN_PLACES = ((1.95, 1.3), (5.35, 1.3), (8.35, 1.3))


@dataclass(frozen=True)
class Edge:
    """An arrow of the drawing; ``label_at`` is the share of the way at which its number stands."""

    start: tuple[float, float]
    end: tuple[float, float]
    probability: float | None
    chosen: bool
    bend: float = 0.0
    label_at: float = 0.5


def _edges() -> Iterator[Edge]:
    """All edges, with the probabilities and the best tree of the distribution."""
    tensors = [torch.tensor([values], dtype=torch.float64) for values in (ROOT, SPAN_TO_SPAN, CANDIDATES)]
    trees = SpanningTreeDistribution(tensors[0], tensors[1], tensors[2], torch.tensor([CANDIDATE_IDS]))
    marginals, parents = trees.edge_marginals, trees.argmax.parents[0].tolist()
    size = len(SPANS)
    linked = {CANDIDATE_IDS[j][parent - size - 1] for j, parent in enumerate(parents) if parent > size}
    for e, place in enumerate(ENTITY_PLACES):
        yield Edge(ROOT_PLACE, _above(place), None, e in linked)
    root_bends, root_labels = (0.34, -0.22, -0.36), (0.76, 0.47, 0.5)
    for j in range(size):
        end = (SPAN_PLACES[j][0] + (-0.42, 0.34, 0.1)[j], SPAN_PLACES[j][1] + 0.21)
        probability = float(marginals.root[0, j])
        yield Edge(ROOT_PLACE, end, probability, parents[j] == size, root_bends[j], root_labels[j])
        for k, e in enumerate(CANDIDATE_IDS[j]):
            if e >= 0:
                probability = float(marginals.candidate_probabilities[0, j, k])
                end = (SPAN_PLACES[j][0] + (-0.18, 0.14)[k], SPAN_PLACES[j][1] + 0.21)
                yield Edge(_below(ENTITY_PLACES[e]), end, probability, parents[j] == size + 1 + k)
        for i in range(size):
            if i != j:
                probability = float(marginals.span_to_span[0, i, j])
                far = abs(i - j) > 1
                # Both long edges pass below the span between.
                shift = (0.25 if i < j else -0.1) if far else 0.0
                start, end = _beside(i, j, shift), _beside(j, i, shift)
                bend = 0.22 if not far else 0.13 if i < j else -0.2
                yield Edge(start, end, probability, parents[j] == i, bend)


def _above(place: tuple[float, float]) -> tuple[float, float]:
    return place[0], place[1] + 0.21


def _below(place: tuple[float, float]) -> tuple[float, float]:
    return place[0], place[1] - 0.21


def _beside(span: int, other: int, shift: float) -> tuple[float, float]:
    """At the side of a span that faces the other one; below it for the long edges, which have a shift."""
    x, y = SPAN_PLACES[span]
    side = 1 if other > span else -1
    if shift:
        return x + side * shift, y - 0.21
    return x + side * (0.5, 0.38, 0.83)[span], y + (0.07 if span < other else -0.07)


def _draw_edge(axes: Axes, edge: Edge) -> None:
    color = CHOSEN if edge.chosen else FAINT
    arrow = FancyArrowPatch(
        edge.start,
        edge.end,
        connectionstyle=f"arc3,rad={edge.bend}",
        arrowstyle="-|>",
        mutation_scale=15 if edge.chosen else 10,
        linewidth=2.8 if edge.chosen else 1.1,
        color=color,
        shrinkA=1,
        shrinkB=1,
        zorder=3 if edge.chosen else 1,
    )
    axes.add_patch(arrow)
    if edge.probability is None:
        return
    x, y = _on_curve(edge)
    axes.text(
        x,
        y,
        f"{edge.probability:.2f}",
        ha="center",
        va="center",
        fontsize=10.5 if edge.chosen else 8.5,
        fontweight="bold" if edge.chosen else "normal",
        color=CHOSEN if edge.chosen else FAINT_INK,
        bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none"},
        zorder=4,
    )


def _on_curve(edge: Edge) -> tuple[float, float]:
    """The point of the arrow's quadratic Bézier curve at ``label_at`` (matplotlib's arc3)."""
    (x0, y0), (x2, y2), t = edge.start, edge.end, edge.label_at
    x1 = (x0 + x2) / 2 + edge.bend * (y2 - y0)
    y1 = (y0 + y2) / 2 - edge.bend * (x2 - x0)
    a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t**2
    return a * x0 + b * x1 + c * x2, a * y0 + b * y1 + c * y2


def _draw_node(axes: Axes, place: tuple[float, float], text: str, kind: str) -> None:
    axes.text(
        *place,
        text,
        ha="center",
        va="center",
        fontsize=11,
        color=INK,
        fontweight="bold" if kind == "span" else "normal",
        fontstyle="italic" if kind == "entity" else "normal",
        bbox={
            "boxstyle": "circle,pad=0.4" if kind == "root" else "round,pad=0.4,rounding_size=0.25",
            "facecolor": FILL[kind],
            "edgecolor": EDGE[kind],
            "linewidth": 1.4,
        },
        zorder=5,
    )


def draw() -> Figure:
    """The whole figure, on a white ground so that it reads on dark pages too."""
    figure, axes = plt.subplots(figsize=(10, 6.1), facecolor="white")
    axes.set(xlim=(-0.35, 10.35), ylim=(-0.8, 5.75))
    axes.set_axis_off()
    axes.add_patch(
        FancyBboxPatch(
            (-0.2, -0.65), 10.4, 6.25, boxstyle="round,pad=0.08", facecolor="white", edgecolor="#dde3e9", linewidth=1
        )
    )
    for edge in _edges():
        _draw_edge(axes, edge)
    _draw_node(axes, ROOT_PLACE, "root", "root")
    for place, name in zip(ENTITY_PLACES, ENTITIES, strict=True):
        _draw_node(axes, place, name, "entity")
    for place, name in zip(SPAN_PLACES, SPANS, strict=True):
        _draw_node(axes, place, name, "span")
    axes.text(5.0, -0.3, SENTENCE, ha="center", va="center", fontsize=12.5, color=INK, family="serif")
    for y, text, color in (
        (5.25, "the best tree: {Alliance, NATO} → NATO", CHOSEN),
        (4.98, "and {Katrin Vossberg} → NIL", CHOSEN),
        (4.62, "numbers: probability of", FAINT_INK),
        (4.37, "the edge over all trees", FAINT_INK),
    ):
        axes.text(-0.05, y, text, ha="left", va="center", fontsize=9.5, color=color)
    for y, text in ((ENTITY_PLACES[0][1], "entities"), (SPAN_PLACES[0][1], "spans")):
        axes.text(10.1, y, text, ha="right", va="center", fontsize=9.5, color=FAINT_INK)
    figure.subplots_adjust(0, 0, 1, 1)
    return figure


def main() -> int:
    """Writes docs/images/graph.svg and graph.png; returns the exit status."""
    mpl.use("Agg")
    # Without these, every run would write other ids and a date into the SVG.
    mpl.rcParams.update({"svg.hashsalt": "hf-corefel", "font.family": "DejaVu Sans"})
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure = draw()
    figure.savefig(FOLDER / "graph.svg", metadata={"Date": None})
    figure.savefig(FOLDER / "graph.png", dpi=160)
    return 0


if __name__ == "__main__":
    sys.exit(main())
