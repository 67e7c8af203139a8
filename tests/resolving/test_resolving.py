"""The resolved text: names in place of mentions, by simple rules."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.documents import AnnotatedDocument, Cluster, Mention
from hf_corefel.resolving import cluster_name, find_replacements, is_pronoun, readable_title, resolve_text
from marked_texts import marked

CASES = {
    "pronouns inherit the entity of their cluster": (
        "⟦0Barack Obama⟧ spoke. ⟦0He⟧ said that ⟦0his⟧ plan would help ⟦0him⟧.",
        ["Barack_Obama"],
        "Barack Obama spoke. Barack Obama said that Barack Obama's plan would help Barack Obama.",
    ),
    "the first mention that is no pronoun stays": (
        "When ⟦0she⟧ came, ⟦0Merkel⟧ smiled. ⟦0Merkel⟧ left.",
        ["Angela_Merkel"],
        "When Angela Merkel came, Merkel smiled. Angela Merkel left.",
    ),
    "an equal mention stays": ("⟦0EU⟧ and ⟦0European Union⟧", ["European_Union"], "EU and European Union"),
    "underscores and qualifiers are no part of a name": (
        "⟦0Oslo⟧ and ⟦0it⟧; ⟦1DC⟧ and ⟦1it⟧",
        ["Oslo_(band)", "Washington,_D.C."],
        "Oslo and Oslo; DC and Washington, D.C.",
    ),
    "a NIL cluster has its longest name": (
        "⟦0Sollwede⟧ met us. ⟦0Katrin Sollwede⟧ is ⟦0the mayor⟧. ⟦0She⟧ left.",
        [None],
        "Sollwede met us. Katrin Sollwede is Katrin Sollwede. Katrin Sollwede left.",
    ),
    "or its first description": (
        "⟦0The coach⟧ came. Then ⟦0he⟧ left. ⟦0He⟧ lost ⟦0his⟧ way.",
        [None],
        "The coach came. Then the coach left. The coach lost the coach's way.",
    ),
    "pronouns alone stay": ("⟦0They⟧ said ⟦0they⟧ won.", [None], "They said they won."),
    "an identifier is no name": (
        "⟦0Berlin⟧ is big. ⟦0It⟧ grows. ⟦1Rome⟧ is old. ⟦1It⟧ stays.",
        ["Q64", "wikidata:Q220"],
        "Berlin is big. Berlin grows. Rome is old. Rome stays.",
    ),
    "endings are kept": (
        "⟦0Angela Merkel⟧ and ⟦0Merkel's⟧ party; ⟦0Merkel’s⟧ house; ⟦1Moss⟧ and ⟦1the man's⟧ dog",
        ["Angela_Merkel", "Carl_Moss"],
        "Angela Merkel and Angela Merkel's party; Angela Merkel’s house; Moss and Carl Moss' dog",
    ),
    "her is a possessive before a noun only": (
        "⟦0Anna Berg⟧ lost ⟦0her⟧ car. They told ⟦0her⟧ that. They saw ⟦0her⟧.",
        [None],
        "Anna Berg lost Anna Berg's car. They told Anna Berg that. They saw Anna Berg.",
    ),
    "relative pronouns stay": (
        "⟦0Anna Berg⟧, ⟦0who⟧ won, and ⟦0whose⟧ car ⟦0she⟧ sold",
        [None],
        "Anna Berg, who won, and whose car Anna Berg sold",
    ),
    "of nested mentions the outermost gives way": (
        "⟦1Maria⟧ met ⟦0Obama⟧. ⟦1⟦0His⟧ wife⟧ left.",
        ["Barack_Obama", "Maria_Obama"],
        "Maria met Obama. Maria Obama left.",
    ),
    "inside one that stays the inner ones are looked at": (
        "⟦0Barack Obama⟧ and ⟦1⟦0his⟧ wife⟧ left.",
        ["Barack_Obama", None],
        "Barack Obama and Barack Obama's wife left.",
    ),
    "a mention without the determiner of its name stays": (
        "⟦0The Times⟧ won. The ⟦0Times's⟧ editor; the ⟦0Times's⟧ job. ⟦1The Hague⟧ is big. In the ⟦1Hague⟧, ⟦0it⟧ won",
        ["The_Times", "The_Hague"],
        "The Times won. The Times's editor; the Times's job. The Hague is big. In the Hague, the Times won",
    ),
    "behind a determiner the name goes without its own": (
        "⟦0NYT⟧ won. The ⟦0paper⟧ lost; his old and\n  this ⟦0paper⟧; gave her ⟦0the paper⟧; said that ⟦0it⟧ won",
        ["The_New_York_Times"],
        "NYT won. The New York Times lost; his old and\n  this New York Times; gave her the New York Times; "
        "said that the New York Times won",
    ),
    "a description begins small within a sentence": (
        "⟦0Her party⟧ met. Then ⟦0it⟧ won. ⟦0It⟧ lost. The ⟦0party⟧ and the ⟦0group⟧ left. ⟦1A man⟧ said ⟦1he⟧ ran.",
        [None, None],
        "Her party met. Then her party won. Her party lost. The party and the party left. A man said a man ran.",
    ),
    "a name that begins with a possessive keeps its capital": (
        "⟦0My Fair Lady⟧ ran. Then ⟦0it⟧ closed. Their ⟦0show⟧ ended. ⟦1Orange⟧ ran; ⟦1it⟧ closed.",
        ["My_Fair_Lady", "A_Clockwork_Orange"],
        "My Fair Lady ran. Then My Fair Lady closed. Their My Fair Lady ended. Orange ran; A Clockwork Orange closed.",
    ),
    "I is no capital": ("⟦0The coach⟧ said: when ⟦0I⟧ lose", [None], "The coach said: when the coach lose"),
}


@pytest.mark.parametrize(("text", "entities", "expected"), CASES.values(), ids=CASES)
def test_resolved(text: str, entities: list[str | None], expected: str) -> None:
    assert resolve_text(marked(text, *entities)) == expected


def test_of_crossing_mentions_the_first_gives_way() -> None:
    text = "Moss. the old town hall"
    clusters = [Cluster((Mention(0, 4), Mention(6, 18)), "Moss_(town)"), Cluster((Mention(0, 2), Mention(14, 23)), "X")]
    assert resolve_text(AnnotatedDocument(text, clusters)) == "Moss. Moss hall"


@pytest.mark.parametrize(
    ("entity", "title"),
    [("Angela_Merkel", "Angela Merkel"), ("1984_(novel)", "1984"), ("Star_Trek:_Discovery", "Star Trek: Discovery")]
    + [("(500)_Days", "(500) Days"), ("(G)I-dle", "(G)I-dle")]
    + [(identifier, None) for identifier in ("Q64", "wikidata:Q64", "http://x.org/1", "64", "_")],
)
def test_readable_title(entity: str, title: str | None) -> None:
    assert readable_title(entity) == title


def test_names_are_told_from_descriptions() -> None:
    def name(*surfaces: str) -> str | None:
        text = "\n".join(surfaces)
        begins = [sum(len(s) + 1 for s in surfaces[:i]) for i in range(len(surfaces))]
        mentions = [Mention(begin, begin + len(s)) for begin, s in zip(begins, surfaces, strict=True)]
        return cluster_name(AnnotatedDocument(text, [Cluster(tuple(mentions))]).clusters[0])

    assert name("bank", "Bank of England", "The Old Lady of Threadneedle Street") == "Bank of England"
    assert name("the mayor", "the tall mayor of the town") == "the mayor"
    assert name("it", "the mayor") == "the mayor"
    assert name("it", "They") is None
    assert name("3 May", "the day") == "3 May"
    assert name("2018") == "2018"


def test_pronouns() -> None:
    assert all(map(is_pronoun, ("He", "her", "Its", "whose", "themselves", "I")))
    assert not any(map(is_pronoun, ("Her Majesty", "Italy", "", "US")))


@st.composite
def documents(draw: st.DrawFn) -> AnnotatedDocument:
    text = draw(st.text(alphabet="ab Th's’.IHe\n\u202e\ud800", min_size=1, max_size=30))
    begin = st.integers(0, len(text) - 1)
    pair = begin.flatmap(lambda b: st.tuples(st.just(b), st.integers(b + 1, len(text))))
    groups: dict[int, list[Mention]] = {}
    for offsets in draw(st.lists(pair, max_size=6, unique=True)):
        groups.setdefault(draw(st.integers(0, 2)), []).append(Mention(*offsets))
    names = st.none() | st.text(alphabet="aB_() \n:1", min_size=1, max_size=8)
    return AnnotatedDocument(text, [Cluster(tuple(group), draw(names)) for group in groups.values()])


@given(documents())
def test_whatever_is_outside_mentions_stays(document: AnnotatedDocument) -> None:
    """Each subword of it as it was, in order; and a text without clusters is itself."""
    resolved, text = resolve_text(document), document.text
    inside = {i for cluster in document.clusters for mention in cluster.mentions for i in range(*mention.offsets)}
    outside = [re.escape(char) if i not in inside else "\0" for i, char in enumerate(text)]
    assert re.fullmatch(re.sub("\0+", ".*", "".join(outside)), resolved, re.DOTALL) or "\ud800" in text + resolved
    assert resolve_text(AnnotatedDocument(text, [])) == text


@given(documents())
def test_taking_the_names_out_gives_the_text_back(document: AnnotatedDocument) -> None:
    resolved, text, shift, restored, last = resolve_text(document), document.text, 0, "", 0
    mentions = [mention.offsets for cluster in document.clusters for mention in cluster.mentions]
    for begin, end, words in find_replacements(document):
        assert any(first <= begin < end <= last for first, last in mentions)
        assert resolved[begin + shift : begin + shift + len(words)] == words
        restored += resolved[last + shift : begin + shift] + text[begin:end]
        shift += len(words) - (end - begin)
        last = end
    assert restored + resolved[last + shift :] == text


def test_a_mention_of_white_space_is_no_name() -> None:
    blank = Cluster((Mention(4, 5), Mention(9, 10)))
    document = AnnotatedDocument("Anna\tmet \x1cher.", [blank, Cluster((Mention(0, 4), Mention(10, 13)))])
    assert [cluster_name(cluster) for cluster in document.clusters] == [None, "Anna"]
    assert resolve_text(document) == "Anna\tmet \x1cAnna."


@pytest.mark.parametrize(
    ("text", "entity", "name"),
    [
        ("The iPhone", "IPhone", "iPhone"),
        ("the eBay's", "EBay", "eBay"),
        ("an IPHONE", "IPhone", "IPhone"),
        ("the moon", "Moon", "Moon"),
        ("The phone", "IPhone", "IPhone"),
    ],
)
def test_a_title_has_a_capital_letter_that_its_name_may_lack(text: str, entity: str, name: str) -> None:
    cluster = Cluster((Mention(text.index(" ") + 1, len(text)),), entity)
    assert cluster_name(AnnotatedDocument(text, [cluster]).clusters[0]) == name
