"""The style sheets of the page and of a result in a notebook, made of one file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from ..documents import Cluster

__all__ = ["MOST_COLOURS", "can_be_lit", "page_style", "part_style"]

# Each colour is a rule of the style sheet; clusters beyond begin again.
MOST_COLOURS = 400
# Another rule a colour lights up all mentions of the cluster that is pointed at. What it costs the browser grows with
# rules times mentions: with so many, Chromium opens a page half a second later.
_MOST_LIT = 200_000
# Steps of the golden angle keep neighbours far apart, however many there are.
_GOLDEN_ANGLE = 137.508
_SCHEMES = re.compile(r":root \{(.*?)\}", re.DOTALL)
_BELOW_COLOURS = "/* What follows holds on a page and in a notebook. */"
_REM = re.compile(r"(\d*\.?\d+)rem\b")
_PIXELS = 16
# How notebooks, documentation and Gradio say that they are dark. Where nobody does, the system's preference counts.
_DARK_HOSTS = (
    '[data-jp-theme-light="false"]',
    '[theme="dark"]',
    '[data-theme="dark"]',
    '[data-md-color-scheme="slate"]',
    ".dark",
    ".vscode-dark",
    ".vscode-high-contrast:not(.vscode-high-contrast-light)",
)
_ANY_HOST = (
    "[data-jp-theme-light], [theme], [data-theme], [data-md-color-scheme], .vscode-light, .vscode-high-contrast, "
    ".gradio-container"
)


def can_be_lit(colours: int, clusters: Iterable[Cluster]) -> bool:
    """Return whether a browser can light up the other mentions of the cluster that is pointed at, without delay."""
    return colours * sum(len(cluster.mentions) for cluster in clusters) <= _MOST_LIT


def page_style(colours: int, *, lit: bool) -> str:
    """The sheet of a page, with so many colours and, if ``lit``, the rules that light up a cluster's other mentions."""
    return "\n".join([_sheet(), *_hues(colours, lit=lit), ""])


def part_style(place: str, colours: int, *, lit: bool) -> str:
    """The sheet of a part of somebody else's page: each rule holds inside the element of an id only.

    Lengths do not depend on the page's, the width is that of the element, and colours follow the page's scheme.
    """
    light, dark = _SCHEMES.findall(_sheet())[:2]
    rules = _sheet().partition(_BELOW_COLOURS)[2].replace("@media (max-width:", "@container (max-width:")
    rules = _REM.sub(lambda match: f"{float(match[1]) * _PIXELS:g}px", "\n".join([rules, *_hues(colours, lit=lit)]))
    said_nowhere = f":root:not(:is({_ANY_HOST}), :has({_ANY_HOST}))"
    in_dark = ", ".join(f"{host} #{place}" for host in _DARK_HOSTS)
    dark += "color-scheme: dark;"
    return "\n".join(
        [
            f"#{place} {{{light}color-scheme: light;}}",
            f"@media (prefers-color-scheme: dark) {{ {said_nowhere} #{place} {{{dark}}} }}",
            f"{in_dark} {{{dark}}}",
            f"#{place} {{{_FRAME}{rules}{_IN_A_CELL}}}",
            "",
        ]
    )


_FRAME = """
container-type: inline-size; margin: 0.25em 0; padding: 0 14px 12px; border: 1px solid var(--line); border-radius: 8px;
background: var(--paper); color: var(--ink); font: 15px/1.5 var(--sans); text-align: start;
"""
_IN_A_CELL = """
aside { position: static; max-height: 32em; }
@container (max-width: 960px) { .clusters { grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); } }
li { margin: 0; }
[role="heading"] { font-size: 17px; font-weight: 600; overflow-wrap: anywhere; }
[role="heading"].once { margin: 16px 0 6px; color: var(--soft); font-size: 13px; }
"""


def _hues(colours: int, *, lit: bool) -> list[str]:
    hues = [f".c{c}{{--h:{c * _GOLDEN_ANGLE % 360:.1f}}}" for c in range(colours)]
    lights = [
        f".document:has(.c{c}:hover,.c{c}:focus-within) .m.c{c}{{box-shadow:var(--ring)}}"
        for c in range(colours if lit else 0)
    ]
    return [*hues, *lights]


@cache
def _sheet() -> str:
    return files(__package__).joinpath("page.css").read_text(encoding="utf-8")
