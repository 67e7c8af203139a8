"""Texts that a model's page and its Space offer to try."""

from __future__ import annotations

from ..utils.characters import printable
from .card_facts import CardFacts

__all__ = ["example_texts", "widget_examples"]

# Names and their short forms, and for models that look for every mention pronouns and a description.
_ENGLISH = (
    "Angela Merkel spoke in Berlin on Monday. Merkel will travel to Moscow, where she is to meet Vladimir Putin.",
    "Emmanuel Macron arrived in Warsaw on Monday. The French president praised his hosts before he left for Prague.",
    "The European Union would not change its offer to Britain. The EU and London have been talking for two years.",
)
_LONGEST_TITLE = 40


def example_texts(facts: CardFacts) -> list[str]:
    """Return the texts to try, each in one line: those of the facts, else our own if the model reads English."""
    own = _ENGLISH if facts.language == "en" else ()
    shown = map(printable, own if facts.examples is None else facts.examples)
    return [text for text in shown if text]


def widget_examples(facts: CardFacts) -> list[dict[str, str]]:
    """Return the value of ``widget`` in a card's metadata; a text's first words are what the Hub lists it by."""
    return [{"text": text, "example_title": _title(text)} for text in example_texts(facts)]


def _title(text: str) -> str:
    if len(text) <= _LONGEST_TITLE:
        return text
    beginning = text[:_LONGEST_TITLE]
    return f"{beginning.rpartition(' ')[0] or beginning}…"
