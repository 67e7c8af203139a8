from __future__ import annotations

from pathlib import Path

import pytest

from hf_corefel import Document, Turn
from hf_corefel.corpora import CorpusError, gum_splits, read_gum

GLOBAL = "# global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity"


def row(number: int | str, form: str, pos: str = "NOUN", misc: str = "_") -> str:
    return "\t".join((str(number), form, "_", pos, "_", "_", "_", "_", "_", misc))


def opening(group: str, minspan: str = "1", identity: str = "", etype: str = "person") -> str:
    return f"({group}-{etype}-giv:act-nnnnn-cf1*-{minspan}-coref" + (f"-{identity}" if identity else "")


# The mayor of Bergen's isn't Mira Holt-Moen, she said.
HEAD = [
    "# newdoc id = GUM_news_mayor",
    GLOBAL,
    "# newpar",
    "# newpar_block = head (1 s)",
    "# sent_id = GUM_news_mayor-1",
    "# text = Bergen’s Mayor",
    row("1-2", "Bergen’s"),
    row(1, "Bergen", "PROPN", f"Entity={opening('2', '3', etype='person')}{opening('5', '1', 'Bergen%2C_Norway')})"),
    row(2, "’s", "PART"),
    row(3, "Mayor", "NOUN", "Entity=2)"),
    "",
]
BODY = [
    "# newpar",
    "# sent_id = GUM_news_mayor-2",
    "# text = She isn't Mira Holt-Moen.",
    row(1, "She", "PRON", f"Entity={opening('2')})"),
    row("2-3", "isn't"),
    row(2, "is", "AUX"),
    row(3, "not", "PART"),
    row("3.1", "really", "ADV", "CopyOf=2|Entity=(99-ignored)"),
    row(4, "Mira", "PROPN", f"Bridge=2<7|Entity={opening('7', '1,2,4', 'Mira_Holt%2DMoen')}{opening('8', '1')})"),
    row(5, "Holt", "PROPN", f"Entity={opening('8', '1')}|SpaceAfter=No"),
    row(6, "-", "PUNCT", "SpaceAfter=No"),
    row(7, "Moen", "PROPN", "SpaceAfter=No|Entity=8)7)|SplitAnte=2<7"),
    row(8, ".", "PUNCT"),
    "",
    "# sent_id = GUM_news_mayor-3",
    "# text = Holt agrees",
    row(1, "Holt", "PROPN", f"Entity={opening('7')})"),
    row(2, "agrees", "VERB"),
]
TEXT = "Bergen’s Mayor\nShe isn't Mira Holt-Moen. Holt agrees"


def simple(name: str = "GUM_x", form: str = "Oslo", entity: str = f"Entity={opening('1', '1', 'Oslo')})") -> list[str]:
    return [f"# newdoc id = {name}", f"# text = {form}", row(1, form, "PROPN", entity), ""]


