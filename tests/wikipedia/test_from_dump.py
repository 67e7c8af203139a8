"""What is made of a little dump: every count, every prior, every reason for leaving something out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import KnowledgeBase
from hf_corefel.utils.files import locked
from hf_corefel.wikipedia import WikipediaError, from_dump
from hf_corefel.wikipedia.from_dump import build_from_wikipedia, default_work_folder
from hf_corefel.wikipedia.site import Site
from little_dumps import PAGES, write_dump

NOTHING_LEFT_OUT = {
    "redirects that go in a circle": 0,
    "redirects to nothing": 0,
    "redirects to disambiguation pages": 0,
    "links to nothing": 0,
    "entities with too few links": 0,
    "titles that came more than once": 0,
    "QIDs that page_props and Wikidata give differently": 0,
    "candidates beyond the most that a surface may have": 0,
}


def priors(kb: KnowledgeBase, surface: str) -> dict[str, float]:
    """The candidates of a surface as the table has it, and their priors."""
    return {found.entity: pytest.approx(found.prior, rel=1e-6) for found in kb.candidates(surface, fallback="none")}


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., tuple[KnowledgeBase, dict[str, Any]]]:
    """Writes pages as a dump and builds a knowledge base of it."""

    def build(*pages: tuple[str, str], **options: Any) -> tuple[KnowledgeBase, dict[str, Any]]:
        dump = write_dump(tmp_path / "dump.xml", pages)
        report = build_from_wikipedia([dump], tmp_path / "kb", **{"workers": 1, **options})
        return KnowledgeBase.from_pretrained(tmp_path / "kb"), report

    return build


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[KnowledgeBase, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("little")
    report = build_from_wikipedia([write_dump(folder / "dump.xml.bz2")], folder / "kb", workers=1)
    assert json.loads((folder / "kb" / "report.json").read_bytes()) == report
    assert not default_work_folder(folder / "kb").exists()
    return KnowledgeBase.from_pretrained(folder / "kb"), report


def test_counts_of_a_little_dump(built: tuple[KnowledgeBase, dict[str, Any]]) -> None:
    report = built[1]
    assert report["read"] == {
        "articles": 7,
        "disambiguation pages": 1,
        "links": 14,  # but that of "See also"
        "pages": len(PAGES),
        "pages of other namespaces": 1,
        "redirects": 6,
    }
    assert (report["articles"], report["redirects"], report["disambiguation pages"]) == (7, 6, 1)
    assert report["left out"] == NOTHING_LEFT_OUT | {
        "redirects that go in a circle": 2,
        "redirects to nothing": 1,
        "links to nothing": 3,
    }
    assert report["redirects to other redirects"] == 3  # Christiania, and the two of the circle
    assert report["examples"]["redirects that go in a circle"] == ["Loop A", "Loop B"]
    assert report["problems"] == {}


def test_redirects_links_and_priors(built: tuple[KnowledgeBase, dict[str, Any]]) -> None:
    kb, _ = built
    # Four links to Oslo, one by its old name; and one to the band.
    assert (
        kb.links("Oslo") == 4
        and kb.links("Oslo_(band)") == 1
        and kb.links("Massachusetts_Institute_of_Technology") == 0
    )
    assert kb.redirect("Christiania") == kb.redirect("Kristiania") == "Oslo"
    assert kb.redirect("Loop_A") is None and kb.redirect("Nowhere") is None
    # Weights: three links, the title and an eleventh of the disambiguation page; of the band a link, the form of its
    # title without the qualifier, and the disambiguation page.
    total = 3 + 1 + 0.1 + 1 + 1 + 0.1 + 1
    assert priors(kb, "Oslo") == {"Oslo": 4.1 / total, "Oslo_(band)": 2.1 / total}


def test_a_common_word_is_hardly_a_name(build: Callable[..., tuple[KnowledgeBase, dict[str, Any]]]) -> None:
    """Of two titles with one link each, the one that is a word of every text has a prior of nearly nothing."""
    texts = [(f"Town {number}", f"Town {number} is here. It is old. It is by the sea.") for number in range(30)]
    pages = [
        *texts,
        ("It", "It is a film."),
        ("Sara", "Sara is a woman."),
        ("Cinema", "A film is [[It]], by [[Sara]]."),
    ]
    kb, report = build(*pages)
    assert report["sampled articles"] == len(pages)
    # A link, the title, and one that was not seen; "It" is a link in 1 of 31 articles, and in its own it is the title.
    assert priors(kb, "Sara") == {"Sara": 2 / 3}
    assert priors(kb, "It") == {"It": 2 / 3 * 2 / 32}


def test_a_part_of_a_longer_link_is_no_missed_link(build: Callable[..., tuple[KnowledgeBase, dict[str, Any]]]) -> None:
    kb, _ = build(
        ("Ann Bo", "Ann Bo is a river. Bo is old."),
        ("A", "[[Ann Bo]] came. Bo went."),
        ("B", "[[Ann Bo|Bo]] came."),
        ("C", "Bo came."),
    )
    # One link of two, in two articles, B and C: what A has is a part of a link, and in her own of the title.
    assert priors(kb, "Bo") == {"Ann_Bo": 1 / 2 * 2 / 3}


def test_titles_that_come_twice_count_once(build: Callable[..., tuple[KnowledgeBase, dict[str, Any]]]) -> None:
    kb, report = build(
        ("A", "It is the first."), ("B", "->A"), ("A", "It is the second."), ("B", "->C"), ("C", "Third.")
    )
    assert report["left out"] == NOTHING_LEFT_OUT | {"titles that came more than once": 2}
    assert report["entities"] == 2 and kb.redirect("B") == "A"
    assert kb.description("A") == "It is the first."


def test_long_chains_of_redirects_are_followed(build: Callable[..., tuple[KnowledgeBase, dict[str, Any]]]) -> None:
    chain = [(f"R{number}", f"->R{number + 1}") for number in range(40)]
    kb, report = build(*chain, ("R40", "The end. It links to [[R0|the start]]."), ("S", "->R40#Part"))
    assert {kb.redirect(f"R{number}") for number in range(40)} == {"R40"} == {kb.redirect("S")}
    assert kb.links("R40") == 1 and report["left out"] == NOTHING_LEFT_OUT


def test_entities_with_few_links_are_left_out_with_their_surfaces(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml")
    report = build_from_wikipedia([dump], tmp_path / "kb", workers=1, min_links=2)
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert report["left out"]["entities with too few links"] == 5
    known = [name for name in ("Oslo", "Norway", "Bergen", "Oslo_(band)") if kb.entity_id(name) is not None]
    assert known == ["Oslo", "Norway"]
    # What else Oslo may be still counts.
    assert priors(kb, "Oslo") == {"Oslo": 4.1 / 7.2}
    assert kb.candidates("Denton") == [] and kb.redirect("Kristiania") == "Oslo"


def test_most_candidates(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml")
    report = build_from_wikipedia([dump], tmp_path / "kb", workers=1, max_candidates=1)
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert list(priors(kb, "Oslo")) == ["Oslo"]
    assert report["left out"]["candidates beyond the most that a surface may have"] == 1
    assert report["candidates"] == kb.num_candidates == kb.num_surfaces


@pytest.mark.parametrize(("limit", "entities"), [(1, 1), (3, 3), (7, 7), (1000, 7)])
def test_only_the_first_pages(tmp_path: Path, limit: int, entities: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_dump, "_UNIT_BYTES", 300)
    dump = write_dump(tmp_path / "dump.xml.bz2")
    report = build_from_wikipedia([dump], tmp_path / "kb", workers=1, limit=limit)
    assert report["read"]["pages"] == min(limit, len(PAGES)) and report["entities"] == entities


def test_any_number_of_workers_and_units_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = write_dump(tmp_path / "dump.xml.bz2")
    reports, found = [], set()
    for workers, size in ((1, 10**6), (1, 300), (3, 300)):
        monkeypatch.setattr(from_dump, "_UNIT_BYTES", size)
        reports.append(build_from_wikipedia([dump], tmp_path / "kb", workers=workers))
        found.add(KnowledgeBase.from_pretrained(tmp_path / "kb").fingerprint)
    assert len(found) == 1 and reports[0] == reports[1] == reports[2]


def test_work_that_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_dump, "_UNIT_BYTES", 300)
    dump, calls = write_dump(tmp_path / "dump.xml.bz2"), []
    write_unit = from_dump.write_unit

    def counting(folder: Path, unit: Any, number: int, *more: Any) -> None:
        calls.append(number)
        if len(calls) == 3:
            raise OSError("the disk was full")
        write_unit(folder, unit, number, *more)

    monkeypatch.setattr(from_dump, "write_unit", counting)
    work = tmp_path / "work"
    with pytest.raises(OSError, match="full"):
        build_from_wikipedia([dump], tmp_path / "kb", workers=1, work_dir=work)
    assert not (tmp_path / "kb").exists()
    whole = build_from_wikipedia([dump], tmp_path / "kb", workers=1, work_dir=work)
    assert calls == [0, 1, 2, *range(2, max(calls) + 1)] and len(calls) > 5
    # A work folder with a name of its own stays, for another choice of what goes in.
    del calls[:]
    fewer = build_from_wikipedia([dump], tmp_path / "kb2", workers=1, work_dir=work, min_links=1)
    assert calls == [] and fewer["entities"] < whole["entities"] == 7


def test_another_dump_in_the_same_work_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> None:
        raise OSError("stopped")

    monkeypatch.setattr(from_dump, "build_base", fails)
    dump = write_dump(tmp_path / "dump.xml")
    with pytest.raises(OSError, match="stopped"):
        build_from_wikipedia([dump], tmp_path / "kb", workers=1)
    with pytest.raises(
        WikipediaError, match=r"kb\.work: the work that was begun there has another limit \(null, now 3\)"
    ):
        build_from_wikipedia([dump], tmp_path / "kb", workers=1, limit=3)
    write_dump(dump, PAGES[:5])
    with pytest.raises(WikipediaError, match=r"has another dump .*remove the folder"):
        build_from_wikipedia([dump], tmp_path / "kb", workers=1)


def test_two_runs_do_not_share_a_work_folder(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml")
    with locked(tmp_path / "kb.work"), pytest.raises(OSError, match="another process is writing it"):
        build_from_wikipedia([dump], tmp_path / "kb", workers=1)


def test_a_work_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    with pytest.raises(WikipediaError, match=r"photos: this is no folder of unfinished work, it holds 'cat\.jpg'"):
        build_from_wikipedia([dump], tmp_path / "kb", workers=1, work_dir=tmp_path / "photos")
    assert (tmp_path / "photos" / "cat.jpg").read_bytes() == b"cat"


def test_a_page_that_fails_costs_that_page_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hf_corefel.wikipedia import unit_facts

    page_facts = unit_facts.page_facts

    def failing(page: Any, site: Any) -> Any:
        if page.title == "Norway":
            raise RecursionError("nobody foresaw this")
        return page_facts(page, site)

    monkeypatch.setattr(unit_facts, "page_facts", failing)
    report = build_from_wikipedia([write_dump(tmp_path / "dump.xml")], tmp_path / "kb", workers=1)
    assert report["entities"] == 6
    assert report["problems"]["failed"]["count"] == 1
    assert "page 'Norway': RecursionError: nobody foresaw this" in report["problems"]["failed"]["examples"][0]


def test_a_dump_without_articles_makes_nothing(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml", [("A", "->B"), ("Talk:A", "Nothing.")])
    with pytest.raises(WikipediaError, match="nothing was saved"):
        build_from_wikipedia([dump], tmp_path / "kb", workers=1)
    assert not (tmp_path / "kb").exists()


def test_a_wikipedia_of_another_language(tmp_path: Path) -> None:
    dump = write_dump(
        tmp_path / "dump.xml", [("Köln", "'''Köln''' liegt am [[Rhein]]."), ("Rhein", "Ein Fluss.")], language="de"
    )
    build_from_wikipedia([dump], tmp_path / "kb", workers=1)
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert kb.url("Köln") == "https://de.wikipedia.org/wiki/K%C3%B6ln" and kb.links("Rhein") == 1
    with pytest.raises(WikipediaError, match="its language is 'de', not 'en'"):
        build_from_wikipedia([dump], tmp_path / "kb", workers=1, language="en")


def test_a_wiki_that_is_no_wikipedia_leads_to_its_own_pages(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml", [("go", "It means to [[move]]."), ("move", "It means to go.")])
    text = dump.read_text(encoding="utf-8").replace("en.wikipedia.org", "en.wiktionary.org")
    dump.write_text(
        text.replace("first-letter", "case-sensitive").replace(">Wikipedia<", ">Wiktionary<"), encoding="utf-8"
    )
    build_from_wikipedia([dump], tmp_path / "kb", workers=1)
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert kb.url("go") == "https://en.wiktionary.org/wiki/go" and kb.links("move") == 1


@pytest.mark.parametrize(
    ("base", "template"),
    [
        ("http://en.wikipedia.org/wiki/Main_Page", "https://en.wikipedia.org/wiki/{entity}"),
        ("http://intranet/wiki/Main/Page", "http://intranet/wiki/{entity}"),
        ("https://wiki.corp.example/index.php/Main_Page", "https://wiki.corp.example/index.php/{entity}"),
        ("https://corp.example/w/index.php?title=Main_Page", "https://corp.example/w/index.php?title={entity}"),
        ("https://corp.example/title/Main_Page", "https://corp.example/title/{entity}"),
        ("https://corp.example/w/index.php?curid=1", None),
        ("https://corp.example", None),
    ],
)
def test_addresses_of_other_wikis(base: str, template: str | None) -> None:
    assert from_dump._url_template(Site(base=base, described=True)) == template


def test_a_folder_with_signs_of_patterns_has_its_own_facts_only(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml")
    build_from_wikipedia([dump], tmp_path / "kb-1", workers=1, work_dir=tmp_path / "work-1", limit=2)
    report = build_from_wikipedia([dump], tmp_path / "kb", workers=1, work_dir=tmp_path / "work*")
    assert report["left out"]["titles that came more than once"] == 0


def test_what_would_fail_at_the_end_fails_at_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = write_dump(tmp_path / "dump.xml")
    with pytest.raises(NotADirectoryError):
        build_from_wikipedia([dump], dump, workers=1)
    with pytest.raises(WikipediaError, match=r"kb\?\.work: DuckDB, .* name another --out or --work-dir"):
        build_from_wikipedia([dump], tmp_path / "kb?", workers=1)
    assert not list(tmp_path.glob("kb*"))
    monkeypatch.setattr(from_dump, "find_spec", lambda name: None)
    with pytest.raises(WikipediaError, match=r"pip install 'hf-corefel\[wikipedia\]'"):
        build_from_wikipedia([dump], tmp_path / "kb", workers=1)
    assert not (tmp_path / "kb.work").exists()


def test_vectors_are_taken_of_another_knowledge_base(tmp_path: Path) -> None:
    import numpy as np

    known = KnowledgeBase.build(
        [("Oslo", [("Oslo", 1.0)]), ("A", [("Bergen", 1.0)])], vectors=(["Oslo", "Bergen"], np.eye(2, 4))
    )
    build_from_wikipedia([write_dump(tmp_path / "dump.xml")], tmp_path / "kb", workers=1, vectors_of=known)
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert kb.vector_size == 4
    np.testing.assert_allclose(kb.vector_for("Oslo"), known.vector_for("Oslo"))
