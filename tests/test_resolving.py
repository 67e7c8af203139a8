"""The resolved text: names in place of mentions, by simple rules."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.documents import AnnotatedDocument, Cluster, Mention
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline
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


STAYS = [
    # URLs, domains, mail addresses, handles, hashtags, tickers
    "https://www.us.gov/⟦0Merkel⟧, ok",
    "(http://x.org/⟦0Merkel⟧_(2020)?q=⟦0Merkel⟧&b#⟦0Merkel⟧)",
    "<ftp://x.org/a/\n⟦0Merkel⟧/b>",
    "WWW.⟦0Merkel⟧.de",
    "www.x.de/a,⟦0Merkel⟧",
    "⟦0Merkel⟧.de/a;⟦0Merkel⟧",
    "x.org:8080/⟦0Merkel⟧-b",
    "⟦0Merkel⟧.com",
    "mailto:⟦0Merkel⟧%20x@y.de",
    "urn:isbn:⟦0Merkel⟧",
    "doi:10.1000/⟦0Merkel⟧",
    "⟦0Merkel⟧@cdu.de",
    "angela.⟦0Merkel⟧+⟦0Merkel⟧@⟦0Merkel⟧.cdu.de",
    '"⟦0Merkel⟧ x"@cdu.de',
    "⟦0Merkel⟧ (at) cdu (dot) de",
    "⟦0Merkel⟧ [at] cdu.de",
    "@⟦0Merkel⟧",
    "＠⟦0Merkel⟧",
    "@angela.⟦0Merkel⟧@social.de",
    "#⟦0Merkel⟧",
    "⟦0#Merkel⟧",
    "#⟦0Merkel⟧2021",
    "$⟦0Merkel⟧ up 3 %",
    "(NYSE: ⟦0MERKEL⟧)",
    # postal addresses
    "at 12 ⟦0Merkel⟧ Street, Berlin",
    "⟦0Merkel⟧-Platz 1, 10557 Berlin",
    "1600 Long Avenue, ⟦0Merkel⟧, DC 20500",
    "10 Downing St.\n⟦0Merkel⟧\nSW1A 2AA",
    "in ⟦0Merkel⟧, CA 90210-1234",
    "⟦0Merkel⟧ SW1A 2AA",
    # paths and names of files
    "C:\\Users\\⟦0Merkel⟧\\x",
    "C:\\My Files\\⟦0Angela Merkel⟧\\x",
    "/home/⟦0Merkel⟧/x",
    "~/⟦0Merkel⟧",
    "../⟦0Merkel⟧",
    "src/⟦0Merkel⟧/a.py",
    "⟦0Merkel⟧.txt",
    # code
    "`⟦0Merkel⟧`",
    "`print ⟦0Merkel⟧ now`",
    "`` a `b` ⟦0Merkel⟧ ``",
    "\n```python\n⟦0Merkel⟧\n```\n",
    "\n~~~\n⟦0Merkel⟧ \n\n⟦0Merkel⟧\n~~~\n",
    "\n> ```\n> ⟦0Merkel⟧\n> ```\n",
    "us_⟦0Merkel⟧",
    "⟦0Merkel⟧_2020",
    "_⟦0Merkel⟧",
    "__⟦0Merkel⟧",
    "os.⟦0Merkel⟧.path",
    "std::⟦0Merkel⟧",
    "set⟦0Merkel⟧()",
    "visit(⟦0Merkel⟧)",
    "x=⟦0Merkel⟧",
    'lang="⟦0Merkel⟧"',
    "name = 'the ⟦0Merkel⟧ one'",
    "\nimport ⟦0Merkel⟧\n",
    "\nfrom cdu import ⟦0Merkel⟧\n",
    "\nparty = find ⟦0Merkel⟧ + 1\n",
    "\n$ cat ⟦0Merkel⟧ | wc\n",
    '{"⟦0Merkel⟧": {"a": "⟦0Merkel⟧ x"}, "b": ["⟦0Merkel⟧"]}',
    "{'⟦0Merkel⟧': 1}",
    '\n  "⟦0Merkel⟧": 3,\n',
    '["a", "⟦0Merkel⟧"]',
    "${⟦0Merkel⟧}",
    "{{⟦0Merkel⟧ | upper}}",
    "%⟦0Merkel⟧%",
    ":⟦0Merkel⟧:",
    # HTML and XML
    "<a href='/x' title=\"⟦0Merkel⟧\">x</a>",
    "<⟦0Merkel⟧>x</⟦0Merkel⟧>",
    "<!-- ⟦0Merkel⟧ -->",
    "<code>a ⟦0Merkel⟧ b</code>",
    "<script>\nlet a = ⟦0Merkel⟧;\n</script>",
    "<![CDATA[ <a> ⟦0Merkel⟧ ]]>",
    "&⟦0Merkel⟧;",
    # links, wikis, LaTeX
    "[x](⟦0Merkel⟧)",
    "[x](/y '⟦0Merkel⟧')",
    '![x](⟦0Merkel⟧ "⟦0Merkel⟧")',
    "[x][⟦0Merkel⟧]",
    '\n[x]: /y "⟦0Merkel⟧"\n',
    "[⟦0Merkel⟧]\n\n[⟦0Merkel⟧]: /y\n",
    "[^⟦0Merkel⟧]",
    "[[⟦0Merkel⟧]]",
    "[[⟦0Merkel⟧|her]]",
    "[quote=⟦0Merkel⟧]x[/quote]",
    "\\cite[p. 3]{⟦0Merkel⟧}",
    "\\⟦0Merkel⟧",
    "\\verb|a ⟦0Merkel⟧|",
    "$x_{⟦0Merkel⟧} = 1$",
    "\\begin{verbatim}\na ⟦0Merkel⟧\n\\end{verbatim}",
    # parts of words
    "pro-⟦0Merkel⟧",
    "⟦0Merkel⟧-led",
    "⟦0Merkel⟧‑Macron",
    "⟦0Merkel⟧-\nled",
    "⟦0Merkel⟧- and Macron-led",
    "*pro*-⟦0Merkel⟧",
    "anti⟦0Merkel⟧",
    "⟦0Merkel⟧ism",
    "⟦0Merkel⟧\u00adism",
    "⟦0Merkel⟧2",
    "O'⟦0Merkel⟧",
    "⟦0Merkel⟧'sche",
    "⟦0Merkel⟧/Macron",
    "⟦0Merkel⟧&Co",
    "⟦0Merkel⟧$",
    "⟦0she⟧'ve; ⟦0they⟧’re; ⟦0I⟧'m; ⟦0I'm⟧; ⟦0I⟧ am",
    "⟦0Merkel (CDU⟧)",
    "⟦0who⟧, ⟦0herself⟧",
]


@pytest.mark.parametrize("place", STAYS)
def test_what_is_no_whole_word_of_prose_stays_and_introduces_nobody(place: str) -> None:
    text = f"So ⟦0Frau Merkel⟧ came. See {place} and ⟦0Merkel⟧ left."
    plain = re.sub("⟦0|⟧", "", place)
    assert resolve_text(marked(text, "Angela_Merkel")) == f"So Frau Merkel came. See {plain} and Angela Merkel left."
    text = f"See {place} and ⟦0Merkel⟧ left. ⟦0Merkel⟧ won."
    assert resolve_text(marked(text, "Angela_Merkel")) == f"See {plain} and Merkel left. Angela Merkel won."


GIVES_WAY = [
    "⟦0Merkel⟧",
    "“⟦0Merkel⟧”",
    "(⟦0Merkel⟧)",
    "'⟦0Merkel⟧'",
    "``⟦0Merkel⟧''",
    "`⟦0Merkel⟧' and `x'",
    "_⟦0Merkel⟧_",
    "**⟦0Merkel⟧**",
    "***⟦0Merkel⟧***’s",
    "~ ⟦0Merkel⟧",
    "⟦0Merkel⟧–Macron",
    "⟦0Merkel⟧—who",
    "x--⟦0Merkel⟧--x",
    "- ⟦0Merkel⟧",
    "\n-⟦0Merkel⟧",
    "\n# ⟦0Merkel⟧\n",
    "⟦0Merkel⟧ / Macron",
    "⟦0Merkel⟧[1]",
    "⟦0Merkel⟧¹",
    "⟦0Merkel⟧…",
    "...⟦0Merkel⟧",
    "😀⟦0Merkel⟧™",
    "<b>⟦0Merkel⟧</b>",
    "a < b and ⟦0Merkel⟧ > c",
    "|⟦0Merkel⟧|",
    "[⟦0Merkel⟧](https://x.de)",
    "[⟦0Merkel⟧][1]",
    "[[x|⟦0Merkel⟧]]",
    "[b]⟦0Merkel⟧[/b]",
    "\\textbf{⟦0Merkel⟧}",
    "$5 from ⟦0Merkel⟧ for US$10",
    "From: ⟦0Merkel⟧ <x@cdu.de>",
    "RT @x: ⟦0Merkel⟧ #y https://t.co/a",
    "on x.com. ⟦0Merkel⟧",
    "at 12:30 ⟦0Merkel⟧",
    "12 members, ⟦0Merkel⟧, x",
    "member(s) and ⟦0Merkel⟧",
    "總理⟦0Merkel⟧說",
]


@pytest.mark.parametrize("place", GIVES_WAY)
def test_whole_words_of_prose_give_way(place: str) -> None:
    resolved = resolve_text(marked(f"So ⟦0Frau Merkel⟧ came. See {place} ok.", "Angela_Merkel"))
    assert resolved == f"So Frau Merkel came. See {place.replace('⟦0Merkel⟧', 'Angela Merkel')} ok."


@pytest.mark.parametrize("place", ["Angela ⟦0Merkel⟧", "ANGELA\n⟦0MERKEL⟧", "⟦0Angela⟧ Merkel"])
def test_a_part_of_the_name_that_is_spelled_out_stays(place: str) -> None:
    document = marked(f"So ⟦0she⟧ and ⟦0Frau Merkel⟧ came. See {place} go.", "Angela_Merkel")
    assert resolve_text(document) == document.text.replace("she", "Angela Merkel", 1)


@pytest.mark.parametrize("mention", ['"Merkel"', '"Merkel', "Merkel,", "(Merkel)", "**Merkel**", " Merkel ", "Merkel."])
def test_signs_around_a_name_stay(mention: str) -> None:
    resolved = resolve_text(marked(f"So ⟦0Frau Merkel⟧ came. Then ⟦0{mention}⟧ left.", "Angela_Merkel"))
    assert resolved == f"So Frau Merkel came. Then {mention.replace('Merkel', 'Angela Merkel')} left."


UNION = "European_Union"
DEFINITIONS = [
    ("The ⟦0European Union⟧ (⟦0EU⟧) met.", UNION),
    ("The ⟦0European Union⟧ [⟦0EU⟧] met.", UNION),
    ("The ⟦0European Union⟧ ⟦0(EU)⟧ met.", UNION),
    ('The ⟦0European Union⟧ (the "⟦0EU⟧") met.', UNION),
    ("The ⟦0European Union⟧ – ⟦0EU⟧ – met.", UNION),
    ("The ⟦0European Union⟧, hereinafter referred to as ⟦0the Union⟧, met.", UNION),
    ("The ⟦0European Union⟧, or ⟦0EU⟧, met.", UNION),
    ("The ⟦0European Union⟧ a.k.a. ⟦0EU⟧ met.", UNION),
    ("⟦0Europe⟧ met. The ⟦0EU⟧ (⟦0European Union⟧) met.", UNION),
    ("⟦0Europe⟧ met. The ⟦0EU⟧ stands for the ⟦0European Union⟧.", UNION),
    ("⟦0Europe⟧ met. ⟦0EU⟧: ⟦0the European Union⟧", UNION),
    ("⟦0Wood Flooring Inc.⟧ (the “⟦0Company⟧”) pays.", None),
    ("⟦0Wood Flooring Inc.⟧ (hereinafter ⟦0the Company⟧) pays.", None),
    ("⟦0Angela Merkel⟧ (born ⟦0Angela Kasner⟧) won.", None),
    ("⟦0Tesla⟧ (formerly ⟦0Tesla Motors⟧) won.", "Tesla,_Inc."),
    ("⟦0Face⟧ won. ⟦0Facebook⟧ changed its name to ⟦0Meta⟧.", "Meta_Platforms"),
    ("So ⟦0Angela Merkel⟧, ⟦0the chancellor⟧, won.", "Angela_Merkel"),
    ("⟦0Frau M.⟧ won. So ⟦0the chancellor⟧, ⟦0Angela Merkel⟧, won.", "Angela_Merkel"),
]


@pytest.mark.parametrize(("text", "entity"), DEFINITIONS)
def test_definitions_stay(text: str, entity: str | None) -> None:
    document = marked(text, entity)
    assert resolve_text(document) == document.text


def test_the_term_of_a_definition_gives_way_later() -> None:
    text = (
        'So ⟦0Wood Flooring Inc.⟧ (the "⟦0Company⟧") came. ⟦0The Company⟧ shall pay. So ⟦0it⟧ paid. (⟦0The Company⟧.)'
    )
    assert resolve_text(marked(text, None)) == (
        'So Wood Flooring Inc. (the "Company") came. Wood Flooring Inc. shall pay. So Wood Flooring Inc. paid. '
        "(Wood Flooring Inc.)"
    )


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
    """Each piece of it as it was, in order; and a text without clusters is itself."""
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


@pytest.fixture(scope="module")
def annotate() -> CorefELPipeline:
    return load_pipeline()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The US and the EU met. The US left. See https://www.us.gov/US. Angela Merkel stayed. Merkel's party won. "
            "Write to Merkel@cdu.de, @Merkel or #Merkel.",
            "The US and the EU met. The United States left. See https://www.us.gov/US. Angela Merkel stayed. "
            "Angela Merkel's party won. Write to Merkel@cdu.de, @Merkel or #Merkel.",
        ),
        (
            "The European Union (EU) met in Brussels. The EU's budget grew. EU-wide rules and pro-EU parties won.",
            "The European Union (EU) met in Brussels. The European Union's budget grew. EU-wide rules and pro-EU "
            "parties won.",
        ),
        (
            "Barack Obama spoke. He left. `Obama` and ``Obama'' and _Obama_.",
            "Barack Obama spoke. Barack Obama left. `Obama` and ``Barack Obama'' and _Barack Obama_.",
        ),
    ],
)
def test_texts_that_the_bundled_model_reads(annotate: CorefELPipeline, text: str, expected: str) -> None:
    (document,) = annotate.annotate([text], resolved_text=True, mention_scope="all")
    assert document.resolved_text == expected
