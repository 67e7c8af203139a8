"""Training passages with strangers, titles, other forms and ambiguous names, on a small world written for this test."""

from __future__ import annotations

import bz2
import json
import random
import re
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel import Cluster, Document, KnowledgeBase, Mention
from hf_corefel.formats import read_jsonl
from script_loading import load_script

TEXT = (
    "Chancellor Anna Berg met Carl Moss in Oslo.\n"
    "Later, Berg said no. On Friday night Moss met Berg's aunt. Oslo is cold."
)
NAMES = ["Anna Berg", "Carl Moss", "Chancellor", "Oslo", "Friday", "Berg", "Moss"]
THING_OF = {"Anna Berg": 0, "Berg": 0, "Carl Moss": 1, "Moss": 1, "Oslo": 2, "Chancellor": 3, "Friday": 4}
CONCEPTS = [
    {
        "text": "Anna Berg",
        "link": "Anna_Berg",
        "tags": ["type::entity", "type::person", "type::writer", "gender::female"],
    },
    {"text": "Carl Moss", "link": None, "tags": ["type::entity", "type::person", "gender::male"]},
    {"text": "Oslo", "link": "Oslo", "tags": ["type::entity", "type::gpe2"]},
    {"text": "Chancellor", "link": None, "tags": ["type::role"]},
    {"text": "Friday", "link": None, "tags": ["type::time"]},
]
ALIASES = [
    ("Anna Berg", [("Anna_Berg", 1.0)]),
    ("Lyon", [("Lyon", 0.9), ("Lyon_F.C.", 0.05), ("Lyon_River", 0.05)]),
    ("Paris", [("Paris", 1.0)]),
    ("Rome", [("Rome", 1.0)]),
    ("France", [("France", 1.0)]),
    ("BBC", [("BBC", 1.0)]),
    ("Berg", [("Bergen", 0.7), ("Anna_Berg", 0.3)]),
]


def mentions_of(text: str) -> list[tuple[int, int, str]]:
    taken: set[int] = set()
    found = []
    for name in NAMES:
        for match in re.finditer(rf"\b{name}\b", text):
            if not taken & set(range(*match.span())):
                taken |= set(range(*match.span()))
                found.append((*match.span(), name))
    return found


def annotated() -> Document:
    clusters = [
        Cluster(tuple(Mention(b, e, TEXT[b:e]) for b, e, name in mentions_of(TEXT) if THING_OF[name] == n), c["link"])
        for n, c in enumerate(CONCEPTS)
    ]
    return Document(TEXT, "DW_1", clusters=clusters, mention_scope="named")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("experiments/write_passages.py")


