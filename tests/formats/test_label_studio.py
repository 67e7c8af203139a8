"""Label Studio: what people corrected comes back, at its place, and what is no task is named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from format_documents import content, gold
from hf_corefel import Cluster, Document, Mention
from hf_corefel.documents import DocumentError
from hf_corefel.formats import read_documents
from hf_corefel.formats.label_studio import CONFIG

TEXT = "Ada Lo met Dr. Bo in Oslo.\n\nShe left\tOslo!  👍🏽 Bye, Ada."
KNOWN = Cluster((Mention(0, 6), Mention(28, 31)), "Ada_Lo", wikidata="Q7", type="person")


def test_a_corrected_entity_of_label_studio_loses_the_old_ones_id(tmp_path: Path) -> None:
    data, _ = content("label_studio", [Document(TEXT, clusters=[KNOWN])])
    (tmp_path / "x.label_studio.json").write_text(data.decode().replace('"Ada_Lo"\n', '"Ada_Lovelace"\n'))
    (found,) = read_documents(tmp_path / "x.label_studio.json")
    assert [(c.entity, c.wikidata, c.type) for c in found.clusters] == [("Ada_Lovelace", None, None)]


def test_label_studio_gives_back_what_people_corrected(tmp_path: Path) -> None:
    data, _ = content("label_studio", [Document(TEXT, clusters=[KNOWN])])
    (task,) = json.loads(data)
    names = {item["from_name"] for item in task["predictions"][0]["result"] if "from_name" in item}
    assert all(f'name="{name}"' in CONFIG for name in names) and 'value="$text"' in CONFIG
    corrected = [item for item in task["predictions"][0]["result"] if item["type"] == "labels"][:2]
    corrected += [{"type": "relation", "from_id": corrected[0]["id"], "to_id": corrected[1]["id"]}]
    task["annotations"] = [{"was_cancelled": True, "result": []}, {"result": corrected}]
    (tmp_path / "x.label_studio.json").write_text(json.dumps([task]))
    (found,) = read_documents(tmp_path / "x.label_studio.json")
    assert gold(found) == {(None, frozenset({(0, 6), (28, 31)}))}


def tasks(of: str, /, **region: Any) -> str:
    """Label Studio's file of one task with one region."""
    item = {"id": "a", "from_name": "label", "to_name": "text", "type": "labels", "value": region}
    return json.dumps([{"data": {"text": of}, "annotations": [{"result": [item]}]}])


@pytest.mark.parametrize(("start", "end"), [(2, 6), (3, 7)], ids=["code points", "UTF-16"])
def test_offsets_of_label_studio_behind_emoji(start: int, end: int, tmp_path: Path) -> None:
    text = "😀 Oslo is old, said Berg."
    (tmp_path / "x.label_studio.json").write_text(tasks(text, start=start, end=end, text="Oslo", labels=["Mention"]))
    (found,) = read_documents(tmp_path / "x.label_studio.json")
    assert [m.text for c in found.clusters for m in c.mentions] == ["Oslo"]


@pytest.mark.parametrize(
    ("text", "region", "problem"),
    [
        ("Oslo is old.", {"start": 0, "end": 4, "text": "Bergen"}, "'Bergen' is not what stands at 0..4, 'Oslo'"),
        ("Oslo is old.", {"start": 4, "end": 4, "text": ""}, "empty"),
        ("Oslo is old.", {"start": "0", "end": 4}, "region.begin: expected an integer"),
        ("Oslo is old.", {"start": 0, "end": 40}, "outside the text"),
    ],
)
def test_regions_of_label_studio_that_are_none_are_named(
    text: str, region: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    (tmp_path / "x.label_studio.json").write_text(tasks(text, **region))
    with pytest.raises(DocumentError, match=f"label_studio.json: task 0: .*{re.escape(problem)}"):
        list(read_documents(tmp_path / "x.label_studio.json"))


def test_white_space_in_regions_of_label_studio_is_the_texts(tmp_path: Path) -> None:
    region = {"start": 0, "end": 8, "text": "New York"}
    for text, place in (("New\nYork is.", region), ("New York is.", {"start": 0, "end": 8})):
        (tmp_path / "x.label_studio.json").write_text(tasks(text, **place))
        (found,) = read_documents(tmp_path / "x.label_studio.json")
        assert [m.text for c in found.clusters for m in c.mentions] == [text[:8]]
