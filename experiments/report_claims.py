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
    """Return a difference with its interval, in points."""
    return f"{points(found.value)} [{points(found.low)}, {points(found.high)}]"


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
    _Claim("Not compared in the paper: Global gets more linked clusters right than the merged pair (EL_h)",
           lambda systems: difference("el_h", systems["Global"], systems["Merged"]), None),
)  # fmt: skip
_VERDICTS = {1: "holds", 0: "open", -1: "the opposite"}


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
            verdict = _VERDICTS[measured.sign]
            if claim.is_of_the_paper:
                verdicts.append(verdict)
            paper = f"; paper {points(claim.paper(PAPER[title]) / 100)}" if title in PAPER and claim.paper else ""
            row.append(f"**{verdict}**: {interval(measured)}{paper}")
        rows.append(row)
    if not verdicts:
        return
    yield from table(["claim", *systems], rows)
    counts = {verdict: verdicts.count(verdict) for verdict in _VERDICTS.values()}
    yield (
        f"Of {len(verdicts)} comparisons of the paper measured here, {counts['holds']} hold (the interval is above "
        f"0), {counts['open']} are open (0 lies in it), and the opposite was found in {counts['the opposite']} (it is "
        "below 0)."
    )
    yield ""
    for verdict, begin in (("the opposite", "The opposite of the claim was found"), ("holds", "The claim holds")):
        names = [
            f"{row[0]} ({', '.join(t for t, cell in zip(systems, row[1:], strict=True) if f'**{verdict}**' in cell)})"
            for row, claim in zip(rows, CLAIMS, strict=True)
            if claim.is_of_the_paper and any(f"**{verdict}**" in cell for cell in row[1:])
        ]
        if names:
            yield f"{begin}: {'; '.join(names)}."
            yield ""