def write(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def clusters(document: Document) -> list[tuple[str | None, list[str]]]:
    return [(c.entity, [m.text or "" for m in c.mentions]) for c in document.clusters or []]


def test_the_mention_scope_is_taken_under_its_old_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", HEAD + BODY)
    with pytest.warns(DeprecationWarning, match="read_gum: the argument mentions is now mention_scope"):
        old = list(read_gum(path, mentions="named"))  # type: ignore[call-arg]
    assert old == list(read_gum(path, mention_scope="named"))
    with pytest.raises(TypeError, match="give one of them"):
        read_gum(path, mentions="named", mention_scope="named")  # type: ignore[call-arg]


def test_text_words_and_clusters(tmp_path: Path) -> None:
    (document,) = read_gum(write(tmp_path / "GUM_news_mayor.conllu", HEAD + BODY))
    assert (document.layers.mentions, document.layers.clusters, document.layers.links) == ("all", True, "some")
    assert (document.id, document.text) == ("GUM_news_mayor", TEXT)
    # The parts of "isn't" do not spell it, so that it is one word; those of "Bergen’s" do.
    assert [TEXT[begin:end] for begin, end in document.words or []] == [
        *("Bergen", "’s", "Mayor", "She", "isn't", "Mira", "Holt", "-", "Moen", ".", "Holt", "agrees"),
    ]
    assert clusters(document) == [
        ("Bergen,_Norway", ["Bergen"]),
        (None, ["Bergen’s Mayor", "She"]),
        (None, ["Mira", "Holt-Moen"]),
        ("Mira_Holt-Moen", ["Mira Holt-Moen", "Holt"]),
    ]


def test_named_mentions_have_a_proper_noun_in_their_head(tmp_path: Path) -> None:
    (document,) = read_gum(write(tmp_path / "a.conllu", HEAD + BODY), mention_scope="named")
    assert clusters(document) == [
        ("Bergen,_Norway", ["Bergen"]),
        (None, ["Mira", "Holt-Moen"]),
        ("Mira_Holt-Moen", ["Mira Holt-Moen", "Holt"]),
    ]
    with pytest.raises(ValueError, match="mention_scope must be 'all' or 'named'; got 'some'"):
        next(read_gum(tmp_path, mention_scope="some"))  # type: ignore[arg-type]


def test_a_cluster_keeps_the_entity_of_mentions_that_are_not_named(tmp_path: Path) -> None:
    rows = [
        row(1, "It", "PRON", f"Entity={opening('1', '1', 'Oslo')})"),
        row(2, "Oslo", "PROPN", f"Entity={opening('1')})"),
    ]
    (document,) = read_gum(write(tmp_path / "a.conllu", rows), mention_scope="named")
    assert (document.id, clusters(document)) == ("a", [("Oslo", ["Oslo"])])


def test_overlapping_and_nested_mentions(tmp_path: Path) -> None:
    lines = [
        row(1, "a", misc=f"Entity={opening('1')}{opening('1')}"),
        row(2, "b", misc=f"Entity={opening('2')}"),
        row(3, "c", misc="Entity=1)"),
        row(4, "d", misc="Entity=2)1)"),
        "",
        row(1, "e", misc=f"Entity={opening('3')}"),
        "",
        row(1, "f", misc="Entity=3)"),
    ]
    (document,) = read_gum(write(tmp_path / "a.conllu", lines))
    assert document.text == "a b c d e f"
    assert clusters(document) == [(None, ["a b c", "a b c d"]), (None, ["b c d"]), (None, ["e f"])]


def test_a_mention_that_cuts_a_word_takes_all_of_it(tmp_path: Path) -> None:
    lines = [row("1-2", "don't"), row(1, "do", misc=f"Entity={opening('1')})"), row(2, "not"), row(3, "go")]
    (document,) = read_gum(write(tmp_path / "a.conllu", lines))
    assert clusters(document) == [(None, ["don't"])]
    # Cut off at the end of its sentence.
    (document,) = read_gum(write(tmp_path / "b.conllu", [row("1-3", "ab"), row(1, "a"), row(2, "b"), "", row(1, "c")]))
    assert (document.text, document.words) == ("ab c", [(0, 1), (1, 2), (3, 4)])


def test_a_sentence_that_ends_without_a_space(tmp_path: Path) -> None:
    lines = [row(1, "a", misc="SpaceAfter=No"), "", row(1, "b", misc="SpaceAfter=No"), "", "# newpar", row(1, "c")]
    (document,) = read_gum(write(tmp_path / "a.conllu", lines))
    assert document.text == "ab\nc"


def test_sentences_of_one_speaker_are_one_turn(tmp_path: Path) -> None:
    speakers = ["AnnaBerg", "AnnaBerg", "Ben", None, "Ben"]
    lines = []
    for number, speaker in enumerate(speakers):
        lines += [*(["# newpar"] if number == 2 else []), *([f"# speaker = {speaker}"] if speaker else [])]
        lines += [row(1, "ab"), row(2, "c"), ""]
    (document,) = read_gum(write(tmp_path / "talk.conllu", lines))
    assert document.text == "ab c ab c\nab c ab c ab c"
    assert document.speakers == [Turn(0, 9, "Anna Berg"), Turn(10, 14, "Ben"), Turn(20, 24, "Ben")]
    (silent,) = read_gum(write(tmp_path / "silent.conllu", [row(1, "ab")]))
    assert silent.speakers is None


def test_several_documents_in_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "all.conllu", [*simple("GUM_a", "Oslo"), *simple("GUM_b", "Bergen")])
    assert [(d.id, d.text) for d in read_gum(path)] == [("GUM_a", "Oslo"), ("GUM_b", "Bergen")]
    with pytest.raises(ValueError, match="split must be 'all' for a single file; got 'dev'"):
        next(read_gum(path, "dev"))


