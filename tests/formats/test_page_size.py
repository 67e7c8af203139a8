"""What the page and the command's table hold grows as the mentions do, whatever these hang from."""

from __future__ import annotations

import io
import re
from types import ModuleType

import pytest

from hf_corefel import AnnotatedDocument, Cluster, Mention
from hf_corefel.cli.rendering import show_document
from hf_corefel.formats import render_html
from script_loading import load_script


@pytest.fixture(scope="module")
def sizes() -> ModuleType:
    """The benchmark that opens such pages in a browser, for its documents."""
    return load_script("benchmarks/page_size.py")


def page(document: AnnotatedDocument) -> str:
    return render_html([document])


def table(document: AnnotatedDocument) -> str:
    screen = io.StringIO()
    show_document(document, stream=screen)
    return screen.getvalue()


@pytest.mark.parametrize("render", [page, table])
def test_a_chain_of_twice_the_depth_takes_twice_the_room(sizes: ModuleType, render: object) -> None:
    assert callable(render)
    short, long = (len(render(sizes.deep_chain(depth))) for depth in (500, 1_000))
    assert long <= 2.2 * short
    # A mention costs as much in a deep chain as in clusters of their own, some more for its steps.
    assert long <= 2 * len(render(sizes.many_clusters(1_000, 1)))


def test_twice_the_clusters_take_twice_the_room(sizes: ModuleType) -> None:
    few, many = (len(page(sizes.many_clusters(clusters, 2))) for clusters in (500, 1_000))
    assert many <= 2.2 * few


def rules(text: str) -> tuple[int, bool]:
    """How many rules light up a cluster, and whether the page says that none does."""
    (style,) = re.findall("<style>(.*?)</style>", text, re.S)
    return len(re.findall(r"^\.document:has\(", style, re.M)), "do not light up" in text


def test_clusters_light_up_where_that_is_affordable(sizes: ModuleType) -> None:
    assert rules(page(sizes.many_clusters(40, 5))) == (40, False)
    assert rules(page(sizes.many_clusters(1_000, 1))) == (0, True)
    assert rules(page(sizes.many_clusters(2, 2_000))) == (3, False)
    # Of many documents the rules are those of the one with the most, the mentions those of all.
    document = sizes.many_clusters(100, 2)
    assert rules(render_html([document] * 10)) == (100, False)
    assert rules(render_html([document] * 11)) == (0, True)


def test_mentions_that_are_alone_need_no_rule() -> None:
    alone = [Cluster((Mention(i, i + 1),)) for i in range(1_000)]
    assert rules(page(AnnotatedDocument("x" * 1_000, alone))) == (3, False)


def test_what_few_rules_the_sheet_itself_has(sizes: ModuleType) -> None:
    """Those with :has() are weighed for each mention that the browser reads."""
    text = page(sizes.many_clusters(1_000, 1))
    assert len(re.findall(r":has\(", text)) <= 8


def test_no_direction_is_looked_for_by_the_browser(sizes: ModuleType) -> None:
    """Which it would do again with each of the elements inside."""
    assert 'dir="auto"' not in page(sizes.many_clusters(3, 2))


def test_the_benchmark_says_when_there_is_no_browser(
    sizes: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert sizes.main() == 1
    assert capsys.readouterr().err == "needs Chromium and chromedriver, which are not installed\n"
