"""Measure whether a model treats people alike whatever their pronoun, their work and where their name is from.

    python experiments/fairness.py --gap path/to/GAP --out experiments/results/fairness.json

- Jobs: short sentences with two people and a pronoun, like those of Winogender (Rudinger et al., 2018) but written for
  this purpose: is the pronoun joined with the person it means and not with the other, for he, she and they?
- Names: strangers of ten origins: is the whole name a mention, is the pronoun joined with it, is it linked to somebody?
- GAP (Webster et al., 2018), where it is given: F1 of pronoun and name, and the feminine F1 over the masculine one.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_corefel import AnnotatedDocument, Document
from hf_corefel.hub.score_tables import fairness_table
from hf_corefel.pipeline_corefel import load_pipeline
from hf_corefel.utils.files import whole_file

HERE = Path(__file__).parent
PRONOUNS = {
    "he": {"they": "he", "them": "him", "their": "his"},
    "she": {"they": "she", "them": "her", "their": "her"},
    "they": {"they": "they", "them": "them", "their": "their"},
}
OF_GENDER = {"female": "she", "male": "he"}
MASCULINE, FEMININE = {"he", "him", "his"}, {"she", "her", "hers"}

Span = tuple[int, int]
Annotate = Callable[[Sequence[str]], list[AnnotatedDocument]]


@dataclass(frozen=True)
class Text:
    """A text, where its people and its pronoun stand, and what groups it belongs to."""

    text: str
    spans: dict[str, Span]
    groups: dict[str, str]


def filled(template: str, values: dict[str, str], groups: dict[str, str]) -> Text:
    """Return a template with its fields filled, and where each of them stands; every field stands there once."""
    text, spans = "", {}
    for piece in template.split("{"):
        name, closed, rest = piece.partition("}")
        if not closed:
            text += name
            continue
        spans[name] = len(text), len(text) + len(values[name])
        text += values[name] + rest
    return Text(text, spans, groups)


def job_texts(content: dict[str, Any]) -> Iterator[Text]:
    """Yield every sentence with every job and pronoun; spans are ``job``, ``other`` and ``pronoun``."""
    for number, row in enumerate(content["job sentences"]):
        for kind, jobs in content["jobs"].items():
            for job in jobs:
                for name, forms in PRONOUNS.items():
                    groups = {"sentence": f"{number} {job}", "pronoun": name, "jobs": kind, "answer": row["answer"]}
                    text = filled(row["text"], {"job": job, **forms}, groups)
                    begin = text.text.index(row["other"])
                    text.spans["other"] = begin, begin + len(row["other"])
                    text.spans["pronoun"] = text.spans[next(form for form in forms if form in text.spans)]
                    yield text


def name_texts(content: dict[str, Any]) -> Iterator[Text]:
    """Yield every sentence with every name; spans are ``name`` and ``pronoun``."""
    for origin, names in content["names"].items():
        for gender, pronoun in OF_GENDER.items():
            for first, last in zip(names[gender], names["last"], strict=True):
                for template in content["name sentences"]:
                    values = {"name": f"{first} {last}", **PRONOUNS[pronoun]}
                    text = filled(template, values, {"origin": origin, "gender": gender})
                    form = next(form for form in PRONOUNS[pronoun] if form in text.spans)
                    text.spans["pronoun"] = text.spans[form]
                    yield text


def together(found: AnnotatedDocument, pronoun: Span, other: Span) -> bool:
    """Whether the pronoun is in one cluster with a mention that has text in common with another span."""

    def touches(offsets: Span) -> bool:
        return offsets != pronoun and offsets[0] < other[1] and other[0] < offsets[1]

    clusters = ([mention.offsets for mention in cluster.mentions] for cluster in found.clusters)
    return any(pronoun in offsets and any(map(touches, offsets)) for offsets in clusters)


@dataclass
class Count:
    """How many of how many."""

    right: int = 0
    total: int = 0

    def add(self, right: bool) -> None:
        """Count one more."""
        self.right, self.total = self.right + right, self.total + 1

    def to_dict(self) -> dict[str, int]:
        """Return both numbers."""
        return {"right": self.right, "total": self.total}


def jobs(annotate: Annotate, texts: Sequence[Text]) -> dict[str, Any]:
    """Count pronouns that are joined with the right person alone, by pronoun and by what is usual in a job.

    Returns:
        ``by_pronoun``, and ``answered``, joined with one of the two at all; ``usual`` and ``unusual``, sentences whose
        pronoun means the job and is that of most, or of few, who have it; and ``he_and_she_alike``, sentences with
        the same decision for both.
    """
    by_pronoun, answered = ({name: Count() for name in PRONOUNS} for _ in range(2))
    usual = {"usual": Count(), "unusual": Count()}
    decisions: dict[str, dict[str, frozenset[str]]] = {}
    for text, found in zip(texts, annotate([text.text for text in texts]), strict=True):
        pronoun = text.groups["pronoun"]
        joined = frozenset(n for n in ("job", "other") if together(found, text.spans["pronoun"], text.spans[n]))
        right = joined == {text.groups["answer"]}
        by_pronoun[pronoun].add(right)
        answered[pronoun].add(len(joined) == 1)
        decisions.setdefault(text.groups["sentence"], {})[pronoun] = joined
        if text.groups["answer"] == "job" and pronoun != "they":
            is_usual = (pronoun == "she") == (text.groups["jobs"] == "mostly women")
            usual["usual" if is_usual else "unusual"].add(right)
    alike = Count()
    for by_sentence in decisions.values():
        alike.add(by_sentence["he"] == by_sentence["she"])
    return {
        "by_pronoun": {name: count.to_dict() for name, count in by_pronoun.items()},
        "answered": {name: count.to_dict() for name, count in answered.items()},
        **{name: count.to_dict() for name, count in usual.items()},
        "he_and_she_alike": alike.to_dict(),
    }


def names(annotate: Annotate, texts: Sequence[Text]) -> dict[str, Any]:
    """Count by gender and by origin names that are a mention, pronouns joined with them, and names that are linked."""
    counts: dict[str, dict[str, dict[str, Count]]] = {"gender": {}, "origin": {}}
    for text, found in zip(texts, annotate([text.text for text in texts]), strict=True):
        name = text.spans["name"]
        owner = next((c for c in found.clusters if name in {m.offsets for m in c.mentions}), None)
        facts = {
            "found": owner is not None,
            "joined": together(found, text.spans["pronoun"], name),
            "linked": owner is not None and owner.entity is not None,
        }
        for kind, groups in counts.items():
            for fact, right in facts.items():
                groups.setdefault(text.groups[kind], {}).setdefault(fact, Count()).add(right)
    return {
        f"by_{kind}": {group: {fact: c.to_dict() for fact, c in facts.items()} for group, facts in groups.items()}
        for kind, groups in counts.items()
    }


def gap(annotate: Annotate, path: Path) -> dict[str, Any]:
    """Return counts and F1 of pronoun and name over all pairs of GAP's rows, by gender of the pronoun.

    A name counts as found where the cluster of the pronoun has a mention that has text in common with it.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    counts = {name: {"right": 0, "found": 0, "wanted": 0} for name in ("masculine", "feminine")}
    for row, found in zip(rows, annotate([row["Text"] for row in rows]), strict=True):
        pronoun = row["Pronoun"].lower()
        if pronoun not in MASCULINE | FEMININE:
            raise ValueError(f"{path}: {row['ID']}: {pronoun!r} is no pronoun that GAP has")
        gender = "masculine" if pronoun in MASCULINE else "feminine"
        place = _place(row, "Pronoun")
        for name in ("A", "B"):
            wanted, joined = row[f"{name}-coref"].upper() == "TRUE", together(found, place, _place(row, name))
            counts[gender]["right"] += wanted and joined
            counts[gender]["found"] += joined
            counts[gender]["wanted"] += wanted
    both = {key: counts["masculine"][key] + counts["feminine"][key] for key in ("right", "found", "wanted")}
    scores: dict[str, Any] = {name: {**c, "f1": _f1(c)} for name, c in {"all": both, **counts}.items()}
    masculine = scores["masculine"]["f1"]
    ratio = round(scores["feminine"]["f1"] / masculine, 4) if masculine else None
    return {"rows": len(rows), **scores, "feminine_over_masculine": ratio}


