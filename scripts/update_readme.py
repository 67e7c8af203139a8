"""Writes what the demo prints and what the bundled checkpoint scores into README.md: `make readme`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hf_corefel.hub.score_tables import score_table

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
SCORES = ROOT / "src" / "hf_corefel" / "checkpoints" / "minilm-l6" / "test_scores.json"
MORE_SCORES = SCORES.with_name("more_scores.json")
ARGUMENTS = ("annotate", "examples/data/news.txt")
DEMO = "<!-- demo:begin -->\n```text\n", "```\n<!-- demo:end -->"
RESULTS = "<!-- results:begin -->\n", "<!-- results:end -->"

TABLE = """\
The bundled checkpoint on DWIE test, end to end from the text alone ({documents} of the 100 articles have mentions;
micro, 95 % bootstrap intervals over documents), as printed by `hf-corefel evaluate path/to/DWIE`:

| | F1 | 95 % |
|---|---|---|
| coreference (mean of MUC, B³, CEAFₑ) | {coref:.1%} | {coref_interval} |
| entity linking by mention (EL_m) | {el_m:.1%} | {el_m_interval} |
| entity linking by cluster (EL_h) | {el_h:.1%} | {el_h_interval} |
| hard cases (accuracy on {hard_mentions} mentions) | {hard:.1%} | |

The alias table comes from the candidate lists that DWIE publishes for all of its articles, the test articles among
them, from AIDA's training mentions, from titles, and from wider public sources (see
[Results](docs/results.md#what-the-knowledge-base-knows)); common words have candidates too: {share:.0%} of the spans
that have candidates are gold mentions. {recall:.1%} of the linked test mentions have their entity among their own
candidates.
The paper's SpanBERT-base model reaches 94.7 / 90.7 / 83.9 (coreference / EL_m / EL_h) with an encoder five times the
size.

Other corpora and other ways (F1), with `--mention-scope`, `--given-mentions` and `--knowledge-base` of
`hf-corefel evaluate`. Candidate recall is the share of linked gold mentions that have their entity among their own
candidates, gold share that of spans with candidates that are gold mentions:

{more}
"""


def demo_output() -> str:
    """What ``hf-corefel annotate examples/data/news.txt`` prints when its output is piped.

    Raises:
        subprocess.CalledProcessError: When the command fails; its errors are shown on standard error.
    """
    command = [sys.executable, "-m", "hf_corefel.cli", *ARGUMENTS]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, timeout=300)
    return done.stdout.decode("utf-8")


def results_table(scores: dict[str, Any], more: list[dict[str, Any]]) -> str:
    """The tables of a checkpoint's scores, from what ``hf-corefel evaluate --out`` wrote."""

    def interval(name: str) -> str:
        low, high = scores["interval_95"][name].split(" – ")
        return f"{float(low):.1%} – {float(high):.1%}"

    return TABLE.format(
        documents=scores["documents"],
        coref=scores["coreference"]["average_f1"],
        el_m=scores["entity_linking"]["el_m"]["f1"],
        el_h=scores["entity_linking"]["el_h"]["f1"],
        coref_interval=interval("coref_f1"),
        el_m_interval=interval("el_mention_f1"),
        el_h_interval=interval("el_hard_f1"),
        hard=scores["hard_cases"]["accuracy"],
        hard_mentions=scores["hard_cases"]["mentions"],
        share=scores["alias_table"]["gold_share_of_spans_with_candidates"],
        recall=scores["alias_table"]["candidate_recall_of_linked_mentions"],
        more=score_table(more),
    )


def block(readme: str, markers: tuple[str, str]) -> str:
    """What stands between two markers of the README.

    Raises:
        ValueError: When a marker is missing or stands there twice.
    """
    begin, end = markers
    if readme.count(begin) != 1 or readme.count(end) != 1:
        raise ValueError(f"{README.name} needs exactly one {begin!r} and one {end!r}")
    return readme.split(begin)[1].split(end)[0]


def with_block(readme: str, markers: tuple[str, str], content: str) -> str:
    """The README with ``content`` in place of the block, trailing blanks removed; raises like `block`."""
    begin, end = markers
    lines = "".join(f"{line.rstrip()}\n" for line in content.rstrip().splitlines())
    return readme.replace(f"{begin}{block(readme, markers)}{end}", f"{begin}{lines}{end}")


def main() -> int:
    """Updates the file; returns the exit status."""
    readme = with_block(README.read_text(encoding="utf-8"), DEMO, demo_output())
    scores = json.loads(SCORES.read_text(encoding="utf-8"))
    more = json.loads(MORE_SCORES.read_text(encoding="utf-8"))
    README.write_text(with_block(readme, RESULTS, results_table(scores, more)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
