"""What the documentation site takes from the package when it is built: scores of its checkpoint, and fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hf_corefel.configuration.fields import FIELDS
from hf_corefel.hub.score_tables import development_table, score_table

ROOT = Path(__file__).resolve().parents[1]
SCORES = ROOT / "src" / "hf_corefel" / "checkpoints" / "minilm-l6" / "test_scores.json"
MORE_SCORES = SCORES.with_name("more_scores.json")
PLACES = tuple(f"<!-- scores:{name} -->" for name in ("headline", "all", "parts", "alias-table", "more", "pronouns"))

# Not every checkpoint was scored on development documents.
DEVELOPMENT = "<!-- scores:development -->"
DEVELOPMENT_SCORES = SCORES.with_name("development_scores.json")
# The model that is too large for the package, as `experiments/record_model.py` keeps it.
LARGE = "<!-- scores:large -->"
LARGE_MODEL = ROOT / "experiments" / "models" / "mpnet-base"
# What `hf-corefel calibrate --report` found of the bundled model on the development documents.
CALIBRATION = "<!-- scores:calibration -->"
CALIBRATION_REPORT = ROOT / "experiments" / "models" / "minilm-l6" / "calibration.json"
CONFIGURATION = "<!-- configuration-fields -->"
KNOWLEDGE_BASE = "<!-- scores:knowledge-base -->"
WIDENED = ROOT / "experiments" / "wide_knowledge_base.json"

_NAMES = {
    "muc": "MUC",
    "b_cubed": "B³",
    "ceaf_e": "CEAFₑ",
    "ceaf_m": "CEAFₘ",
    "lea": "LEA",
    "mention": "mention detection",
    "el_m": "EL_m, by mention",
    "el_h": "EL_h, by cluster",
    "el_s": "EL_s, by cluster, partly right ones in part",
}
# Shares that a file of scores may have; those of older versions lack some.
_PARTS = {
    "linked_clusters_found": {
        "singleton": "linked clusters of one mention, found exactly",
        "multi_mention": "linked clusters of several mentions, found exactly",
        "one_surface": "linked clusters of one surface form, found exactly",
        "several_surfaces": "linked clusters of several surface forms, found exactly",
    },
    "span_recall": {
        "enumerated": "mentions among the spans that the model looks at",
        "kept": "mentions among the spans that the pruner keeps",
    },
}


def _interval(scores: dict[str, Any], name: str) -> str:
    low, high = scores["interval_95"][name].split(" – ")
    return f"{float(low):.1%} – {float(high):.1%}"


def headline(scores: dict[str, Any]) -> str:
    """F1 with intervals, as a table."""
    linking = scores["entity_linking"]
    rows = (
        ("coreference (mean of MUC, B³, CEAFₑ)", scores["coreference"]["average_f1"], "coref_f1"),
        ("entity linking by mention (EL_m)", linking["el_m"]["f1"], "el_mention_f1"),
        ("entity linking by cluster (EL_h)", linking["el_h"]["f1"], "el_hard_f1"),
    )
    lines = ["| | F1 | 95 % |", "|---|---|---|"]
    lines += [f"| {name} | {value:.1%} | {_interval(scores, key)} |" for name, value, key in rows]
    hard = scores["hard_cases"]
    lines.append(f"| hard cases (accuracy on {hard['mentions']} mentions) | {hard['accuracy']:.1%} | |")
    return "\n".join(lines)


def _metrics(scores: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    for section in ("coreference", "entity_linking"):
        for name, values in scores[section].items():
            if isinstance(values, dict) and {"precision", "recall", "f1"} <= values.keys():
                yield _NAMES.get(name, name), values


def all_scores(scores: dict[str, Any]) -> str:
    """Precision, recall and F1 of every metric that was measured, as a table."""
    lines = ["| | precision | recall | F1 |", "|---|---|---|---|"]
    for name, values in _metrics(scores):
        lines.append(f"| {name} | {values['precision']:.1%} | {values['recall']:.1%} | {values['f1']:.1%} |")
    return "\n".join(lines)


def parts(scores: dict[str, Any]) -> str:
    """Shares of gold clusters and mentions that were found, as a table; empty when none was measured."""
    rows = [
        f"| {name} | {scores[section][key]:.1%} |"
        for section, names in _PARTS.items()
        for key, name in names.items()
        if key in scores.get(section, {})
    ]
    if not rows:
        return ""
    return "\n".join(["Shares of the gold annotation:", "", "| | found |", "|---|---|", *rows])


def alias_table(scores: dict[str, Any]) -> str:
    """How much the alias table gives away, in a sentence."""
    table = scores["alias_table"]
    return (
        f"{table['gold_share_of_spans_with_candidates']:.0%} of the spans of the {scores['documents']} test texts that "
        "have candidates in the table are gold mentions, so finding mentions is easier than it would be with a table "
        f"from elsewhere. {table['candidate_recall_of_linked_mentions']:.1%} of the linked test mentions have their "
        "entity among their own candidates."
    )


def pronouns(runs: list[dict[str, Any]]) -> str:
    """How many pronouns find their name, in a sentence; empty when that was not measured."""
    counts = next((run["pronouns"] for run in runs if "pronouns" in run and not run["given_mentions"]), None)
    if counts is None:
        return ""
    return (
        f"Under the scope `all`, {counts['resolved_to_a_name']:.1%} of the {counts['pronouns']} pronouns of the third "
        "person in GUM's test texts whose cluster has a name are in a cluster with such a name, and "
        f"{counts['linked_to_the_entity']:.1%} of the {counts['pronouns_of_linked_clusters']} whose cluster has an "
        "entity are linked to it."
    )


def large_model(folder: Path) -> str:
    """What `experiments/record_model.py` measured of a model, as tables."""
    test, more, development = (
        json.loads((folder / f"{name}_scores.json").read_text(encoding="utf-8"))
        for name in ("test", "more", "development")
    )
    return "\n\n".join([headline(test), score_table(more), development_table(development)])


def calibration_table(report: dict[str, Any]) -> str:
    """How far probabilities are off, by how much under a calibration, and under one of all other corpora, in points."""
    lines = [
        "| development texts of | decisions | number | right | before | calibrated | by the others | by chance |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for corpus, kinds in report["before"].items():
        for kind, found in kinds.items():
            if not found["decisions"]:
                continue
            errors = [report[part][corpus][kind] for part in ("before", "after", "held_out")]
            cells = [f"{100 * each['expected_calibration_error']:.1f}" for each in errors]
            chance = f"{100 * found['calibration_error_by_chance']:.1f}"
            number, right = f"{found['decisions']:,}", f"{found['accuracy']:.1%}"
            lines.append(
                f"| {corpus} | {kind.replace('_', ' ')} | {number} | {right} | {' | '.join(cells)} | {chance} |"
            )
    return "\n".join(lines)


def risk_table(report: dict[str, Any]) -> str:
    """Of the links that `min_probability` keeps, how many are wrong, corpus by corpus."""
    corpora = {name: kinds["links"] for name, kinds in report["after"].items() if kinds["links"]["decisions"]}
    lines = [f"| `min_probability` | {' | '.join(corpora)} |", "|---" * (len(corpora) + 1) + "|"]
    for row, first in enumerate(next(iter(corpora.values()))["risk_coverage"]):
        each = [links["risk_coverage"][row] for links in corpora.values()]
        cells = [f"{found['coverage']:.0%} kept, {_percent(found['risk'])} wrong" for found in each]
        lines.append(f"| {first['threshold']:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def configuration_fields() -> str:
    """The fields of a configuration with their defaults and ranges, and who reads them, as a table."""
    lines = ["| field | default | may be | read by | |", "|---|---|---|---|---|"]
    for name, field in FIELDS.items():
        readers = ", ".join(field.read_by)
        lines.append(
            f"| `{name}` | `{field.default!r}` | {field.expected} | {readers} | {field.doc.replace('|', '')} |"
        )
    return "\n".join(lines)


def knowledge_base_sources(steps: list[dict[str, Any]]) -> str:
    """What each source adds to the bundled knowledge base, and the recall after it, as a table."""
    parts = list(steps[0]["recall"])
    lines = [
        "| with | entities | surfaces | MB | " + " | ".join(parts) + " |",
        "|---|---|---|---|" + "---|" * len(parts),
    ]
    for step in steps:
        shares = [f"{known:.1%} / {proposed:.1%}" for known, proposed in step["recall"].values()]
        sizes = f"{step['entities']:,} | {step['surfaces']:,} | {step['bytes'] / 1e6:.1f}"
        lines.append(f"| {step['source']} | {sizes} | {' | '.join(shares)} |")
    return "\n".join(lines)


def filled(markdown: str) -> str:
    """A page with the tables in their places."""
    markdown = markdown.replace(CONFIGURATION, configuration_fields())
    if KNOWLEDGE_BASE in markdown:
        steps = json.loads(WIDENED.read_text(encoding="utf-8"))
        markdown = markdown.replace(KNOWLEDGE_BASE, knowledge_base_sources(steps))
    if DEVELOPMENT in markdown:
        found = json.loads(DEVELOPMENT_SCORES.read_text("utf-8")) if DEVELOPMENT_SCORES.is_file() else None
        markdown = markdown.replace(DEVELOPMENT, "Not measured yet." if found is None else development_table(found))
    if LARGE in markdown:
        markdown = markdown.replace(LARGE, large_model(LARGE_MODEL))
    if CALIBRATION in markdown:
        report = json.loads(CALIBRATION_REPORT.read_text(encoding="utf-8"))
        markdown = markdown.replace(CALIBRATION, f"{calibration_table(report)}\n\n{risk_table(report)}")
    if not any(place in markdown for place in PLACES):
        return markdown
    scores = json.loads(SCORES.read_text(encoding="utf-8"))
    more = json.loads(MORE_SCORES.read_text(encoding="utf-8"))
    tables = (
        headline(scores),
        all_scores(scores),
        parts(scores),
        alias_table(scores),
        score_table(more),
        pronouns(more),
    )
    for place, table in zip(PLACES, tables, strict=True):
        markdown = markdown.replace(place, table)
    return markdown


def on_page_markdown(markdown: str, **unused: Any) -> str:
    """Called by MkDocs for every page."""
    return filled(markdown)