def test_masked_documents_are_left_out_with_a_warning(tmp_path: Path) -> None:
    write(tmp_path / "GUM_a.conllu", simple("GUM_a", "Oslo"))
    write(tmp_path / "GUM_reddit_b.conllu", simple("GUM_reddit_b", "____"))
    with pytest.warns(UserWarning, match=r"skipped: .*GUM_reddit_b\.conllu: GUM_reddit_b is masked"):
        assert [d.id for d in read_gum(tmp_path)] == ["GUM_a"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name in ("GUM_c", "GUM_a", "GUM_b"):
        write(tmp_path / "dep" / f"{name}.conllu", simple(name))
    listing = [
        "# Splits",
        "",
        "## dev",
        "",
        "  * GUM_b",
        "",
        "## test2",
        "  * GENTLE_z",
        "## train",
        "* GUM_c",
        "* GUM_a",
    ]
    write(tmp_path / "splits.md", listing)
    return tmp_path


def test_splits(corpus: Path) -> None:
    def names(folder: Path, split: str) -> list[str | None]:
        return [document.id for document in read_gum(folder, split)]

    assert gum_splits(corpus / "splits.md") == {"dev": ["GUM_b"], "test2": ["GENTLE_z"], "train": ["GUM_c", "GUM_a"]}
    for folder in (corpus, corpus / "dep"):
        assert names(folder, "train") == ["GUM_a", "GUM_c"]
        assert names(folder, "dev") == ["GUM_b"]
        assert names(folder, "all") == ["GUM_a", "GUM_b", "GUM_c"]
    with pytest.raises(ValueError, match="split must be one of dev, test2, train, all; got 'test'"):
        names(corpus, "test")


def test_files_that_are_missing(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"GENTLE_z\.conllu: no such file, but .*splits\.md has it in test2"):
        list(read_gum(corpus, "test2"))
    with pytest.warns(UserWarning, match=r"GENTLE_z\.conllu: no such file"):
        assert list(read_gum(corpus, "test2", strict=False)) == []
    (corpus / "splits.md").unlink()
    with pytest.raises(CorpusError, match=r"no splits\.md here, which says what belongs to 'dev'"):
        list(read_gum(corpus, "dev"))
    with pytest.raises(CorpusError, match=r"no CoNLL-U files \(\*\.conllu\) here"):
        list(read_gum(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1\tOslo", "expected 10 columns, got 2"),
        (row("x", "Oslo"), "column 1: expected a token number, got 'x'"),
        (row(1, " "), "column 2: the form is empty"),
        (row(1, "Bergen"), "the tokens give 'Bergen', not this text"),
    ],
)
def test_files_that_are_no_conllu(tmp_path: Path, line: str, message: str) -> None:
    write(tmp_path / "a.conllu", ["# text = Oslo", line])
    write(tmp_path / "b.conllu", simple("b"))
    with pytest.raises(CorpusError, match=rf"a\.conllu:[12]: {message}"):
        list(read_gum(tmp_path))
    with pytest.warns(UserWarning, match=rf"skipped: .*a\.conllu:[12]: {message}"):
        assert [d.id for d in read_gum(tmp_path, strict=False)] == ["b"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("(1-person-new-nnnnn-cf1", r"expected GRP-etype-.*-identity, the last optional, got '\(1-person"),
        ("1)", r"1\) closes no mention"),
        (opening("1"), "mention of group 1 is not closed"),
        ("1)2", r"unreadable brackets in Entity=1\)2"),
        ("1", "unreadable brackets in Entity=1"),
    ],
)
def test_malformed_brackets_say_where_or_lose_their_mention(tmp_path: Path, value: str, message: str) -> None:
    good = row(2, "Bergen", "PROPN", f"Entity={opening('2')})")
    path = write(tmp_path / "a.conllu", [row(1, "Oslo", "PROPN", f"Entity={value}"), good])
    with pytest.raises(CorpusError, match=rf"a\.conllu:1: {message}"):
        list(read_gum(path))
    with pytest.warns(UserWarning, match=rf"a\.conllu:1: {message}"):
        (document,) = read_gum(path, strict=False)
    assert (document.text, clusters(document)) == ("Oslo Bergen", [(None, ["Bergen"])])


