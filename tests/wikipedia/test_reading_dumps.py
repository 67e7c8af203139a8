from __future__ import annotations

import bz2
import gzip
import pickle
import random
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dump_files import END, dump_xml, head_xml, kinds, multistream, page_xml, pages_of
from hf_corefel.wikipedia import dumps, streams, units
from hf_corefel.wikipedia.dumps import Page, read_site, split
from hf_corefel.wikipedia.problems import Problem, WikipediaError

PAGES = [page_xml(f"Town {number}", f"'''Town {number}''' & more", page_id=number) for number in range(1, 8)]
TITLES = [f"Town {number}" for number in range(1, 8)]


def titles(pages: list[Page]) -> list[str]:
    return [page.title for page in pages]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "bz2": bz2.compress,
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "two gzip members": lambda data: gzip.compress(data[:900]) + gzip.compress(data[900:]),
    "two zstandard frames": lambda data: zstandard.compress(data[:900]) + zstandard.compress(data[900:]),
    "bz2 streams that cut pages": lambda data: bz2.compress(data[:900]) + bz2.compress(b"") + bz2.compress(data[900:]),
}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("version", ["0.9", "0.10", "0.11"])
def test_pages_of_every_packing_and_schema(tmp_path: Path, packed: str, version: str) -> None:
    path = tmp_path / "dump"
    head = head_xml(version=version)
    path.write_bytes(PACKED[packed](dump_xml(PAGES, head)))
    pages, problems = pages_of(path)
    assert not problems and titles(pages) == TITLES
    assert pages[2] == Page("Town 3", 0, 3, None, "'''Town 3''' & more", pages[2].offset, "wikitext")
    assert pages[0].offset == len(head) + 2
    site = read_site(path)
    assert (site.name, site.database, site.version, site.described) == ("Wikipedia", "enwiki", version, True)


