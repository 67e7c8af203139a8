"""What the paper reports and claims, and what of it holds here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from report_scores import Difference, System, difference, gain_over

__all__ = ["CLAIMS", "MINUS", "PAPER", "BySystem", "claims", "interval", "points", "table"]

# F1 and accuracies of Zaporojets et al. (2022), tables 2 to 4, with SpanBERT-base; its AIDA has further annotation.
PAPER: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "DWIE test": {
        "Standalone": {"el_m": 88.7, "el_h": 78.4, "coref": 94.5, "S": 80.4, "M": 69.5, "hard": 0.0},
        "Local": {"el_m": 90.5, "el_h": 83.4, "coref": 94.4, "S": 82.6, "M": 78.6, "hard": 41.7},
        "Global": {"el_m": 90.7, "el_h": 83.9, "coref": 94.7, "S": 82.6, "M": 80.0, "hard": 57.6},
    },
    "AIDA testa": {
        "Standalone": {"el_m": 86.2, "el_h": 80.7, "coref": 93.8, "S": 82.9, "M": 70.7, "hard": 0.0},
        "Local": {"el_m": 87.5, "el_h": 83.1, "coref": 94.7, "S": 84.9, "M": 74.8, "hard": 27.4},
        "Global": {"el_m": 87.6, "el_h": 83.7, "coref": 95.1, "S": 85.1, "M": 76.8, "hard": 50.2},
    },
    "AIDA testb": {
        "Standalone": {"el_m": 79.1, "el_h": 74.0, "coref": 91.5, "S": 77.0, "M": 57.0, "hard": 0.0},
        "Local": {"el_m": 79.9, "el_h": 75.8, "coref": 92.3, "S": 79.8, "M": 61.4, "hard": 26.9},
        "Global": {"el_m": 79.6, "el_h": 76.0, "coref": 92.2, "S": 79.3, "M": 63.0, "hard": 29.7},
    },
}
MINUS = "\N{MINUS SIGN}"

BySystem = Mapping[str, System]


# Cells ------------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table and an empty line."""
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows), ""]


def points(value: float) -> str:
    """A signed number of points, without a sign where it rounds to nothing."""
    text = f"{abs(100 * value):.1f}"
    return text if text == "0.0" else f"{'+' if value > 0 else MINUS}{text}"


def interval(found: Difference) -> str:
    """Return a difference with its interval, in points; a bound beside 0 in hundredths, where one sees its side."""
    return f"{points(found.value)} [{_bound(found.low)}, {_bound(found.high)}]"


def _bound(value: float) -> str:
    text = points(value)
    if text != "0.0" or not value:
        return text
    return f"{'+' if value > 0 else MINUS}{abs(100 * value):.2f}"


# Claims -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Claim:
    """What is claimed, and the difference that is above 0 where it holds; `paper` computes the paper's, in points."""

    text: str
    measured: Callable[[BySystem], Difference | None]
    paper: Callable[[Mapping[str, Mapping[str, float]]], float] | None

    @property
    def is_of_the_paper(self) -> bool:
        """Whether the paper makes the comparison; another one is shown, and not counted."""
        return self.paper is not None


def _better(text: str, metric: str, first: str, second: str) -> _Claim:
    return _Claim(
        text,
        lambda systems: difference(metric, systems[first], systems[second]),
        lambda paper: paper[first][metric] - paper[second][metric],
    )


def _gains_more(text: str, metric: str, than: str, first: str, second: str) -> _Claim:
    return _Claim(
        text,
        lambda systems: gain_over(metric, than, systems[first], systems[second]),
        lambda p: (p[first][metric] - p[second][metric]) - (p[first][than] - p[second][than]),
    )


def _over_merged(text: str, metric: str) -> _Claim:
    return _Claim(f"Not compared in the paper: Global {text}",
                  lambda systems: difference(metric, systems["Global"], systems["Merged"]), None)  # fmt: skip


CLAIMS = (
    _better("Local links more mentions right than Standalone (EL_m)", "el_m", "Local", "Standalone"),
    _better("Global links more mentions right than Standalone (EL_m)", "el_m", "Global", "Standalone"),
    _better("Local gets more linked clusters right than Standalone (EL_h)", "el_h", "Local", "Standalone"),
    _better("Global gets more linked clusters right than Standalone (EL_h)", "el_h", "Global", "Standalone"),
    _gains_more("Global's gain over Standalone is larger by cluster than by mention", "el_h", "el_m", "Global",
                "Standalone"),
    _gains_more("Global's gain over Standalone is larger on clusters of several mentions than of one", "M", "S",
                "Global", "Standalone"),
    _better("Global finds more clusters of several mentions than Local", "M", "Global", "Local"),
    _better("Global is better at coreference than Standalone", "coref", "Global", "Standalone"),
    _better("Global gets more linked clusters right than Local (EL_h)", "el_h", "Global", "Local"),
    _better("Local links hard cases, which Standalone cannot", "hard", "Local", "Standalone"),
    _better("Global links more hard cases than Local", "hard", "Global", "Local"),
    _over_merged("gets more linked clusters right than the merged pair (EL_h)", "el_h"),
    _over_merged("finds more clusters of several mentions than the merged pair", "M"),
    _over_merged("links more hard cases than the merged pair", "hard"),
    _over_merged("is better at coreference than the merged pair", "coref"),
)  # fmt: skip
_VERDICTS = {1: "holds", 0: "open", -1: "the opposite"}
_ONE_SEED, _NONE = "one seed", "no difference"


def _verdict(found: Difference) -> str:
    if found.seeds == 1:
        return _ONE_SEED
    return _NONE if found.is_none else _VERDICTS[found.sign]


def claims(systems: Mapping[str, BySystem]) -> Iterator[str]:
    """Every claim of the paper, with what was measured here, and a sentence that counts them."""
    rows = []
    verdicts = []
    for claim in CLAIMS:
        row = [claim.text]
        for title, found in systems.items():
            measured = claim.measured(found)
            if measured is None:
                row.append("not measured")
                continue
            verdict = _verdict(measured)
            if claim.is_of_the_paper:
                verdicts.append(verdict)
            paper = f"; paper {points(claim.paper(PAPER[title]) / 100)}" if title in PAPER and claim.paper else ""
            text = points(0) if measured.is_none else interval(measured)
            row.append(f"**{verdict}**: {text}{paper}")
        rows.append(row)
    if not verdicts:
        return
    yield from table(["claim", *systems], rows)
    several = [verdict for verdict in verdicts if verdict != _ONE_SEED]
    if several:
        yield (
            f"Of {len(several)} comparisons of the paper measured here on several seeds, {several.count('holds')} hold "
            f"(the interval is above 0), {several.count('open')} are open (0 lies in it), in {several.count(_NONE)} "
            "there is no difference (the same score, whichever documents are drawn), and the opposite was found in "
            f"{several.count('the opposite')} (the interval is below 0). Where nothing differs, one comparison in "
            "twenty would still look as if it did, and with two or three seeds up to one in ten."
        )
        yield ""
    opposite = [
        f"{row[0]} ({', '.join(t for t, cell in zip(systems, row[1:], strict=True) if '**the opposite**' in cell)})"
        for row, claim in zip(rows, CLAIMS, strict=True)
        if claim.is_of_the_paper and any("**the opposite**" in cell for cell in row[1:])
    ]
    if opposite:
        yield f"The opposite of the claim was found: {'; '.join(opposite)}."
        yield ""
