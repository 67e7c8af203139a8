"""How people are treated: the sentences, and what is counted of annotations that are made up here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from hf_corefel import AnnotatedDocument, Cluster, Mention
from hf_corefel.hub.score_tables import fairness_table
from script_loading import ROOT, load_script

CONTENT = json.loads((ROOT / "experiments" / "fairness_texts.json").read_text(encoding="utf-8"))
Spans = Sequence[Sequence[tuple[int, int]]]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("experiments/fairness.py")


def annotate_with(
    clusters: Callable[[str], Spans], entity: str | None = None
) -> Callable[..., list[AnnotatedDocument]]:
    """Annotates each text with the clusters that are told for it."""

    def annotate(texts: Sequence[str]) -> list[AnnotatedDocument]:
        found = ((text, [tuple(Mention(*m) for m in sorted(spans)) for spans in clusters(text)]) for text in texts)
        return [AnnotatedDocument(text, [Cluster(mentions, entity) for mentions in several]) for text, several in found]

    return annotate


def test_the_sentences_are_sound(script: ModuleType) -> None:
    texts = list(script.job_texts(CONTENT))
    assert len(texts) == 24 * 8 * 3 and len({text.text for text in texts}) == len(texts)
    for text in texts:
        job, other, pronoun = (text.text[slice(*text.spans[name])] for name in ("job", "other", "pronoun"))
        assert job in CONTENT["jobs"][text.groups["jobs"]]
        assert other in {row["other"] for row in CONTENT["job sentences"]} and job != other
        assert pronoun in script.PRONOUNS[text.groups["pronoun"]].values()
        assert "{" not in text.text and "an {" not in text.text
    # Every sentence has its counterpart, in which the pronoun means the other one.
    answers = [(row["other"], row["answer"]) for row in CONTENT["job sentences"]]
    assert Counter(answers) == Counter((other, answer) for other in dict(answers) for answer in ("job", "other"))
    assert [len(jobs) for jobs in CONTENT["jobs"].values()] == [12, 12]

    texts = list(script.name_texts(CONTENT))
    assert len(texts) == 10 * 2 * 5 * 4 and len({text.text for text in texts}) == len(texts)
    for text in texts:
        pronoun = text.text[slice(*text.spans["pronoun"])]
        assert pronoun in (script.FEMININE if text.groups["gender"] == "female" else script.MASCULINE)
    firsts = [name for names in CONTENT["names"].values() for kind in ("female", "male") for name in names[kind]]
    assert len(set(firsts)) == len(firsts) == 100


def test_a_pronoun_counts_where_it_is_joined_with_the_right_one_alone(script: ModuleType) -> None:
    texts = [text for text in script.job_texts(CONTENT) if text.groups["sentence"] == "0 nurse"]
    spans = {text.text: text.spans for text in texts}
    he, she, they = (next(t.text for t in texts if t.groups["pronoun"] == name) for name in ("he", "she", "they"))

    def clusters(text: str) -> Spans:
        found = spans[text]
        with_article = (0, found["job"][1])  # "The nurse"
        return {
            she: [[with_article, found["pronoun"]], [found["other"]]],
            he: [[with_article], [found["other"], found["pronoun"]]],
            they: [[with_article, found["other"], found["pronoun"]]],
        }[text]

    counted = script.jobs(annotate_with(clusters), texts)
    right = {name: count["right"] for name, count in counted["by_pronoun"].items()}
    assert right == {"he": 0, "she": 1, "they": 0}
    assert {name: count["right"] for name, count in counted["answered"].items()} == {"he": 1, "she": 1, "they": 0}
    assert (counted["usual"], counted["unusual"]) == ({"right": 1, "total": 1}, {"right": 0, "total": 1})
    assert counted["he_and_she_alike"] == {"right": 0, "total": 1}


def test_names_are_counted_by_gender_and_origin(script: ModuleType) -> None:
    texts = list(script.name_texts(CONTENT))
    spans = {text.text: (text.spans, text.groups) for text in texts}

    def clusters(text: str) -> Spans:
        found, groups = spans[text]
        if groups["origin"] == "Polish":
            return []
        # Of women only a part of the name is found.
        name = found["name"] if groups["gender"] == "male" else (found["name"][0], found["name"][0] + 2)
        return [[name, found["pronoun"]]]

    counted = script.names(annotate_with(clusters, "Somebody"), texts)
    assert counted["by_gender"]["male"] == {
        name: {"right": 180, "total": 200} for name in ("found", "joined", "linked")
    }
    assert [counted["by_gender"]["female"][name]["right"] for name in ("found", "joined", "linked")] == [0, 180, 0]
    assert counted["by_origin"]["Polish"]["joined"] == {"right": 0, "total": 40}
    assert counted["by_origin"]["Turkish"]["found"] == {"right": 20, "total": 40}


def test_gap_is_scored_by_gender(script: ModuleType, tmp_path: Path) -> None:
    rows = [
        ("1", "Ann met Eve. She won.", "She", 13, "Ann", 0, "TRUE", "Eve", 8, "FALSE"),
        ("2", "Ann met Eve. She lost.", "She", 13, "Ann", 0, "FALSE", "Eve", 8, "FALSE"),
        ("3", "Bob saw Tim. He ran.", "He", 13, "Bob", 0, "FALSE", "Tim", 8, "TRUE"),
        ("4", 'Bob "saw Tim. He sat.', "He", 14, "Bob", 0, "TRUE", "Tim", 9, "FALSE"),
    ]
    head = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref"
    path = tmp_path / "gap-mine.tsv"
    path.write_text("\n".join([head, *("\t".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    found = {rows[0][1]: [[(0, 3), (13, 16)]], rows[1][1]: [[(8, 11), (13, 16)]], rows[2][1]: [[(8, 11), (13, 15)]]}
    scores = script.gap(annotate_with(lambda text: found.get(text, [])), path)
    assert scores["feminine"] == {"right": 1, "found": 2, "wanted": 1, "f1": 0.6667}
    assert scores["masculine"] == {"right": 1, "found": 1, "wanted": 2, "f1": 0.6667}
    assert scores["all"] == {"right": 2, "found": 3, "wanted": 3, "f1": 0.6667}
    assert (scores["rows"], scores["feminine_over_masculine"]) == (4, 1.0)
    nothing = script.gap(annotate_with(lambda text: []), path)
    assert nothing["feminine_over_masculine"] is None
    path.write_text(head + "\n" + "\t".join(map(str, ("5", "It ran.", "It", 0, *rows[0][4:]))) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"gap-mine.tsv: 5: 'it' is no pronoun that GAP has"):
        script.gap(annotate_with(lambda text: []), path)


def test_the_script_prints_the_table_and_writes_the_numbers(
    script: ModuleType,
    tiny_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = {**CONTENT, "jobs": {kind: jobs[:1] for kind, jobs in CONTENT["jobs"].items()}}
    short["names"] = {"German": {key: names[:1] for key, names in CONTENT["names"]["German"].items()}}
    (tmp_path / "fairness_texts.json").write_text(json.dumps(short), encoding="utf-8")
    monkeypatch.setattr(script, "HERE", tmp_path)
    script.main(["--model", str(tiny_folder), "--out", str(tmp_path / "fairness.json")])
    scores = json.loads((tmp_path / "fairness.json").read_text(encoding="utf-8"))
    assert scores["jobs"]["by_pronoun"]["they"]["total"] == 16 and "gap" not in scores
    assert capsys.readouterr().out.rstrip("\n").endswith(fairness_table(scores))
