"""Places where a mention stays in the resolved text, and places where it gives way."""

from __future__ import annotations

import re

import pytest

from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline
from hf_corefel.resolving import resolve_text
from marked_texts import marked

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
    "&nbsp;⟦0Merkel⟧&nbsp;",
    "the x, and ⟦0Merkel⟧",
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


def test_what_is_named_once_more_is_no_definition() -> None:
    text = "⟦0W.H.O.⟧ is. ⟦0WHO⟧, ⟦0WHO⟧; ⟦0the WHO⟧ and ⟦0its⟧ head, and ⟦0WHO⟧"
    assert resolve_text(marked(text, "World_Health_Organization")) == (
        "W.H.O. is. World Health Organization, World Health Organization; the World Health Organization and "
        "the World Health Organization's head, and World Health Organization"
    )


def test_the_term_of_a_definition_gives_way_later() -> None:
    text = (
        'So ⟦0Wood Flooring Inc.⟧ (the "⟦0Company⟧") came. ⟦0The Company⟧ shall pay. So ⟦0it⟧ paid. (⟦0The Company⟧.)'
    )
    assert resolve_text(marked(text, None)) == (
        'So Wood Flooring Inc. (the "Company") came. Wood Flooring Inc. shall pay. So Wood Flooring Inc. paid. '
        "(Wood Flooring Inc.)"
    )


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
