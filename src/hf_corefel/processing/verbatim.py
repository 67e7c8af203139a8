"""What of a text is no prose, and must be copied as it stands: addresses, code, and the signs of markup.

Rules of sign and form, without a list of top-level domains or of programming languages:

1. **Addresses**: URLs with a scheme or ``www.``, domains (``us.gov/x``), ``mailto:`` and its like, DOIs, e-mail
   addresses (also ``merkel (at) cdu.de``), ``@handles``, ``#hashtags``, stock tickers (``$TSLA``, ``NYSE: TM``), paths
   (``/usr/US``, ``C:\\US``, ``./US``), postal addresses (a street with its number and what follows it between commas
   or on lines, and a town with its postcode).
2. **Code**: fenced blocks and ``spans`` of Markdown, the elements of HTML that hold code, formulas and listings of
   LaTeX, JSON and Python literals in braces, lines that assign, import or follow a shell prompt, calls (``f(US)``),
   values of attributes (``lang="US"``), placeholders (``{US}``, ``${US}``, ``%US%``, ``:us:``), a head of metadata.
3. **Markup**: tags of HTML and XML with their attributes, comments, entities; targets, labels and definitions of
   links of Markdown, wikis and BBCode, but not the words that they show; commands of LaTeX, and the arguments of those
   that refer (``\\cite{Merkel}``); marks of footnotes.

Where these signs could be prose, too, they are taken for what they mostly are: it does less harm to leave a name as it
stands than to change an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["find_verbatim"]

Offsets = tuple[int, int]

_ADDRESS_END = r"\s<>\"“”„«»\[\]`|—"
# The rest of a word, up to a length that no word of an address has: a long token costs no more than its characters.
_REST = r"[\w'’-]{0,60}"
# A word with a capital letter or a digit; with a full stop only where it is short: "St.", "D.C.".
_CAPITAL = rf"(?:(?:[A-Z]\.){{1,10}}|[A-Z][a-z]{{0,2}}\.|[A-Z\d]{_REST})"
_ROAD = rf"(?:[Rr]ue|[Vv]ia|[Cc]alle|[Aa]venida|[Pp]laza|[Pp]iazza)\s+(?:d\w{{0,2}}\s+)?[A-Z]{_REST}"
_STREET = (
    rf"(?:\d{{1,5}}[A-Za-z]?\s+(?:{_CAPITAL}\s+){{1,4}}(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr"
    r"|Square|Sq|Place|Pl|Court|Ct|Way|Highway|Hwy|Parkway|Pkwy|Terrace|Row|Quay)\b\.?(?:\s+[NSEW]{1,2}\b\.?)?"
    r"|[A-Z][\w.'’-]{0,60}(?:[Ss]tra(?:ße|sse)|[Ss]tr\.|[Pp]latz|[Aa]llee|[Gg]asse|[Ww]eg)\s+\d{1,4}[a-z]?\b"
    rf"|\d{{1,4}},?\s+{_ROAD}|\b{_ROAD}\s+\d{{1,4}}\b|P\.?\s?O\.?\s+[Bb]ox\s+\d+)"
)
# What follows a street: parts with capital letters or digits only, up to what ends them.
_STREET_REST = (
    rf"(?:(?:,\s*|[ \t]*\r?\n[ \t]*){_CAPITAL}(?:[ \t]+{_CAPITAL}){{0,3}}(?=\s*(?:[,.;:()\[\]]|\n|\Z))){{0,5}}"
)
_CAPITALS = rf"(?:{_CAPITAL}\s){{0,3}}{_CAPITAL}"

_PATTERNS = [
    re.compile(pattern)
    for pattern in (
        # URLs, also in angle brackets over several lines; names of schemes have few letters.
        rf"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{{0,20}}://[^{_ADDRESS_END}]+",
        r"<[A-Za-z][A-Za-z0-9+.-]{0,20}:[^<>]*>",
        rf"(?i:\bwww\d?\.[^{_ADDRESS_END}]+)",
        r"\b(?i:mailto|tel|sms|urn|doi|data|magnet|javascript|news|sips?|xmpp|bitcoin|geo|skype|arxiv|file|about):"
        rf"[^{_ADDRESS_END}]+",
        rf"\b10\.\d{{4,9}}/[^{_ADDRESS_END}]+",
        # Domains end with a part in small letters; "St.Petersburg" does not.
        rf"(?<![\w@.-])(?:[\w-]{{1,63}}\.){{1,10}}[a-z]{{2,24}}(?![\w-])(?::\d{{1,5}})?(?:[/?#][^{_ADDRESS_END}]*)?",
        # Mail addresses.
        r"[\w.!#$%&'*+/=?^{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,10}",
        r"\"[^\"\n]{1,64}\"@[\w.-]+",
        r"\b\w[\w.-]{0,63}\s?[\[({<]\s?(?i:at|ät)\s?[\])}>]\s?\w[\w.-]{0,63}"
        r"(?:\s?[\[({<]\s?(?i:dot|punkt)\s?[\])}>]\s?\w[\w-]{0,63}){0,5}",
        # Handles, hashtags, tickers.
        r"(?<![\w@])[@＠]\w+(?:[.-]\w+)*(?:@\w[\w.-]*)?",
        r"(?<!\w)[#＃]\w[\w-]*",
        r"(?<![\w$])\$[A-Za-z_]\w*",
        r"\b(?:NASDAQ|Nasdaq|NYSE|AMEX|LSE|TSXV?|ASX|HKEX|SEHK|ETR|FRA|FWB|XETRA|Euronext|TYO|TSE|SWX|BSE|NSE|OTC\w*)"
        r":\s?[A-Z0-9]+(?:[.-][A-Z]+)?\b",
        # Paths; what stands between slashes in prose is for `hf_corefel.processing.joined`.
        r"(?<![\w/\\.])(?:[A-Za-z]:[\\/]|\\\\(?=\w)|~/|\.{1,2}[\\/]|/(?=[\w.-]+/))[^\s<>\"|*?]*",
        # Postal addresses.
        _STREET + _STREET_REST,
        rf"\b{_CAPITALS},?\s(?:[A-Z]{{2}}|(?:[A-Z]\.){{2}})\s\d{{5}}(?:-\d{{4}})?\b",
        rf"\b{_CAPITALS},?\s[A-Z]{{1,2}}\d[\dA-Z]?\s?\d[A-Z]{{2}}\b",
        # Code of Markdown: fenced blocks, which may lack their end, and spans, not quotations such as ``Berlin''.
        r"(?ms)^[ \t>]*(?:[-*+]\s+|\d+[.)]\s+)?(?P<fence>`{3,}|~{3,})[^\n`]*\n"
        r".*?(?:^[ \t>]*(?P=fence)[`~]*[ \t\r]*$|\Z)",
        r"(?<![`\w\\])`(?!`)(?:(?!\n\s*\n)[^`]){1,1000}`(?![`\w])",
        r"(?s)(?<!`)``(?!`)(?:(?!\n\s*\n|''|``).){1,1000}``(?!`)",
        r"(?s)(?<!`)```(?!`)(?:(?!\n\s*\n|```).){1,1000}```(?!`)",
        # Lines of code and of a shell.
        r"(?m)^[ \t]*(?:(?:const|let|var|export|set|local|my|int|str|string|char|float|bool|auto|static)[ \t]+){0,3}"
        r"[\w.$\[\]\"']{1,80}(?:[ \t]*:[ \t]*\w+)?[ \t]*[-+*/%|&:]?=[ \t]*[^\s=].*$",
        r"(?m)^[ \t]*(?:from [\w.]+ import .*|import [\w.]+(?: as \w+)?|\#include\b.*|def \w+\(.*|class \w+[(:].*)"
        r"[ \t\r]*;?$",
        r"(?m)^[ \t]*\$ [a-z./].*$",
        # Calls, but not the "(s)" of "member(s)".
        r"(?<!\w)[a-z_][\w.]{0,100}\((?!(?:e?s|ies)\))[^()\n]*\)",
        r"(?<![\w.:-])[\w.:-]{1,60}\s?=\s?(?:\"[^\"\n]*\"|'[^'\n]*')",
        # JSON: names of fields, lists of strings.
        r"(?m)^[ \t]*\"[^\"\n]{1,100}\"\s*:",
        r"\[\s*\"[^\"\n]*\"\s*(?:,\s*\"[^\"\n]*\"\s*)*,?\s*\]",
        # Placeholders.
        r"\{\{[^{}]*\}\}",
        r"(?<!\w)\{[^{}\s]+\}",
        r"%\w+%|(?<!\w):\w[\w+-]*:(?!\w)",
        # A head of metadata.
        r"\A---[ \t]*\r?\n(?:(?:[\w-]+:|[ \t]+\S|- ).*\n)*---[ \t]*(?=\r?\n|\Z)",
        # Tags, comments, declarations, entities.
        r"</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>",
        r"(?s)<!--.*?(?:-->|\Z)",
        r"<[!?][^<>]*>",
        r"(?s)<!\[CDATA\[.*?(?:\]\]>|\Z)",
        r"&\#?\w{1,32};",
        # Targets, labels and definitions of links, marks of footnotes.
        r"\]\(\s*(?:<[^<>\n]*>|(?:[^()\s]|\([^()\s]*\))*)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)",
        r"\]\[[^\[\]\n]*\]",
        r"(?m)^ {0,3}\[[^\[\]\n]+\]:.*$",
        r"\[\^[^\[\]\s]+\]",
        r"\[\[[^\[\]\n|]*\]\]|\[\[[^\[\]\n]*\|(?=[^\[\]\n|]*\]\])",
        r"\[[A-Za-z]+=[^\[\]\n]*\]|\[/[A-Za-z]+\]",
        # LaTeX: commands, what they refer to, formulas.
        r"\\[A-Za-z@]+\*?",
        r"\\(?:[A-Za-z]*cite[A-Za-z]*|[A-Za-z]*ref|label|url|path|input|include|includegraphics|begin|end|bibliography"
        r"|bibliographystyle|usepackage|documentclass|texttt|code|href|hyperlink|hypertarget)\*?(?:\[[^\[\]\n]*\])*\{[^{}\n]*\}",
        r"\\(?:verb|lstinline)\*?(?P<sign>[^\w\s])[^\n]*?(?P=sign)",
        r"\$\$[^$]{1,2000}\$\$|\\\([^\n]{0,500}?\\\)|(?s:\\\[.{0,2000}?\\\])",
        r"(?<![\w$\\])\$(?=[^\s$])[^$\n]{0,200}?[\\^_={}][^$\n]{0,200}(?<!\s)\$(?!\d)",
    )
]
# What holds code from where it opens to where it closes.
_OPENED = re.compile(
    r"<(?P<tag>script|style|code|pre|kbd|samp|tt|var|svg|math|textarea)\b[^<>]*>"
    r"|\\begin\{(?P<listing>(?:verbatim|lstlisting|minted|equation|align|math|displaymath|tikzpicture)\*?)\}",
    re.IGNORECASE,
)
_LITERAL = re.compile(r"\{\s*(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')\s*:")
_BRACE_OR_BLANK_LINE = re.compile(r"[{}]|\n\s*\n")
_LABEL = re.compile(r"(?m)^ {0,3}\[(?P<label>[^\[\]\n]+)\]:")
_IN_BRACKETS = re.compile(r"\[(?P<label>[^\[\]\n]+)\](?![(\[])")


def find_verbatim(text: str) -> list[Offsets]:
    """Return the stretches of a text that are no prose, in order and apart (see the top of the module)."""
    found = [match.span() for pattern in _PATTERNS for match in pattern.finditer(text)]
    found += [*_opened(text), *_literals(text), *_shown_labels(text)]
    merged: list[Offsets] = []
    for begin, end in sorted(found):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif begin < end:
            merged.append((begin, end))
    return merged


def _opened(text: str) -> Iterator[Offsets]:
    """Elements and environments that hold code; those that nothing closes are none."""
    at, unclosed = 0, set[str]()
    while (match := _OPENED.search(text, at)) is not None:
        at = match.end()
        tag = match["tag"]
        closing = rf"</{tag}\s*>" if tag else re.escape(f"\\end{{{match['listing']}}}")
        if closing.lower() in unclosed:
            continue
        close = re.compile(closing, re.IGNORECASE).search(text, at)
        if close is None:
            unclosed.add(closing.lower())
        else:
            at = close.end()
            yield match.start(), at


def _literals(text: str) -> Iterator[Offsets]:
    """Objects of JSON and dicts of Python, up to the brace that closes them, else to a blank line."""
    at = 0
    while (match := _LITERAL.search(text, at)) is not None:
        depth, at = 0, len(text)
        for sign in _BRACE_OR_BLANK_LINE.finditer(text, match.start()):
            depth += {"{": 1, "}": -1}.get(sign[0], 0)
            if depth == 0 or (sign[0] not in "{}" and not _closes(text, sign.end(), depth)):
                at = sign.end()
                break
        yield match.start(), at


def _closes(text: str, begin: int, depth: int) -> bool:
    """Whether as many braces follow in the next two thousand code points as are open."""
    return text.count("}", begin, begin + 2_000) >= depth


def _shown_labels(text: str) -> Iterator[Offsets]:
    """``[words]`` that are the label of a link, too, because the text defines it."""
    labels = {" ".join(match["label"].split()).casefold() for match in _LABEL.finditer(text)}
    if labels:
        for match in _IN_BRACKETS.finditer(text):
            if " ".join(match["label"].split()).casefold() in labels:
                yield match.span()
