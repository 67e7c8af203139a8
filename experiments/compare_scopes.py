"""Compare what the scopes of names show of ordinary texts: names found, and dates, demonyms and roles beside them.

    python experiments/compare_scopes.py --model path/to/checkpoint --details

The texts in ``reading/scopes.txt`` were written for this purpose; names stand in square brackets, what a reader who
asks for people, places, organisations, works, products and events would not list stands in braces.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hf_corefel.pipeline_corefel import bundled_checkpoint, load_pipeline

TEXTS = Path(__file__).parent / "reading" / "scopes.txt"
SCOPES = ("named", "entities")

Offsets = tuple[int, int]


@dataclass(frozen=True)
class MarkedText:
    """A text, and the offsets of what is marked in it as a name and as something else."""

    text: str
    names: frozenset[Offsets]
    others: frozenset[Offsets]


def read_marked(content: str) -> MarkedText:
    """Return a text without its brackets and braces, and where what they hold stands."""
    text, found = "", {"[": set(), "{": set()}
    for part in re.split(r"(\[[^\]]*\]|\{[^}]*\})", content):
        if part[:1] in found:
            found[part[0]].add((len(text), len(text) + len(part) - 2))
            part = part[1:-1]
        text += part
    return MarkedText(text, frozenset(found["["]), frozenset(found["{"]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line for each scope."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=None, help="a checkpoint; the bundled one unless said here")
    parser.add_argument("--details", action="store_true", help="print the names that are missed and what is not a name")
    options = parser.parse_args(arguments)
    pipeline = load_pipeline(str(options.model or bundled_checkpoint()))
    texts = [read_marked(content) for content in TEXTS.read_text(encoding="utf-8").strip().split("\n\n")]
    names, others = sum(len(each.names) for each in texts), sum(len(each.others) for each in texts)
    print(f"{len(texts)} texts, {names} names, {others} dates, demonyms and roles\n")
    print(f"{'scope':<12}{'names found':>14}{'cut otherwise':>16}{'not names':>12}{'of what is shown':>19}")
    links = {}
    for scope in SCOPES:
        documents = pipeline.annotate([t.text for t in texts], mention_scope=scope)
        found = cut = noise = 0
        details = []
        links[scope] = {
            (number, mention.offsets, cluster.entity)
            for number, document in enumerate(documents)
            for cluster in document.clusters
            for mention in cluster.mentions
            if cluster.entity is not None
        }
        for marked, document in zip(texts, documents, strict=True):
            shown = {mention.offsets for cluster in document.clusters for mention in cluster.mentions}
            exact = shown & marked.names
            beside = {s for s in shown - exact if any(_overlap(s, name) for name in marked.names)}
            missed = {n for n in marked.names - exact if not any(_overlap(n, s) for s in shown)}
            other = shown - exact - beside
            found, cut, noise = found + len(exact), cut + len(marked.names - exact - missed), noise + len(other)
            details.append((sorted(marked.text[b:e] for b, e in missed), sorted(marked.text[b:e] for b, e in other)))
        share = noise / max(found + cut + noise, 1)
        print(f"{scope:<12}{found:>14}{cut:>16}{noise:>12}{share:>18.1%}")
        if options.details:
            for missing, more in details:
                print(f"    missed {', '.join(missing) or '-'}; not names {', '.join(more) or '-'}")
    counts = ", ".join(f"{scope} {len(found)}" for scope, found in links.items())
    print(f"\nlinked mentions: {counts}; the same in both {len(set.intersection(*links.values()))}")


def _overlap(one: Offsets, other: Offsets) -> bool:
    return one[0] < other[1] and other[0] < one[1]


if __name__ == "__main__":
    main()
