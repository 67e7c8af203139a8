"""Draws the trees that say the same thing, for the documentation: `make figures`.

The probabilities are those that `hf_corefel.trees` gives for the scores below, which are made up for the drawing.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import matplotlib as mpl
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from hf_corefel.trees import SpanningTreeDistribution

PATH = Path(__file__).resolve().parents[1] / "docs" / "images" / "trees.svg"

SPANS = ("Angela Merkel", "Merkel")
ENTITIES = ("Angela_Merkel", "Max_Merkel")
# Log-weights; span_to_span[i][j] is parent i -> child j. Both spans have both entities as candidates.
ROOT = (-1.0, -1.0)
SPAN_TO_SPAN = ((0.0, 1.0), (0.5, 0.0))
CANDIDATES = ((1.5, 0.0), (0.5, 0.0))
# The parents of the two spans in each tree of the annotation: a span, or the entity.
LINK = -1
TREES = ((LINK, LINK), (LINK, 0), (1, LINK))

INK, CHOSEN, FAINT = "#1f2933", "#d9480f", "#7b8794"
FILL = {"root": "#ffffff", "entity": "#e7f5ff", "span": "#fff4e6"}
BORDER = {"root": INK, "entity": "#1971c2", "span": CHOSEN}
ROOT_PLACE, ENTITY_PLACE = (1.5, 3.3), (1.5, 2.2)
SPAN_PLACES = ((0.75, 0.9), (2.35, 0.9))


def probabilities() -> tuple[list[float], float]:
    """The probability of each tree, and of the annotation by one determinant.

    Raises:
        ValueError: When the first do not add up to the second.
    """
    root, pairs, candidates = (torch.tensor([v], dtype=torch.float64) for v in (ROOT, SPAN_TO_SPAN, CANDIDATES))
    trees = SpanningTreeDistribution(root, pairs, candidates, torch.tensor([[[0, 1], [0, 1]]]))
    total = float(trees.log_partition.exp())
    weights = []
    for parents in TREES:
        scores = (CANDIDATES[j][0] if p == LINK else SPAN_TO_SPAN[p][j] for j, p in enumerate(parents))
        weights.append(float(torch.tensor(sum(scores), dtype=torch.float64).exp()) / total)
    annotation = trees.log_prob(torch.tensor([[0, 0]]), torch.tensor([[0, 0]])).exp()
    if not math.isclose(sum(weights), float(annotation)):
        raise ValueError(f"TREES: {weights} do not add up to {float(annotation)}; a tree of the annotation is missing")
    return weights, float(annotation)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], bend: float = 0.0) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=14,
            linewidth=2.2,
            color=CHOSEN,
            shrinkA=13,
            shrinkB=13,
            connectionstyle=f"arc3,rad={bend}",
            zorder=1,
        )
    )


def _node(axes: Axes, place: tuple[float, float], text: str, kind: str) -> None:
    axes.text(
        *place,
        text,
        ha="center",
        va="center",
        fontsize=10.5,
        color=INK,
        fontweight="bold" if kind == "span" else "normal",
        fontstyle="italic" if kind == "entity" else "normal",
        bbox={
            "boxstyle": "circle,pad=0.3" if kind == "root" else "round,pad=0.4,rounding_size=0.25",
            "facecolor": FILL[kind],
            "edgecolor": BORDER[kind],
            "linewidth": 1.3,
        },
        zorder=3,
    )


def _draw_tree(axes: Axes, parents: tuple[int, int], probability: float) -> None:
    axes.set(xlim=(-0.1, 3.1), ylim=(0.0, 3.7))
    axes.set_axis_off()
    _arrow(axes, ROOT_PLACE, ENTITY_PLACE)
    for j, parent in enumerate(parents):
        if parent == LINK:
            _arrow(axes, ENTITY_PLACE, SPAN_PLACES[j])
        else:
            # Below the boxes, which leave no room between them.
            start, end = SPAN_PLACES[parent], SPAN_PLACES[j]
            _arrow(axes, start, end, bend=0.5 if j > parent else -0.5)
    _node(axes, ROOT_PLACE, "root", "root")
    _node(axes, ENTITY_PLACE, ENTITIES[0], "entity")
    for place, text in zip(SPAN_PLACES, SPANS, strict=True):
        _node(axes, place, text, "span")
    axes.text(1.5, 0.08, f"{probability:.3f}", ha="center", va="bottom", fontsize=12, fontweight="bold", color=CHOSEN)


def draw() -> Figure:
    """The whole figure, on a white ground so that it reads on dark pages too."""
    single, annotation = probabilities()
    figure, panels = plt.subplots(1, len(TREES), figsize=(10, 4.1), facecolor="white")
    for axes, parents, probability in zip(panels, TREES, single, strict=True):
        _draw_tree(axes, parents, probability)
    total = " + ".join(f"{value:.3f}" for value in single)
    text = f"P({{{SPANS[0]}, {SPANS[1]}}} → {ENTITIES[0]})  =  {total}  =  {annotation:.3f}"
    figure.text(0.5, 0.055, text, ha="center", va="center", fontsize=12, color=INK)
    figure.text(0.5, 0.955, "three trees, one annotation", ha="center", va="center", fontsize=11, color=FAINT)
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.12, top=0.93, wspace=0.02)
    return figure


def main() -> int:
    """Writes docs/images/trees.svg; returns the exit status."""
    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "hf-corefel", "font.family": "DejaVu Sans"})
    figure = draw()
    figure.savefig(PATH, metadata={"Date": None})
    if len(sys.argv) > 1:  # a bitmap to look at
        figure.savefig(sys.argv[1], dpi=100)
    return 0


if __name__ == "__main__":
    sys.exit(main())
