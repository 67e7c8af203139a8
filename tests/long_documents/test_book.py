"""A book of 100,000 words is read whole, in little memory; a name at its end meets its mates at the beginning."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

WORDS, EVERY = 100_000, 1_000
IN_PROCESS = """
import json, resource, sys
from hf_corefel.pipeline_corefel import load_pipeline
result = load_pipeline()(sys.stdin.read())
unit = 2**30 if sys.platform == "darwin" else 2**20
print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, result]))
"""


def _book(words: int) -> str:
    """A story of a woman who is called by her last name, once in a thousand words, and whose full name ends it."""
    sentences = [
        "The old house stood by the river, and nobody had lived in it for a long time.",
        "In the morning they walked down to the water with their baskets and their dogs.",
        "He said that the winter would be long and that the roads would soon be closed.",
        "There was bread on the table, and a lamp, and a letter that nobody had opened.",
        "She thought of the summer, when all the windows of the school had been open.",
    ]
    length = len(sentences[0].split())
    story: list[str] = []
    for number in range(words // length):
        story.append(sentences[number % len(sentences)])
        if number % (EVERY // length) == 3:
            story.append("Then Ocasio-Vanterpool came in from the rain and sat down.")
    story.append("On the grave they wrote the name of Philippa Ocasio-Vanterpool, who had lived here.")
    return " ".join(story)


def test_a_name_meets_its_mates_across_a_book() -> None:
    book = _book(WORDS)
    given = subprocess.run(
        [sys.executable, "-c", IN_PROCESS],
        input=book,
        capture_output=True,
        text=True,
        check=True,
        timeout=3_000,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    memory, result = json.loads(given.stdout.splitlines()[-1])
    assert memory < 4.0
    assert "was scored with 128 others" in result["warnings"][0]
    named = book.count("Ocasio-Vanterpool")
    texts = [[mention["text"] for mention in cluster["mentions"]] for cluster in result["clusters"]]
    clusters = [[text for text in cluster if "Vanterpool" in text] for cluster in texts]
    clusters = [cluster for cluster in clusters if cluster]
    assert len(clusters) == 1
    assert len(clusters[0]) == named > 90
    assert clusters[0][-1] == "Philippa Ocasio-Vanterpool"