def _place(row: dict[str, str], name: str) -> Span:
    begin = int(row[f"{name}-offset"])
    return begin, begin + len(row[name])


def _f1(counts: dict[str, int]) -> float:
    total = counts["found"] + counts["wanted"]
    return round(2 * counts["right"] / total, 4) if total else 0.0


def measure(annotate: Annotate, gap_file: Path | None = None) -> dict[str, Any]:
    """Return everything that is measured, as plain data; the card of a model reads it from ``fairness.json``."""
    content = json.loads((HERE / "fairness_texts.json").read_text(encoding="utf-8"))
    scores: dict[str, Any] = {
        "jobs": jobs(annotate, list(job_texts(content))),
        "names": names(annotate, list(name_texts(content))),
    }
    if gap_file is not None:
        scores["gap"] = {"file": gap_file.name, **gap(annotate, gap_file)}
    return scores


def annotator(model: str | Path | None) -> Annotate:
    """Return what annotates texts, with all their mentions if the model knows that scope."""
    pipeline = load_pipeline(model)
    scope = "all" if "all" in (pipeline.processor.settings.mention_scopes or {}) else None

    def annotate(texts: Sequence[str]) -> list[AnnotatedDocument]:
        documents = [Document(text, str(number), mention_scope=scope) for number, text in enumerate(texts)]
        return list(pipeline.annotate(documents, batch_size=8))

    return annotate


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="folder or Hub id; the bundled checkpoint when left out")
    parser.add_argument("--gap", type=Path, help="GAP's file, or the folder of gap-development.tsv")
    parser.add_argument("--out", type=Path, help="where the numbers go, as JSON")
    options = parser.parse_args(arguments)
    file = options.gap / "gap-development.tsv" if options.gap and options.gap.is_dir() else options.gap
    scores = measure(annotator(options.model), file)
    print(fairness_table(scores))
    if options.out is not None:
        with whole_file(options.out) as place:
            place.write_text(json.dumps(scores, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
