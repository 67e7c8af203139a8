"""Every colour of the page can be read on its ground, in light and in dark (WCAG 2, level AA)."""

from __future__ import annotations

import math
import re
from importlib.resources import files

import pytest

SHEET = files("hf_corefel.formats").joinpath("page.css").read_text(encoding="utf-8")
TEXT, SIGN = 4.5, 3.0
NAMES = ("ink", "soft", "paper", "card", "link", "alone", "tip", "tip-ink", "warn", "warn-edge")

Colour = tuple[float, float, float]


def variables(scheme: str) -> dict[str, str]:
    """The custom properties of a scheme; dark ones are said beside the light ones."""
    light, dark = re.findall(r":root \{(.*?)\}", SHEET, re.S)[:2]
    read = dict(re.findall(r"--([\w-]+):\s*([^;]+);", light))
    return read if scheme == "light" else {**read, **dict(re.findall(r"--([\w-]+):\s*([^;]+);", dark))}


def from_hex(value: str) -> Colour:
    """Linear red, green and blue of ``#rrggbb``."""
    channels = [int(value[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return red, green, blue


def from_oklch(lightness: float, chroma: float, hue: float) -> Colour:
    """Linear red, green and blue, cut to what a screen can show (Ottosson's OKLab)."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short
    red, green, blue = (min(max(channel, 0.0), 1.0) for channel in (red, green, blue))
    return red, green, blue


def contrast(left: Colour, right: Colour) -> float:
    bright, dark = sorted((0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (left, right)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast(from_hex("#ffffff"), from_hex("#000000")) == pytest.approx(21)
    assert contrast(from_hex("#767676"), from_hex("#ffffff")) == pytest.approx(4.54, abs=0.01)
    assert from_oklch(1.0, 0.0, 0.0) == pytest.approx((1.0, 1.0, 1.0), abs=1e-3)
    assert from_oklch(0.627966, 0.257704, 29.2346) == pytest.approx((1.0, 0.0, 0.0), abs=1e-3)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_on_every_ground(scheme: str) -> None:
    colours = {name: from_hex(value) for name, value in variables(scheme).items() if value.startswith("#")}
    assert set(NAMES) <= set(colours)
    pairs = [(ink, ground) for ink in ("ink", "soft", "link") for ground in ("paper", "card")]
    pairs += [("ink", "alone"), ("soft", "alone"), ("ink", "warn"), ("tip-ink", "tip")]
    for ink, ground in pairs:
        assert contrast(colours[ink], colours[ground]) >= TEXT, (ink, ground)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_mentions_can_be_read_in_every_hue(scheme: str) -> None:
    values = variables(scheme)
    ink, card, paper = (from_hex(values[name]) for name in ("ink", "card", "paper"))

    def coloured(name: str, hue: int) -> Colour:
        return from_oklch(float(values[f"{name}-l"]), float(values[f"{name}-c"]), hue)

    for hue in range(360):
        fill, edge, deep = (coloured(name, hue) for name in ("fill", "edge", "deep"))
        assert contrast(ink, fill) >= TEXT, ("a mention's words", hue)
        assert contrast(deep, fill) >= TEXT, ("its number", hue)
        assert contrast(deep, card) >= TEXT, ("its number in the list", hue)
        assert contrast(edge, paper) >= SIGN, ("its underline", hue)
        assert contrast(edge, card) >= SIGN, ("the bar", hue)
