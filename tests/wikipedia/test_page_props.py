from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.wikipedia.page_props import read_qids
from hf_corefel.wikipedia.problems import Problem, WikipediaError

HEAD = """-- MySQL dump
DROP TABLE IF EXISTS `page_props`;
CREATE TABLE `page_props` (
  `pp_page` int(8) unsigned NOT NULL, `pp_propname` varbinary(60) NOT NULL, `pp_value` blob NOT NULL
);
INSERT INTO `other` VALUES (1,'wikibase_item','Q1',NULL);
"""


def quoted(value: str) -> str:
    """Writes a string as mysqldump does."""
    for character, escaped in (("\\", "\\\\"), ("'", "\\'"), ('"', '\\"'), ("\n", "\\n"), ("\0", "\\0")):
        value = value.replace(character, escaped)
    return f"'{value}'"


def read(path: Path, rows: list[tuple[int, str, str]], head: str = HEAD) -> tuple[list[tuple[int, str]], list[Problem]]:
    written = ",".join(f"({page},{quoted(name)},{quoted(value)},NULL)" for page, name, value in rows)
    text = head + (f"INSERT INTO `page_props` VALUES {written};\n" if rows else "")
    path.write_bytes(gzip.compress(text.encode()))
    problems: list[Problem] = []
    return list(read_qids(path, on_problem=problems.append)), problems


def test_items_among_other_properties(tmp_path: Path) -> None:
    rows = [
        (10, "wikibase_item", "Q42"),
        (10, "displaytitle", "it's a (10,'wikibase_item','Q1',NULL) \\"),
        (11, "wikibase-shortdesc", "a; b),(12,'wikibase_item','Q2',NULL),("),
        (12, "wikibase_item", "q7"),
    ]
    assert read(tmp_path / "p.sql.gz", rows) == ([(10, "Q42"), (12, "Q7")], [])


def test_sort_keys_blobs_and_values_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "p.sql"
    path.write_text(
        "INSERT INTO `page_props` VALUES (1,'wikibase_item',_binary 'Q1',NULL),(2,'n',0x51,1.5);\n"
        "INSERT INTO `page_props` VALUES (3,'wikibase_item','Q3',3);\n"
        "INSERT INTO `page_props` (`pp_page`) VALUES (4,'wikibase_item','Q4',NULL),(5,'defaultsort',NULL,NULL);\n"
    )
    assert list(read_qids(path)) == [(1, "Q1"), (3, "Q3"), (4, "Q4")]


def test_values_that_are_no_qid_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "p.sql.gz"
    found, problems = read(path, [(1, "wikibase_item", "P5"), (2, "wikibase_item", "Q2")])
    assert found == [(2, "Q2")]
    assert problems == [
        Problem("bad_line", f"{path}, line 7", 'page 1 has the Wikidata item "P5", which is no QID; it is left out')
    ]


def test_another_table_is_said(tmp_path: Path) -> None:
    with pytest.raises(WikipediaError, match="has no rows of the table page_props"):
        read(tmp_path / "p.sql.gz", [])


VALUES = st.text(st.one_of(st.sampled_from("'\\,()0Q\n\"\0"), st.characters(codec="utf-8")), max_size=12)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(1, 99), st.sampled_from(["displaytitle", "wikibase_item"]), VALUES), min_size=1)
)
def test_any_values_come_back(rows: list[tuple[int, str, str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    rows = [(page, name, "Q5" if name == "wikibase_item" else value) for page, name, value in rows]
    found, problems = read(tmp_path_factory.mktemp("props") / "p.sql.gz", rows)
    assert not problems and found == [(page, "Q5") for page, name, _ in rows if name == "wikibase_item"]
