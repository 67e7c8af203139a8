"""The metric's Space: two fields for JSON, and the scores."""

from __future__ import annotations

import json
from pathlib import Path

import evaluate
import gradio

METRIC = evaluate.load(str(Path(__file__).with_name("coref_el.py")))
REFERENCES = [
    [
        {"mentions": [[0, 4], [20, 22]], "entity": "Oslo"},
        {"mentions": [[9, 13]], "entity": ""},
    ]
]
PREDICTIONS = [[{"mentions": [[0, 4], [20, 22]], "entity": "Oslo"}]]


def score(predictions: str, references: str) -> dict[str, float]:
    """The scores of documents given as JSON; what is wrong with them is shown to the visitor."""
    try:
        return METRIC.compute(predictions=json.loads(predictions), references=json.loads(references))
    except ValueError as error:  # also what json raises
        raise gradio.Error(str(error)) from error


page = gradio.Interface(
    fn=score,
    inputs=[
        gradio.Textbox(json.dumps(PREDICTIONS, indent=1), label="predictions", lines=12),
        gradio.Textbox(json.dumps(REFERENCES, indent=1), label="references", lines=12),
    ],
    outputs=gradio.JSON(label="scores"),
    title="Metric: coref_el",
    description=METRIC.description,
    # The card's first lines are settings of the Space.
    article=Path(__file__).with_name("README.md").read_text(encoding="utf-8").split("---\n", 2)[-1],
)

if __name__ == "__main__":
    page.launch()
