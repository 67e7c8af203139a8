"""A page where visitors annotate a text: mentions in the colours of their clusters, each cluster with its entity."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from hf_corefel.pipeline_corefel import load_pipeline

# Which model, and what the page says; see README.md.
SETTINGS: dict[str, Any] = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
SCOPES = {"named": "names, with dates, demonyms and roles", "all": "all mentions", "entities": "names of entities"}
# Visitors share one machine. Of texts of this length all is shown, and no text written with blanks has more spans.
MAX_CHARACTERS = 5_000
MAX_KEPT_SPANS = 500
MAX_WAITING = 20

annotate = load_pipeline(SETTINGS["model"], revision=SETTINGS["revision"])
reading = annotate.processor.settings
scopes = [(label, name) for name, label in SCOPES.items() if name in reading.scope_names]


def show(text: str, min_probability: float = 0.0, scope: str | None = None) -> tuple[str, str]:
    """Return a text's annotation as HTML, in which everything of the text is escaped, and as JSON.

    Args:
        text: The visitor's text.
        min_probability: Links and mentions that are less probable are taken out.
        scope: Which mentions are looked for; the model's default when None.

    Raises:
        gr.Error: What is wrong with the text or an option; the page shows it.
    """
    if len(text) > MAX_CHARACTERS:
        raise gr.Error(f"The text has {len(text):,} characters; here it may have {MAX_CHARACTERS:,}.")
    try:
        (document,) = annotate.annotate(
            [text],
            evidence=True,
            top_k=3,
            min_probability=min_probability,
            mention_scope=scope,
            max_kept_spans=MAX_KEPT_SPANS,
        )
    except (TypeError, ValueError) as error:
        raise gr.Error(escape(str(error), quote=False)) from error
    return document._repr_html_(), json.dumps(document.to_dict(), ensure_ascii=False, indent=2)


def page() -> gr.Blocks:
    """Return the page, with the annotation of its first example."""
    examples = [text for text in SETTINGS["examples"] if len(text) <= MAX_CHARACTERS]
    first = examples[0] if examples else ""
    scope = reading.default_scope
    html, annotation = show(first, scope=scope)
    with gr.Blocks(title=SETTINGS["title"], analytics_enabled=False) as blocks:
        gr.HTML(f"<h1>{escape(SETTINGS['title'])}</h1>")
        with gr.Row():
            with gr.Column(scale=3):
                text = gr.Textbox(first, label="Text", lines=7, max_lines=20)
            with gr.Column(scale=1, min_width=240):
                least = gr.Slider(0.0, 1.0, 0.0, step=0.05, label="Least probability of links and mentions")
                options = [gr.Radio(scopes, value=scope, label="Mentions")] if scopes else []
                button = gr.Button("Annotate", variant="primary")
        if len(examples) > 1:
            gr.Examples(examples, text, cache_examples=False)
        # Gradio's own rules for prose would move the mentions apart.
        shown = gr.HTML(html, apply_default_css=False)
        with gr.Accordion("JSON", open=False):
            # The browser saves it: no visitor's text becomes a file of this machine.
            saved = gr.Code(annotation, language="json", max_lines=30, interactive=False, buttons=["copy", "download"])
        inputs, outputs = [text, least, *options], [shown, saved]
        button.click(show, inputs, outputs, api_name="annotate", concurrency_limit=1)
    blocks.queue(max_size=MAX_WAITING)
    return blocks


demo = page()

if __name__ == "__main__":
    demo.launch(run_history=False)
