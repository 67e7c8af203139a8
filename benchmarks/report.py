"""Write docs/performance.md from what run.py stored: ``python benchmarks/report.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "benchmarks" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"

GOES = """\
What the parts take by themselves. Targets that are missed are explained by these:

- **600 words**: the encoder is a small one of six layers, so that what stands beside it weighs more than beside one of
  SpanBERT's size, which meets its target. What is left are matrix products of trained layers over all spans of up to
  eight words and over pairs of the retained ones, and reading the text and looking up all spans.
- **10,000 words**: pairs of each span with 128 others.
- **Training step**: the scorers' layers again, forward and backward; nothing is pruned while a model learns.
- **2 × F-coref**: its forward pass takes less than twice the time of the encoder alone. Twice as fast as that would be
  faster than the encoder.
- **16 short texts as a batch**: on one thread the encoder itself gains nothing from reading them padded to one length,
  and here little from reading those of a length together.
- **`hf-corefel annotate`**: what is imported beyond torch and transformers are this package's own modules, several
  hundred small files; loading and the first call are the rest."""
TITLES = {
    "a": (
        "The whole pipeline",
        "Times as long as the encoder alone takes, which reads the same windows without overlap, one by one; and "
        "what a batch gains.",
    ),
    "b": (
        "Losses and decoding",
        "Times as long as here the published algorithm takes: dense determinants over all spans and entities in "
        "float64 with their gradient, and networkx's arborescence.",
    ),
    "c": (
        "Beside other models",
        "Documents a second by those of the other, which has the same encoder and random weights. Of F-coref only the "
        "forward pass and the best antecedents are counted; the pipeline here also tokenises, looks up candidates, "
        "links, and gives probabilities.",
    ),
    "d": ("A training step", "Times as long as the encoder's own."),
    "e": ("Starting", "Fresh processes, by what importing torch and transformers' classes alone takes."),
    "f": ("The knowledge base", "By what the encoder takes for a text of 600 words."),
    "g": ("Where the time goes", GOES),
}
HEAD = """# Performance

Ratios within one run, so that they mean the same on another machine: one thread, the least of several turns, in seconds
that the processor spent. Measured with Python {python}, torch {torch}, transformers {transformers}. This page is made
from `benchmarks/performance.json`:

```bash
python benchmarks/run.py      # measures; --only a,d for some of the tables
python benchmarks/report.py   # writes this page
```
"""


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a table in Markdown."""
    lines = ["| | beside | ratio | target |", "|---|---|---|---|"]
    lines += [f"| {row['what']} | {row['beside']} | {figure(row['ratio'])} | {row['target']} |" for row in rows]
    return "\n".join(lines)


def figure(ratio: float) -> str:
    """Return a ratio with three digits that count."""
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def page(stored: Mapping[str, Any]) -> str:
    """Return the page that stored figures make."""
    parts = [HEAD.format(**stored["versions"])]
    for letter, (title, said) in TITLES.items():
        if rows := stored["tables"].get(letter):
            parts.append(f"## {title}\n\n{said}\n\n{table(rows)}\n")
    return "\n".join(parts)


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(json.loads(STORED.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