def test_a_dump_without_siteinfo_is_read_by_the_english_rules(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(dump_xml([page_xml("Category:Towns", namespace=None), *PAGES], head_xml(site=None)))
    site = read_site(path)
    assert not site.described and site.language == "en" and site.namespace_of("image") == 6
    pages, problems = pages_of(path)
    assert not problems and [page.namespace for page in pages] == [14] + [0] * 7
    path.write_bytes(b"".join(PAGES))  # not even a root
    assert titles(pages_of(path)[0]) == TITLES and read_site(path).case == "first-letter"


def test_the_head_is_read_once_for_pages_without_a_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(dump_xml([page_xml(f"Category:{name}", namespace=None) for name in "ABC"]))
    asked: list[Path] = []
    monkeypatch.setattr(dumps, "read_site", lambda path: asked.append(path) or read_site(path))
    assert [page.namespace for page in pages_of(path)[0]] == [14] * 3 and asked == [path]


def test_what_is_no_dump_is_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(WikipediaError, match=r"notes\.txt: is no MediaWiki XML dump"):
        read_site(path)
    path.write_bytes(b"\xfd7zXZ\0 and more")
    with pytest.raises(WikipediaError, match="is packed as xz; unpack it"):
        read_site(path)
    path.write_bytes(b"")
    assert pages_of(path) == ([], [])


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.xml.zst"
    path.write_bytes(zstandard.compress(dump_xml(PAGES)))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(WikipediaError, match=r"dump\.xml\.zst: .* zstandard: pip install 'hf-corefel\[wikipedia\]'"):
        read_site(path)


def test_fields_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    old = page_xml("Of two", "new").replace(b"  <revision>", b"  <revision><text>old</text></revision>\n  <revision>")
    deleted = page_xml("Hidden").replace(b'<text bytes="9" xml:space="preserve"></text>', b'<text deleted="deleted" />')
    path.write_bytes(
        dump_xml([old, deleted, page_xml("UK", redirect="A & B"), page_xml("Q1", "{}", model="wikibase-item")])
    )
    pages, problems = pages_of(path)
    assert not problems
    assert [(page.title, page.text, page.redirect, page.model) for page in pages] == [
        ("Of two", "new", None, "wikitext"),
        ("Hidden", "", None, "wikitext"),
        ("UK", "", "A & B", "wikitext"),
        ("Q1", "{}", None, "wikibase-item"),
    ]


BAD_PAGES = {
    "broken_xml": page_xml("Bad").replace(b"</title>", b"</tittle>"),
    "too_big": page_xml("Bad", "x" * 3000),
    "control_characters": page_xml("B\x01d"),
    "control_characters ": page_xml("Bd").replace(b"Bd", b"B&#7;d"),
    "control_characters  ": page_xml("B\x85d"),
    "no_title": page_xml(""),
    "bad_title": page_xml("A|B"),
    "bad_title ": page_xml("A").replace(b"<title>A", b"<title>Caf\xe9"),
    "bad_title  ": page_xml("A" * 400),
    "bad_field": page_xml("Bad").replace(b"<ns>0<", b"<ns>zero<"),
    "self_redirect": page_xml("Bad_one", redirect="Bad one"),
    "broken_xml ": page_xml("Bad").replace(b"  </page>\n", b""),
    "broken_xml  ": page_xml("Bad").replace(b"<text", b"<!ENTITY x 'y'><text"),
    "broken_xml   ": page_xml("Bad", "&").replace(b"&amp;", b"&nbsp;"),
}


@pytest.mark.parametrize("kind", BAD_PAGES)
def test_a_bad_page_costs_that_page_alone(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "MAX_PAGE_BYTES", 2000)
    path = tmp_path / "dump.xml"
    before = dump_xml(PAGES[:3]).removesuffix(END)
    path.write_bytes(before + BAD_PAGES[kind] + b"".join(PAGES[3:]) + END)
    pages, problems = pages_of(path)
    assert titles(pages) == TITLES
    assert kinds(problems) == [kind.strip()]
    assert problems[0].where.startswith(f"{path}, byte {len(before) + 2} of the unpacked XML")
    assert "it is left out" in problems[0].message or "the page is left out" in problems[0].message
    assert problems[0].where.isprintable()


def test_bytes_that_are_no_text_are_replaced_in_texts(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(dump_xml([page_xml("A", "caf#").replace(b"caf#", b"caf\xe9\x02 &#5;")]))
    pages, problems = pages_of(path)
    assert [page.text for page in pages] == ["caf\ufffd "] and not problems


def test_a_page_of_20_megabytes_is_passed_over_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml.gz"
    path.write_bytes(gzip.compress(dump_xml([PAGES[0], page_xml("Big", "word " * 4_000_000), *PAGES[1:]]), 1))
    tracemalloc.start()
    pages, problems = pages_of(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert titles(pages) == TITLES and kinds(problems) == ["too_big"]
    assert 'page "Big"' in problems[0].where and "20,000," in problems[0].message
    assert peak < 3 * dumps.MAX_PAGE_BYTES


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(dump_xml([page_xml("A", "word " * 2000)] * 1000))
    tracemalloc.start()
    count = sum(1 for _ in dumps.read_pages(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 1000 and path.stat().st_size > 10_000_000 > 2 * peak


@pytest.mark.parametrize("suffix", ["bz2", "gz", "zst", "plain"])
def test_a_truncated_file_gives_what_came_before_and_says_so(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "dump"
    # Pages that hardly pack, so that half of the file is about half of them.
    pages = [
        page_xml(f"Page {number}", "".join(chr(33 + (number * k * k) % 20011) for k in range(2000)))
        for number in range(300)
    ]
    whole = PACKED[suffix](dump_xml(pages))
    path.write_bytes(whole[: len(whole) * 2 // 3])
    found, problems = pages_of(path)
    if suffix != "bz2":  # which unpacks blocks of 900 kB
        assert 50 < len(found) < 300
    assert titles(found) == [f"Page {number}" for number in range(len(found))]
    assert "truncated" in kinds(problems)
    assert all(problem.where.startswith(str(path)) for problem in problems)


def test_a_file_that_ends_between_two_pages_is_truncated_too(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(dump_xml(PAGES).removesuffix(END))
    for source in (path, split([path], 3)[-1]):
        pages, problems = pages_of(source)
        assert pages and kinds(problems) == ["truncated"]
        assert "ends without </mediawiki>" in problems[0].message


def test_every_stream_but_the_damaged_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml.bz2"
    parts = multistream(head_xml(), PAGES)
    damaged = parts[2][:40] + bytes(20) + parts[2][60:]  # Town 3 and 4
    path.write_bytes(b"".join([*parts[:2], damaged, *parts[3:]]))
    pages, problems = pages_of(path)
    assert titles(pages) == ["Town 1", "Town 2", "Town 5", "Town 6", "Town 7"]
    assert kinds(problems) == ["damaged"]
    assert problems[0].where == f"{path}, byte {len(parts[0]) + len(parts[1])}"
    assert f"{len(damaged)} bytes are left out" in problems[0].message


def test_bytes_between_streams_and_a_stream_that_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml.bz2"
    parts = multistream(head_xml(), PAGES)
    path.write_bytes(b"".join([*parts[:2], b"rubbish", *parts[2:4], parts[4][:-30]]))
    pages, problems = pages_of(path)
    assert titles(pages) == TITLES[:6] and kinds(problems) == ["damaged", "truncated"]
    assert "7 bytes are left out" in problems[0].message


def test_streams_are_found_wherever_they_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.xml.bz2"
    parts = multistream(head_xml(), PAGES, 1)
    path.write_bytes(b"".join(parts))
    starts = [sum(map(len, parts[:number])) for number in range(len(parts))]
    for size in (16, 7, 1000):
        monkeypatch.setattr(streams, "_READ", size)
        assert streams.stream_starts(path) == starts


def read_in_parts(paths: list[Path], parts: int) -> list[str]:
    parted = split(paths, parts)
    assert parted == pickle.loads(pickle.dumps(parted))
    found: list[str] = []
    for unit in parted:
        pages, problems = pages_of(unit)
        assert not problems
        found += titles(pages)
    return found


def single_stream(path: Path, count: int = 300) -> list[str]:
    """Writes a dump as one bz2 stream of many blocks; returns the titles."""
    generator = random.Random(1)
    texts = ["".join(generator.choices("abcdefgh[]|{} ", k=generator.randrange(4000))) for _ in range(count)]
    path.write_bytes(bz2.compress(dump_xml([page_xml(f"P{number}", text) for number, text in enumerate(texts)]), 1))
    return [f"P{number}" for number in range(count)]


@pytest.mark.parametrize("parts", [2, 5, 40])
def test_a_single_bz2_stream_is_cut_at_its_blocks(tmp_path: Path, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "SMALLEST_PART", 200)
    path = tmp_path / "dump.xml.bz2"
    expected = single_stream(path)
    assert 0.9 * parts < len(split([path], parts)) <= parts
    assert read_in_parts([path], parts) == expected
    whole, _ = pages_of(path)
    assert [page.text for unit in split([path], parts) for page in pages_of(unit)[0]] == [page.text for page in whole]


def test_a_damaged_block_of_a_single_stream_costs_that_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "SMALLEST_PART", 200)
    path = tmp_path / "dump.xml.bz2"
    expected = single_stream(path)
    whole = bytearray(path.read_bytes())
    whole[len(whole) * 3 // 10] ^= 0xFF
    path.write_bytes(whole)
    problems: list[Problem] = []
    found: list[str] = []
    for unit in split([path], 4):
        pages, said = pages_of(unit)
        found += titles(pages)
        problems += said
    assert kinds(problems) == ["damaged", "truncated"]  # the block, and the page that began before it
    assert 200 < len(found) < 290 and set(found) < set(expected) and len(set(found)) == len(found)
    path.write_bytes(path.read_bytes()[:-300])
    assert "truncated" in kinds(pages_of(split([path], 4)[-1])[1])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_page_is_in_exactly_one_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    """Streams may end anywhere, also in a page or in the mark at which one begins."""
    monkeypatch.setattr(units, "SMALLEST_PART", 1)
    files = data.draw(st.integers(1, 3))
    paths, expected = [], []
    for number in range(files):
        lengths = data.draw(st.lists(st.integers(0, 400), max_size=8))
        pages = [page_xml(f"{number} {index}", "é" * length) for index, length in enumerate(lengths)]
        expected += [f"{number} {index}" for index in range(len(lengths))]
        xml = dump_xml(pages)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(xml)), max_size=12)))
        pieces = [xml[start:end] for start, end in zip([0, *cuts], [*cuts, len(xml)], strict=True)]
        kind = data.draw(st.sampled_from(["plain", "bz2", "gz"]))
        path = tmp_path / f"{number}"
        path.write_bytes(xml if kind == "plain" else b"".join(map(PACKED[kind], pieces)))
        paths.append(path)
    assert read_in_parts(paths, data.draw(st.integers(1, 20))) == expected


def test_units_are_of_about_equal_size(tmp_path: Path) -> None:
    large, small = tmp_path / "large.bz2", tmp_path / "small.xml"
    large.write_bytes(b"".join(multistream(head_xml(), PAGES * 40)))
    small.write_bytes(dump_xml(PAGES * 2))
    parted = split([large, small], 8)
    assert {unit.path for unit in parted} == {large, small} and len(parted) in (8, 9)
    assert sum(unit.size for unit in parted) == large.stat().st_size + small.stat().st_size
    assert max(unit.size for unit in parted) < 2.5 * min(unit.size for unit in parted if unit.path == large)
    single = tmp_path / "single.bz2"
    single.write_bytes(bz2.compress(dump_xml(PAGES)))
    assert [(unit.start, unit.end) for unit in split([single], 4)] == [(0, None)]


def test_broken_xml_in_one_unit_is_not_read_twice(tmp_path: Path) -> None:
    """A page without an end at a unit's end must not swallow the next unit's first page."""
    path = tmp_path / "dump.xml.bz2"
    open_page = page_xml("Open").replace(b"  </page>\n", b"")
    path.write_bytes(b"".join(multistream(head_xml(), [*PAGES[:3], open_page, *PAGES[3:]], 2)))
    found = [pages_of(unit) for unit in split([path], 5)]
    assert [title for pages, _ in found for title in titles(pages)] == TITLES
    assert [kind for _, problems in found for kind in kinds(problems)] == ["broken_xml"]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    packed=st.sampled_from(["plain", "bz2", "gz", "zst", "two gzip members", "bz2 streams that cut pages"]),
    faults=st.lists(
        st.tuples(
            st.sampled_from(["flip", "cut", "double", "insert"]), st.floats(0, 1), st.binary(min_size=1, max_size=9)
        ),
        min_size=1,
        max_size=4,
    ),
    parts=st.integers(1, 5),
)
def test_no_damage_is_an_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    packed: str,
    faults: list[tuple[str, float, bytes]],
    parts: int,
) -> None:
    """Whatever happens to a file, pages that are whole come, and something is said where some are missing."""
    monkeypatch.setattr(units, "SMALLEST_PART", 1)
    data = PACKED[packed](dump_xml(PAGES))
    for fault, share, extra in faults:
        place = 8 + int(share * (len(data) - 8))  # the first bytes say what kind of file it is
        if fault == "flip":
            data = data[:place] + bytes(255 - byte for byte in data[place : place + 2]) + data[place + 2 :]
        elif fault == "cut":
            data = data[:place]
        elif fault == "double":
            data = data[:place] + data
        else:
            data = data[:place] + extra + data[place:]
    path = tmp_path / "dump"
    path.write_bytes(data)
    found, problems = pages_of(path)
    assert len(found) >= 7 or problems or packed == "plain"
    assert all(page.title and page.title.isprintable() for page in found)
    for unit in split([path], parts):
        pages_of(unit)
