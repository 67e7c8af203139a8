"""Label Studio: tasks with predictions to correct by hand, and what came of it as gold documents.

A mention is a region with the label ``Mention``, mentions of a cluster are chained by relations, and the entity is the
text of a field at each region (`CONFIG` is a labelling interface of them). What is known of the entities stands in the
task's data, by their names, so that an entity that somebody corrects loses what is not true of it. Offsets are code
points, also of regions that an older version counted in UTF-16.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..documents import Cluster, Document, DocumentError, Mention, Offsets
from ..documents.checks import check_offsets
from .json_text import escaped_in_json, json_list
from .writer import AnyDocument, Losses, Writer, clusters_of, count_facts_of_nil, count_losses

__all__ = ["CONFIG", "LabelStudio"]

CONFIG = """\
<View>
  <Labels name="label" toName="text"><Label value="Mention"/></Labels>
  <Text name="text" value="$text"/>
  <Relations><Relation value="coreference"/></Relations>
  <TextArea name="entity" toName="text" perRegion="true"/>
</View>
"""


_FACTS = ("wikidata", "type")


class LabelStudio(Writer):
    """Label Studio's JSON: tasks with regions, relations and entities."""

    title = "Label Studio tasks"
    suffixes = (".label_studio.json", ".labelstudio.json")

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[str]:
        return json_list(_task(document, losses) for document in documents)

    def read(self, path: Path) -> Iterator[AnyDocument]:
        """Yield gold documents: the first annotation of each task that was not cancelled, else its prediction."""
        try:
            tasks = json.loads(path.read_text(encoding="utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise DocumentError(f"{path}: no valid JSON: {error}") from error
        if not isinstance(tasks, list):
            raise DocumentError(f"{path}: expected a list of tasks, got {type(tasks).__name__}")
        for number, task in enumerate(tasks):
            try:
                yield _document(task)
            except (KeyError, TypeError, AttributeError) as error:
                raise DocumentError(f"{path}: task {number}: no task of this interface: {error!r}") from error
            except DocumentError as error:
                raise DocumentError(f"{path}: task {number}: {error}") from error

    def escape(self, character: str) -> str:
        return escaped_in_json(character)


def _task(document: AnyDocument, losses: Losses) -> dict[str, Any]:
    count_losses(document, losses, {"id", "entity", *_FACTS})
    count_facts_of_nil(document, losses, _FACTS)
    # Only the probability that a span is a mention has a place, that of regions.
    result: list[dict[str, Any]] = []
    for c, cluster in enumerate(clusters_of(document)):
        before: str | None = None
        for m, mention in enumerate(cluster.mentions):
            name = f"c{c}m{m}"
            place = {"start": mention.begin, "end": mention.end}
            region = {"id": name, "to_name": "text"}
            surface = document.text[mention.begin : mention.end]
            value = {**place, "text": surface, "labels": ["Mention"]}
            result.append({**region, "from_name": "label", "type": "labels", "value": value})
            if cluster.entity is not None:
                value = {**place, "text": [cluster.entity]}
                result.append({**region, "from_name": "entity", "type": "textarea", "value": value})
            if before is not None:
                relation = {"type": "relation", "from_id": name, "to_id": before, "direction": "right"}
                result.append({**relation, "labels": ["coreference"]})
            before = name
    facts = {cluster.entity: _facts(cluster) for cluster in clusters_of(document) if _facts(cluster)}
    data: dict[str, Any] = {"text": document.text} | ({} if document.id is None else {"id": document.id})
    if facts:
        data["entities"] = facts
    return {"data": data, "predictions": [{"model_version": "hf-corefel", "result": result}]}


def _facts(cluster: Cluster) -> dict[str, str]:
    """What is known of a cluster's entity."""
    values = {name: getattr(cluster, name) for name in _FACTS} if cluster.entity is not None else {}
    return {name: value for name, value in values.items() if value is not None}


def _document(task: Mapping[str, Any]) -> Document:
    data = task["data"]
    done = [item for item in task.get("annotations") or () if not item.get("was_cancelled")]
    result = (done or task.get("predictions") or [{"result": []}])[0]["result"]
    places: dict[str, Offsets] = {}
    entities: dict[str, str] = {}
    for item in result:
        if item["type"] == "labels":
            places[item["id"]] = _place(item["value"], data["text"])
        elif item["type"] == "textarea" and item["value"]["text"]:
            entities[item["id"]] = item["value"]["text"][0]
    # Regions that relations hold together, whichever way they point.
    groups = {name: [name] for name in places}
    for item in result:
        if item["type"] == "relation" and groups[item["from_id"]] is not groups[item["to_id"]]:
            joined = groups[item["from_id"]] + groups[item["to_id"]]
            groups.update(dict.fromkeys(joined, joined))
    facts, clusters = data.get("entities") or {}, []
    for names in {id(names): names for names in groups.values()}.values():
        mentions = tuple(Mention(*offsets) for offsets in sorted(places[name] for name in names))
        entity = next((entities[name] for name in names if name in entities), None)
        known = facts.get(entity) or {}
        clusters.append(Cluster(mentions, entity, **{name: known.get(name) for name in _FACTS}))
    clusters.sort(key=lambda cluster: cluster.mentions[0].offsets)
    return Document(data["text"], id=data.get("id"), clusters=clusters)


def _place(region: Mapping[str, Any], text: str) -> Offsets:
    """The offsets of a region, in code points: some versions of Label Studio counted as JavaScript does.

    Raises:
        DocumentError: When the text has something else there than the region says.
    """
    begin, end, said = region["start"], region["end"], region.get("text")
    check_offsets(begin, end, "region")
    if not isinstance(said, str) or _same(text[begin:end], said):
        return begin, end
    units = text.encode("utf-16-le", "surrogatepass")
    before, within = units[: 2 * begin], units[2 * begin : 2 * end]
    if _same(within.decode("utf-16-le", "replace"), said):
        first = len(before.decode("utf-16-le", "replace"))
        return first, first + len(within.decode("utf-16-le", "replace"))
    raise DocumentError(f"region: {said!r:.200} is not what stands at {begin}..{end}, {text[begin:end]!r:.200}")


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same but for white space, which browsers change."""
    return "".join(one.split()) == "".join(other.split())
