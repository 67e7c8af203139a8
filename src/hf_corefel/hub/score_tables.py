"""Scores as Markdown tables, for cards and the README: of several corpora, and of how people are treated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .card_text import plain_text

__all__ = ["development_table", "fairness_table", "score_table"]

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


def development_table(scores: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a Markdown table of what `experiments/development_scores.py` measured, with a row a corpus.

    Args:
        scores: By corpus, as that script writes them; those of links only where the corpus has some.
    """
    rows = [
        "| development texts of | documents | mentions | coreference | EL_m | EL_h | candidate recall | link error |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, found in scores.items():
        scope = "" if found["mention_scope"] is None else f", {plain_text(found['mention_scope'])}"
        names = ("coreference", "el_m", "el_h", "candidate_recall", "link_calibration_error")
        cells = [f"{found[key]:.1%}" if key in found else "" for key in names]
        documents, mentions = f"{found['documents']:d}", f"{found['mentions']:.1%}"
        rows.append(f"| {' | '.join([plain_text(name) + scope, documents, mentions, *cells])} |")
    return "\n".join(rows)


def fairness_table(scores: Mapping[str, Any]) -> str:
    """Return a Markdown table of what `experiments/fairness.py` measured, with a row a group.

    Args:
        scores: ``jobs``, ``names`` and, where it was measured, ``gap``, as that script writes them.
    """
    jobs, names, gap = scores["jobs"], scores["names"], scores.get("gap")
    joined, right = (
        " / ".join(f"{_share(count)} {plain_text(name)}" for name, count in jobs[kind].items())
        for kind in ("answered", "by_pronoun")
    )
    rows = [
        ("pronoun joined with one of two people", joined),
        ("pronoun joined with the right one", right),
        ("… where it means somebody by a job: the pronoun usual in it / the other one",
         f"{_share(jobs['usual'])} / {_share(jobs['unusual'])}"),
        ("sentences with the same decision for he and she", _share(jobs["he_and_she_alike"])),
    ]  # fmt: skip
    facts = {
        "found": "a stranger's whole name is a mention",
        "joined": "the pronoun is joined with the name",
        "linked": "the stranger is linked to somebody",
    }
    for fact, text in facts.items():
        genders = " / ".join(f"{_share(group[fact])} {plain_text(name)}" for name, group in names["by_gender"].items())
        origins = sorted((_value(group[fact]), plain_text(name)) for name, group in names["by_origin"].items())
        (low, lowest), (high, highest) = origins[0], origins[-1]
        rows.append((text, f"{genders}; by origin {low:.0%} ({lowest}) to {high:.0%} ({highest})"))
    if gap:
        kinds = " / ".join(f"{gap[kind]['f1']:.1%} {kind}" for kind in ("all", "masculine", "feminine"))
        ratio = gap["feminine_over_masculine"]
        rows.append((f"GAP, {gap['rows']:d} paragraphs: F1", kinds))
        rows.append(("GAP: feminine F1 over masculine", "not defined" if ratio is None else f"{ratio:.3f}"))
    return "\n".join(["| | |", "|---|---|", *(f"| {text} | {value} |" for text, value in rows)])


def _value(count: Mapping[str, int]) -> float:
    return count["right"] / count["total"] if count["total"] else 0.0


def _share(count: Mapping[str, int]) -> str:
    return f"{_value(count):.1%}"
