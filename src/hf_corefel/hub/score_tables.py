"""Scores of several corpora and settings as one table, for cards and the README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .card_text import plain_text

__all__ = ["score_table"]

_HEADER = (
    "| corpus | mentions | given | coreference | EL_m | EL_h | hard cases | candidate recall | gold share |",
    "|---|---|---|---|---|---|---|---|---|",
)


def score_table(runs: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table with a row a run.

    Args:
        runs: What `hf_corefel.evaluation.evaluate_corpus` returned, and ``table`` where the knowledge base was not the
            model's own.
    """
    return "\n".join([*_HEADER, *map(_row, runs)])


def _row(run: Mapping[str, Any]) -> str:
    table, hard = run["alias_table"], run["hard_cases"]
    note = f", {plain_text(run['table'])}" if run.get("table") else ""
    given = bool(run.get("given_mentions"))
    share = "" if given else f"{table['gold_share_of_spans_with_candidates']:.0%}"
    cells = (
        f"{plain_text(run.get('corpus', 'DWIE'))} {plain_text(run.get('split', 'test'))}{note}",
        plain_text(run.get("mention_scope", "named")),
        "yes" if given else "",
        f"{run['coreference']['average_f1']:.1%}",
        f"{run['entity_linking']['el_m']['f1']:.1%}",
        f"{run['entity_linking']['el_h']['f1']:.1%}",
        f"{hard['accuracy']:.1%} of {hard['mentions']:d}",
        f"{table['candidate_recall_of_linked_mentions']:.1%}",
        share,
    )
    return f"| {' | '.join(cells)} |"