@pytest.mark.parametrize("minspan", ["2", "0", "a", ""])
def test_a_head_outside_its_mention(tmp_path: Path, minspan: str) -> None:
    path = write(tmp_path / "a.conllu", simple(entity=f"Entity={opening('1', minspan)})"))
    assert clusters(next(read_gum(path))) == [(None, ["Oslo"])]
    with pytest.raises(CorpusError, match=rf"a\.conllu:3: minspan '{minspan}' of a mention of 1 tokens"):
        list(read_gum(path, mention_scope="named"))
    with pytest.warns(UserWarning, match="mention dropped: .*minspan"):
        assert clusters(next(read_gum(path, mention_scope="named", strict=False))) == []


def test_two_entities_of_a_cluster(tmp_path: Path) -> None:
    rows = [row(n, "x", misc=f"Entity={opening('1', '1', name)})") for n, name in enumerate(("Oslo", "Bergen"), 1)]
    path = write(tmp_path / "a.conllu", rows)
    with pytest.raises(CorpusError, match=r"a\.conllu:2: group 1 is 'Bergen' here and 'Oslo' before"):
        list(read_gum(path))
    with pytest.warns(UserWarning, match="ignored: .*group 1 is 'Bergen'"):
        assert clusters(next(read_gum(path, strict=False))) == [("Oslo", ["x", "x"])]


def test_mentions_in_parts_are_left_out_with_a_warning(tmp_path: Path) -> None:
    first, second = (f"({f'1[{n}/2]'}-person-new-nnnnn-cf1-1-coref)" for n in (1, 2))
    lines = [
        row(1, "both", misc=f"Entity={first}{opening('2')})"),
        row(2, "and"),
        row(3, "all", misc=f"Entity={second}"),
    ]
    with pytest.warns(UserWarning, match=r"dropped: .*a\.conllu:[13]: part of a mention") as caught:
        (document,) = read_gum(write(tmp_path / "a.conllu", lines))
    assert len(caught) == 2
    assert clusters(document) == [(None, ["both"])]


def test_one_span_in_two_clusters(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", simple(entity=f"Entity={opening('1')}){opening('2')})"))
    with pytest.raises(CorpusError, match=r"a\.conllu: .*mention in two clusters"):
        list(read_gum(path))
    write(path, [*simple("GUM_a"), *simple("GUM_b", entity=f"Entity={opening('1')}){opening('2')})"), *simple("GUM_c")])
    with pytest.warns(UserWarning, match="document skipped: .*mention in two clusters"):
        assert [document.id for document in read_gum(path, strict=False)] == ["GUM_a", "GUM_c"]
