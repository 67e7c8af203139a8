"""Which stretches of a text are no prose, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.processing.joined import JoinedWords
from hf_corefel.processing.verbatim import find_verbatim


@pytest.mark.parametrize(
    ("text", "stretches"),
    [
        ("In 2005 Merkel won (U.S. Senate), St. Louis lost 3:1 – e.g. “so”; it's 5 % & more.", []),
        ("Merkel's plan [Merkel] {a b} costs $5, US$10 or € 3; # 1, @ noon, member(s), a/b.", []),
        ("a < b > c, Tom & Jerry; Berlin’s “Straße”; 12 Members, Oslo.", []),
        ("See https://us.gov/a_(b)?c=d#e now", ["https://us.gov/a_(b)?c=d#e"]),
        ("See <https://us.gov/a b> now", ["<https://us.gov/a b>"]),
        ("See us.gov now, or a.b@us.gov.", ["us.gov", "a.b@us.gov"]),
        ("[US](http://a.b/c 'd') and [US][e]", ["](http://a.b/c 'd')", "][e]"]),
        ("a `b c` d ``e'' f `g' h", ["`b c`"]),
        ("a\n```\nb\n\nc\n```\nd", ["```\nb\n\nc\n```"]),
        ("a\n```\nb\n\nc", ["```\nb\n\nc"]),
        ("a <b c='d'>e</b> &amp; f", ["<b c='d'>", "</b>", "&amp;"]),
        ("a <code>b <i>c</i></code> d <code>e", ["<code>b <i>c</i></code>", "<code>"]),
        ('a {"b": {"c": [1]}} d {"e": 1\n\nf', ['{"b": {"c": [1]}}', '{"e": 1\n\n']),
        ("\\textbf{a} \\cite{b} $x^2$ c", ["\\textbf", "\\cite{b}", "$x^2$"]),
        ("at 10 Downing Street, London. Then", ["10 Downing Street, London"]),
        ("at 10 Downing Street, London and Paris", ["10 Downing Street"]),
        ("met via Merkel, 12 rue de Rivoli, Paris", ["12 rue de Rivoli, Paris"]),
        ("So Obama. Washington, DC 20500. Merkel", ["Washington, DC 20500"]),
        ("at 1 St. James Sq., St. Louis, MO 63101", ["1 St. James Sq., St. Louis, MO 63101"]),
        ("---\ntitle: a b\n---\nc d", ["---\ntitle: a b\n---"]),
        ("a\nb = c d\ne", ["b = c d"]),
        ("C:\\a\\b and /a/b and ./a", ["C:\\a\\b", "/a/b", "./a"]),
    ],
)
def test_stretches(text: str, stretches: list[str]) -> None:
    assert [text[begin:end] for begin, end in find_verbatim(text)] == stretches


@given(st.text(alphabet="aB1 .:/@#$<>`~{}[]()|\\_*-=\"'&%\n", max_size=60))
def test_stretches_are_in_order_and_apart(text: str) -> None:
    ends = [0]
    for begin, end in find_verbatim(text):
        assert ends[-1] <= begin < end <= len(text)
        ends.append(end)


@pytest.mark.parametrize(
    "sign",
    ["<a ", "`a ", "{'a':", "$a=", "a.", "<code>", "[[a|", "\\cite[", "_a ", "A, ", "<!--", "A-", "Rue A-", "1 ", "A'"],
)
def test_signs_that_nothing_closes_cost_no_more_than_others(sign: str) -> None:
    """Hundreds of thousands of them end at all."""
    text = sign * 100_000
    assert len(find_verbatim(text)) <= 100_000
    assert JoinedWords(text).is_part(1, 2) in (True, False)