@pytest.fixture(scope="module")
def edits(script: ModuleType) -> ModuleType:
    return load_script("experiments/passage_edits.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("passages")
    for number in range(3):
        article = {
            "id": f"DW_{number}",
            "content": TEXT,
            "tags": ["all", "train"],
            "concepts": [{"concept": n, **concept} for n, concept in enumerate(CONCEPTS)],
            "mentions": [{"begin": b, "end": e, "text": m, "concept": THING_OF[m]} for b, e, m in mentions_of(TEXT)],
            "relations": [],
        }
        (folder / f"DW_{number}.json").write_text(json.dumps(article), encoding="utf-8")
    KnowledgeBase.build(ALIASES).save_pretrained(folder / "kb")
    return folder


def written(script: ModuleType, folder: Path, kind: str, *options: str) -> list[Document]:
    out = folder / f"{kind}.jsonl"
    data = ["--data-dir", str(folder)] if kind in ("stories", "honorifics", "forms") else []
    script.main(["--kind", kind, *data, "--out", str(out), *options])
    return list(read_jsonl(out))


def surfaces(document: Document) -> list[tuple[str | None, list[str]]]:
    return [(c.entity, [document.text[m.begin : m.end] for m in c.mentions]) for c in document.clusters or []]


def test_stories_annotate_each_name_and_link_no_stranger(script: ModuleType, folder: Path) -> None:
    found = written(script, folder, "stories", "--knowledge-base", str(folder / "kb"), "--count", "300")
    assert len(found) == 300
    # The longer list begins with the shorter one, before both are shuffled.
    again = written(script, folder, "stories", "--knowledge-base", str(folder / "kb"), "--count", "100")
    assert {document.text for document in again} < {document.text for document in found}
    assert {entity for d in found for entity, _ in surfaces(d)} == {None, "Anna_Berg", "Paris", "Rome", "France", "BBC"}
    for document in found:
        assert len(document.text.split()) <= 150
        assert not re.search(r"[{}|]", document.text)
        for entity, names in surfaces(document):
            if entity is None and document.mentions is None:
                assert all(name[0].isupper() or name.startswith(("de ", "van ")) for name in names), names
            if entity == "Anna_Berg":
                # By her last name alone nobody would know her.
                assert "Anna Berg" in names
        if document.mention_scope == "named":
            # Every word with a capital inside a sentence is in a mention, a title, "I", or quoted speech.
            covered = {i for c in document.clusters or [] for m in c.mentions for i in range(m.begin, m.end)}
            for word in re.finditer(r"(?<=[a-z,] )[A-Z][a-z]+\b(?!\.)", document.text):
                titles = ("Mr", "Mrs", "Dr", "Sir", "Dame", "Lord", "Lady", "Miss", "Herr", "Frau", "Fr", "Ask", "Yes")
                assert word.start() in covered or word.group() in titles, (word.group(), document.text)
        else:
            offsets = sorted(m.offsets for c in document.clusters or [] for m in c.mentions)
            assert document.mention_scope == "all" and document.mentions == offsets


def test_stories_use_no_name_and_no_words_of_the_measuring_texts(script: ModuleType, folder: Path) -> None:
    found = written(script, folder, "stories", "--knowledge-base", str(folder / "kb"), "--count", "400")
    reserved = script.reserved_names()
    assert {"Charlotte", "Lincoln", "Okello"} <= reserved
    people = {name for d in found for _, names in surfaces(d) for text in names for name in text.split()}
    assert people & (reserved - set(load_script("experiments/stories.py").ROLES)) == set()

    def fives(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}

    rows = [json.loads(x) for f in script.READING.glob("*.jsonl") for x in f.read_text(encoding="utf-8").splitlines()]
    measuring = {five for row in rows for five in fives(row.get("text") or row["plain"])}
    assert not measuring & {five for document in found for five in fives(document.text)}


def test_titles_stand_before_last_names_and_are_no_mentions(script: ModuleType, folder: Path) -> None:
    found = written(script, folder, "honorifics", "--copies", "20", "--words", "15", "60")
    # Every tenth article, hence the first, is for development.
    assert {document.id.split(".")[0] for document in found if document.id} == {"DW_1", "DW_2"}
    titles = set()
    for document in found:
        by_entity = dict(surfaces(document))
        assert set(by_entity["Anna_Berg"]) <= {"Anna Berg", "Berg"}
        assert "Mrs. Anna" not in document.text and "Chancellor Anna Berg" in document.text
        titles |= set(re.findall(r"(\S+) (?:Berg|Moss)\b", document.text)) - {"Anna", "Carl", "Later,", "met", "night"}
    assert titles == {"Mrs.", "Ms.", "Ms", "Dr.", "Prof.", "Mr.", "Mr"}


@pytest.mark.parametrize("kind", ["stories", "honorifics"])
def test_of_entities_roles_are_none(script: ModuleType, folder: Path, kind: str) -> None:
    more = ["--knowledge-base", str(folder / "kb"), "--count", "200"] if kind == "stories" else ["--copies", "20"]
    named, entities = (
        written(script, folder, kind, *more, "--mention-scope", scope) for scope in ("named", "entities")
    )
    roles = set(load_script("experiments/stories.py").ROLES)

    def found(documents: list[Document], scope: str) -> set[str]:
        return {n for d in documents if d.mention_scope == scope for _, names in surfaces(d) for n in names}

    assert {d.mention_scope for d in entities} - {"all"} == {"entities"}
    assert found(named, "named") & roles and not found(entities, "entities") & roles
    if kind == "stories":
        assert [d.text for d in named] == [d.text for d in entities]
        assert found(named, "named") - roles == found(entities, "entities")
    else:
        assert found(entities, "entities") == {"Anna Berg", "Berg", "Carl Moss", "Moss", "Oslo"}


def test_a_role_before_a_name_is_a_mention_as_elsewhere_in_the_corpus(script: ModuleType) -> None:
    document = annotated()
    offsets = [m.offsets for m in (document.clusters or [])[0].mentions]
    entity = script.replace_names.Entity({"person", "head_of_state"}, "female", (), mentions=offsets, link="Anna_Berg")
    drawn = [script.titled(document, [entity], TEXT, 0, random.Random(seed)) for seed in range(60)]
    roles = [d for d in drawn if d is not None and "President" in d.text]
    assert roles
    for changed in roles:
        assert (None, ["President"] * changed.text.count("President Berg")) in surfaces(changed)
        assert ("Anna_Berg", ["Anna Berg", "Berg", "Berg"]) in surfaces(changed)


@pytest.mark.parametrize("name", ["lower", "capitals", "headline", "wrapped", "blanks", "emphasis", "list"])
def test_other_forms_keep_every_name_where_it_is(edits: ModuleType, name: str) -> None:
    document = annotated()

    def letters(words: str) -> str:
        return "".join(filter(str.isalnum, words)).lower()

    for seed in range(20):
        changed = edits.FORMS[name][0](document, random.Random(seed))
        assert [(entity, [letters(n) for n in names]) for entity, names in surfaces(changed)] == [
            (entity, [letters(n) for n in names]) for entity, names in surfaces(document)
        ]
        if name not in ("list",):
            assert letters(changed.text) == letters(TEXT)
        assert changed.text != TEXT or name in ("wrapped", "blanks", "emphasis")


def test_forms_look_as_they_should(edits: ModuleType) -> None:
    document, rng = annotated(), random.Random(1)
    assert edits.lower_cased(document, rng).text == TEXT.lower()
    assert edits.in_capitals(document, rng).text == TEXT.upper()
    assert edits.with_headline(document, rng).text.startswith("CHANCELLOR ANNA BERG MET CARL MOSS IN OSLO.\nLATER")
    assert all(len(line) <= 84 for line in edits.wrapped(document, rng).text.splitlines())
    assert edits.as_list(document, rng).text.count("\n") == TEXT.count(".") - 1
    # A letter that would become two stays.
    assert edits.in_capitals(Document("Straße", clusters=[]), rng).text == "STRAßE"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_edits_move_mentions_along(script: ModuleType, data: st.DataObject) -> None:
    edits = load_script("experiments/passage_edits.py")
    document = annotated()
    taken = [m.offsets for c in document.clusters or [] for m in c.mentions]
    free = [i for i in range(len(TEXT)) if not any(b <= i < e for b, e in taken)]
    places = data.draw(st.lists(st.sampled_from(free), unique=True, max_size=8))
    changes = [edits.Edit(p, p + data.draw(st.integers(0, 1)), data.draw(st.text(max_size=3))) for p in places]
    assert surfaces(edits.edited(document, changes)) == surfaces(document)


def test_sentences_about_things_called_as_a_city_is(script: ModuleType, folder: Path) -> None:
    aliases = folder / "aliases.jsonl"
    aliases.write_text("".join(json.dumps(row) + "\n" for row in ALIASES), encoding="utf-8")
    options = ["--knowledge-base", str(folder / "kb"), "--aliases", str(aliases), "--count", "80"]
    found = written(script, folder, "kinds", *options)
    assert len(found) == 80
    assert {entity for d in found for entity, _ in surfaces(d)} == {"Lyon", "Lyon_F.C.", "Lyon_River"}
    for document in found:
        assert {name for _, names in surfaces(document) for name in names} == {"Lyon"}
        assert document.mentions and not re.search(r"[{}|]", document.text)
        if surfaces(document)[0][0] == "Lyon_River":
            assert "the lyon" in document.text.lower()


def test_what_wikipedia_says_of_an_ambiguous_name(script: ModuleType, folder: Path) -> None:
    texts = [
        (
            "Anna_Berg",
            "Anna Berg was a writer. She lived in France for long. Berg died in Bergen. Ann Marie Berg sang.",
        ),
        ("Lyon_River", "The Lyon River is long. It flows by. The city of Lyon is near."),
        ("France", "France is a country."),
    ]
    path = folder / "descriptions.jsonl"
    rows = [json.dumps({"entity": entity, "key": entity, "text": text}) for entity, text in texts]
    path.write_text("\n".join(rows), encoding="utf-8")
    options = ["--knowledge-base", str(folder / "kb"), "--descriptions", str(path)]
    found = written(script, folder, "context", *options)
    assert all(document.mentions and document.mention_scope == "named" for document in found)
    berg = [d for d in found if d.id and d.id.startswith("context.Anna_Berg")]
    assert berg and all(d.text.count("\u0001") == 0 for d in found)
    # Within a longer name the last name is no mention, and a place that hardly means anything else is given too.
    assert all(
        ("Anna_Berg", ["Berg"] * len(n)) in surfaces(d) for d in berg for e, n in surfaces(d) if e == "Anna_Berg"
    )
    assert any(("France", ["France"]) in surfaces(d) for d in berg)
    river = [surfaces(d) for d in found if d.id and d.id.startswith("context.Lyon_River")]
    # Where the whole title stood, and nowhere else.
    assert river and all(entity == "Lyon_River" and names == ["Lyon"] for x in river for entity, names in x[:1])
    # One candidate is no choice.
    assert not any(d.id and d.id.startswith("context.France") for d in found)


def test_links_of_a_dump(script: ModuleType, folder: Path) -> None:
    words = "and so on and on, with many more words about nothing, for a paragraph has at least fifteen of them."
    text = (
        f"== Club ==\n* [[Lyon]]\n'''It''' beat [[Lyon F.C.|Lyon]]<ref>x</ref> in {{{{convert|1}}}} [[France]] "
        f"{words}\n\n[[Lyon]] {words}"
    )
    page = f"<page><title>Cup</title><ns>0</ns><revision><text>{text.replace('<', '&lt;')}</text></revision></page>"
    path = folder / "dump.xml.bz2"
    path.write_bytes(
        bz2.compress(f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">{page}</mediawiki>'.encode())
    )
    found = written(script, folder, "context", "--knowledge-base", str(folder / "kb"), "--dump", str(path))
    # Only where a link is not to the likeliest entity is there something to learn.
    assert [(d.text.split(" and so")[0], surfaces(d)) for d in found] == [
        ("It beat Lyon in France", [("Lyon_F.C.", ["Lyon"]), ("France", ["France"])])
    ]


def test_a_kind_that_needs_the_knowledge_base_says_so(
    script: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        written(script, folder, "context")
    assert "--knowledge-base: it is needed" in capsys.readouterr().err
