"""What the pipeline makes of constraints, and the whole clusterings that it draws and searches."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from hf_corefel import AnnotatedDocument, Candidate, Constraints, CorefELPipeline, Document, DocumentError

HEADS = ("global", "local", "standalone_coref", "standalone_linking")
TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."


def at(surface: str, number: int = 0, text: str = TEXT) -> tuple[int, int]:
    """Offsets of a surface at its n-th place in a text."""
    begin = -1
    for _ in range(number + 1):
        begin = text.index(surface, begin + 1)
    return begin, begin + len(surface)


@pytest.fixture(scope="module")
def pipelines(
    tiny_trained: Callable[[str], Any], tiny_model: Callable[..., Any], tiny_processor: Callable[[Any], Any]
) -> Callable[..., CorefELPipeline]:
    """Makes the pipeline of a head: one that knows the tiny documents, or one of random weights with other fields."""
    made: dict[Any, CorefELPipeline] = {}

    def make(head: str = "global", **fields: Any) -> CorefELPipeline:
        key = head, *sorted(fields.items())
        if key not in made:
            model = tiny_model(head=head, seed=3, **fields) if fields else tiny_trained(head)
            made[key] = CorefELPipeline(model, tiny_processor(model.config), task="coref-el", device="cpu")
        return made[key]

    return make


def groups_of(result: dict[str, Any]) -> dict[tuple[int, int], tuple[int, str | None]]:
    """The number and the entity of the cluster of every mention."""
    return {
        (mention["begin"], mention["end"]): (number, cluster["entity"])
        for number, cluster in enumerate(result["clusters"])
        for mention in cluster["mentions"]
    }


def check(result: dict[str, Any], constraints: Constraints) -> None:
    """Raises unless a result, or one of its clusterings, fulfils constraints."""
    groups = groups_of(result)
    for mentions in constraints.must_link:
        assert len({groups[mention] for mention in mentions}) == 1
    for mentions in constraints.cannot_link:
        assert len({groups[mention][0] for mention in mentions}) == len(mentions)
    for mention, entity in constraints.entities.items():
        assert groups[mention][1] == entity


def test_must_link_cannot_link_and_entities(pipelines: Callable[..., CorefELPipeline]) -> None:
    annotate = pipelines()
    constraints = Constraints(
        must_link=[[at("Carl Moss"), at("she")]],
        cannot_link=[[at("Anna Berg"), at("Berg", 1)]],
        entities={at("Oslo"): "Oslo_(band)", at("the city"): None},
    )
    result = annotate(TEXT, constraints=constraints, clusterings=3)
    check(result, constraints)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert AnnotatedDocument.from_dict(result).to_dict() == result
    for clustering in result["clusterings"]:
        check(clustering, constraints)
    # What nothing was said of stays as it was.
    assert groups_of(result)[at("Carl Moss")][1] == "Carl_Moss"
    assert annotate(TEXT, constraints=constraints.to_dict(), clusterings=3) == result
    assert annotate(TEXT, constraints=None) == annotate(TEXT)
    assert annotate(TEXT, constraints={}) == annotate(TEXT)


def test_what_holds_already_changes_nothing(pipelines: Callable[..., CorefELPipeline]) -> None:
    annotate = pipelines()
    plain = annotate(TEXT)
    linked = [[(m["begin"], m["end"]) for m in c["mentions"]] for c in plain["clusters"] if len(c["mentions"]) > 1]
    apart = [(c["mentions"][0]["begin"], c["mentions"][0]["end"]) for c in plain["clusters"]]
    assert annotate(TEXT, constraints={"must_link": linked, "cannot_link": [apart]}) == plain


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("head", HEADS)
def test_random_constraints_hold_or_are_refused(
    head: str, nested: bool, pipelines: Callable[..., CorefELPipeline], tiny_documents: list[Document]
) -> None:
    """Of random words: whatever is asked for, the result has it, or the message names the document and why."""
    annotate = pipelines(head, forbid_nested=nested, max_span_words=2)
    names = ["Anna_Berg", "Carl_Moss", "Oslo", None]
    rng = np.random.default_rng(5)
    kept, messages = 0, []
    for number in range(8):
        document = tiny_documents[number % 3]
        places = [match.span() for match in re.finditer(r"\w+", document.text)]

        def some(count: int, places: Any = places) -> list[tuple[int, int]]:
            found = []
            for start in rng.choice(len(places) - 1, size=count, replace=False).tolist():
                found.append((places[start][0], places[start + int(rng.integers(0, 2))][1]))
            return list(dict.fromkeys(found))

        given = {"must_link": [some(2)], "cannot_link": [some(int(rng.integers(2, 4)))]}
        given = {name: [listed for listed in lists if len(listed) > 1] for name, lists in given.items()}
        if head != "standalone_coref":
            given["entities"] = {mention: names[int(rng.integers(0, 4))] for mention in some(2)}
        try:
            result = annotate(document, constraints=given, clusterings=2, min_probability=0.9)
        except DocumentError as error:
            messages.append((document.id, str(error)))
            continue
        kept += 1
        check(result, Constraints.of(given))
        for clustering in result["clusterings"]:
            check(clustering, Constraints.of(given))
    assert all(text.startswith(f"document {name!r}: ") and "constraints" in text for name, text in messages)
    # The linking head joins mentions by entities alone, which random words have not in common.
    assert kept >= (0 if head == "standalone_linking" else 5)


def test_alone_and_in_a_batch(pipelines: Callable[..., CorefELPipeline], tiny_documents: list[Document]) -> None:
    annotate = pipelines()
    given = [
        {"must_link": [[at("Anna Berg"), at("Oslo")]]},
        None,
        {"entities": {at("Norway", 0, tiny_documents[2].text): None}},
    ]
    asked = {"clusterings": 2, "samples": 3, "seed": 4}
    alone = [
        annotate(document, constraints=value, **asked) for document, value in zip(tiny_documents, given, strict=True)
    ]
    for options in ({"batch_size": 3}, {"batch_size": 2, "num_workers": 1}):
        batch = annotate(tiny_documents, constraints=given, **asked, **options)
        for one, other in zip(alone, batch, strict=True):
            assert groups_of(one) == groups_of(other)
            for name in ("samples", "clusterings"):
                assert [groups_of(c) for c in one[name]] == [groups_of(c) for c in other[name]]
                logs = [[c["log_probability"] for c in result[name]] for result in (one, other)]
                assert logs[0] == pytest.approx(logs[1], abs=1e-3)


def test_mentions_that_would_not_be_found(pipelines: Callable[..., CorefELPipeline]) -> None:
    """Words that are no names, one longer than any span that is read, one that crosses a mention, and a verb."""
    annotate = pipelines()
    odd = [at("Moss. Then she left the"), at("met"), at("Moss in"), at("praised")]
    result = annotate(TEXT, constraints={"cannot_link": [odd]})
    assert set(odd) <= set(groups_of(result))
    joined = annotate(TEXT, constraints={"must_link": [odd]}, min_probability=1.0)
    assert len({groups_of(joined)[mention] for mention in odd}) == 1


def test_given_mentions_and_spans(pipelines: Callable[..., CorefELPipeline]) -> None:
    annotate = pipelines()
    pair = {"must_link": [[at("Oslo"), at("she")]]}
    document = Document(TEXT, mentions=[at("Oslo"), at("she"), at("Berg", 1)])
    groups = groups_of(annotate(document, constraints=pair))
    assert set(groups) == set(document.mentions or ())
    assert groups[at("Oslo")] == groups[at("she")]
    check(annotate(Document(TEXT, spans=[at("Oslo"), at("she")]), constraints=pair), Constraints.of(pair))
    for field in ("mentions", "spans"):
        with pytest.raises(DocumentError, match=rf"'she' 57..60, which is none of the document's {field}; add it"):
            annotate(Document(TEXT, **{field: [at("Oslo")]}), constraints=pair)


def test_an_entity_that_is_no_candidate(pipelines: Callable[..., CorefELPipeline]) -> None:
    """Any of the knowledge base, and any that the document brings."""
    annotate = pipelines()
    assert groups_of(annotate(TEXT, constraints={"entities": {at("she"): "Norway"}}))[at("she")][1] == "Norway"
    with pytest.raises(DocumentError, match=r"'she' 57..60 the entity 'Queen', which is not in the knowledge base"):
        annotate(TEXT, constraints={"entities": {at("she"): "Queen"}})
    document = Document(TEXT, candidates={at("Berg", 1): [Candidate("Queen", 1.0)]})
    assert groups_of(annotate(document, constraints={"entities": {at("she"): "Queen"}}))[at("she")][1] == "Queen"


def test_names_of_one_entity_contradict_nothing(
    pipelines: Callable[..., CorefELPipeline], tiny_encyclopaedia: Callable[..., Any]
) -> None:
    """An identifier and the name that the knowledge base has for it."""
    known = pipelines()
    processor = known.processor.with_knowledge_base(tiny_encyclopaedia())
    annotate = CorefELPipeline(known.model, processor, task="coref-el", device="cpu")
    both = {at("Oslo"): "Q585", at("she"): "Oslo"}
    for more in ({}, {"must_link": [[at("Oslo"), at("she")]]}):
        groups = groups_of(annotate(TEXT, constraints={"entities": both, **more}))
        assert groups[at("Oslo")] == groups[at("she")] and groups[at("she")][1] == "Oslo"
    documents = [Document(TEXT, id="one"), Document(TEXT, id="two")]
    apart = {"entities": both, "cannot_link": [[at("Oslo"), at("she")]]}
    with pytest.raises(DocumentError, match=r"document 'two': constraints: .* cannot be linked, but others say"):
        annotate(documents, constraints=[None, apart])
    other = {"entities": {at("Oslo"): "Q585", at("she"): "Q1"}, "must_link": [[at("Oslo"), at("she")]]}
    with pytest.raises(DocumentError, match=r"have different entities \('Oslo' and 'Anna_Berg'\)"):
        annotate(TEXT, constraints=other)


def test_an_improbable_link_that_no_constraint_asks_for_becomes_nil(pipelines: Callable[..., CorefELPipeline]) -> None:
    annotate = pipelines(max_span_words=2, span_keep_ratio=1.0)  # unsure
    oslo, anna = at("Oslo"), at("Anna Berg")
    links = {oslo: "Oslo", anna: "Anna_Berg"}
    assert all(groups_of(annotate(TEXT, constraints={"entities": links}))[m][1] == e for m, e in links.items())
    found = annotate(TEXT, constraints={"entities": links}, min_probability=1.0)
    assert {groups_of(found)[oslo][1], groups_of(found)[anna][1]} == {"Oslo", "Anna_Berg"}  # these are asked for
    for given in ({"cannot_link": [[oslo, anna]]}, {"must_link": [[anna, at("Berg", 1)]]}):
        free = annotate(TEXT, constraints=given)
        assert any(cluster["entity"] for cluster in free["clusters"])
        found = annotate(TEXT, constraints=given, min_probability=1.0)
        assert not any(cluster["entity"] for cluster in found["clusters"])
        assert any("it became NIL" in warning for warning in found["warnings"])
        check(found, Constraints.of(given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {
                "must_link": [[at("Oslo"), at("she")], [at("she"), at("Berg", 1)]],
                "cannot_link": [[at("Oslo"), at("Berg", 1)]],
            },
            r"'Oslo' 27..31 and 'Berg' 33..37 cannot be linked, but .*'Oslo' 27..31 = 'she' 57..60 = 'Berg' 33..37",
        ),
        (
            {"must_link": [[at("Oslo"), at("she")]], "entities": {at("Oslo"): "Oslo", at("she"): "Anna_Berg"}},
            r"'Oslo' 27..31 and 'she' 57..60 have different entities \('Oslo' and 'Anna_Berg'\)",
        ),
        (
            {"cannot_link": [[at("Oslo"), at("she")]], "entities": {at("Oslo"): "Oslo", at("she"): "Oslo"}},
            "cannot be linked, but others say that they are",
        ),
        (
            {"entities": [{"begin": 0, "end": 4, "entity": "Oslo"}, {"begin": 0, "end": 4, "entity": None}]},
            "two entities",
        ),
        (
            {"entities": {at("Oslo"): "Oslo\ud800"}},
            r"constraints.entities\[0\].entity: .* is no valid Unicode; take the",
        ),
        ({"must_link": [[at("Oslo")]]}, "expected two or more different mentions"),
        ({"must_link": [[(0, 31), at("Oslo")]]}, "of which one is a part of the other"),
        ({"must_link": [[at("Oslo"), (900, 901)]]}, "outside the text of 75 code points"),
        ({"must_link": [[at("Oslo"), "she"]]}, r"constraints.must_link\[0\]\[1\]: expected \[begin, end\]"),
        ({"cannot_link": [[at("Oslo"), (31, 32)]]}, r"holds no word"),
        ({"must-link": []}, "unknown field 'must-link'.*did you mean 'must_link'"),
        ("Oslo", "constraints: expected an object"),
    ],
)
def test_contradictions_and_mistakes_are_named(
    given: Any, message: str, pipelines: Callable[..., CorefELPipeline]
) -> None:
    text = TEXT.replace("Oslo. ", "Oslo .") if "holds no word" in message else TEXT
    with pytest.raises(DocumentError, match=message):
        pipelines()(text, constraints=given)


def test_many_documents_need_a_list(pipelines: Callable[..., CorefELPipeline]) -> None:
    annotate = pipelines()
    pair = {"must_link": [[at("Oslo"), at("she")]]}
    with pytest.raises(TypeError, match="expected a list, with the constraints of each of the 2 documents"):
        annotate([TEXT, TEXT], constraints=pair)
    with pytest.raises(ValueError, match="one item for each of the 2 documents, got 1"):
        annotate([TEXT, TEXT], constraints=[pair])
    with pytest.raises(TypeError, match="a stream takes none"):
        annotate(iter([TEXT]), constraints=[pair])
    with pytest.raises(TypeError, match=r"takes no parameter 'constraint'.*constraints"):
        annotate(TEXT, constraint=pair)
    with pytest.raises(TypeError, match="give them in a call"):
        CorefELPipeline(annotate.model, annotate.processor, task="coref-el", constraints=pair)


@pytest.mark.parametrize("head", ["standalone_coref", "standalone_linking"])
def test_what_a_head_cannot_do_is_refused_by_its_name(head: str, pipelines: Callable[..., CorefELPipeline]) -> None:
    asked = {"entities": {at("Oslo"): "Oslo"}} if head == "standalone_coref" else {"must_link": [[at("met"), at("in")]]}
    with pytest.raises(DocumentError, match=f"no clustering fulfils the constraints .*head '{head}'"):
        pipelines(head)(TEXT, constraints=asked)


@pytest.mark.parametrize("head", HEADS)
def test_samples_have_their_probabilities(head: str, pipelines: Callable[..., CorefELPipeline]) -> None:
    """Of a model that is unsure. Drawn as often as the exact probability says."""
    annotate = pipelines(head, max_span_words=1, span_keep_ratio=0.3)
    text = "Anna Berg met Moss in Oslo."
    count = 3000
    result = annotate(text, samples=count, clusterings=5, seed=11)
    drawn = Counter(json.dumps(sample["clusters"]) for sample in result["samples"])
    chances = {json.dumps(s["clusters"]): math.exp(s["log_probability"]) for s in result["samples"]}
    assert sum(chances.values()) <= 1.0 + 1e-6
    for clusters, chance in chances.items():
        assert abs(drawn[clusters] / count - chance) < 5 * math.sqrt(chance * (1 - chance) / count) + 2e-3
    best = result["clusterings"]
    assert [c["log_probability"] for c in best] == sorted((c["log_probability"] for c in best), reverse=True)
    assert len({json.dumps(c["clusters"]) for c in best}) == len(best)
    assert math.exp(best[0]["log_probability"]) == pytest.approx(max(chances.values()), rel=1e-6)


def test_samples_under_constraints(pipelines: Callable[..., CorefELPipeline]) -> None:
    annotate = pipelines("global", max_span_words=1, span_keep_ratio=0.3)
    text = "Anna Berg met Moss in Oslo."
    given = Constraints(must_link=[[at("Berg", 0, text), at("Moss", 0, text)]])
    result = annotate(text, constraints=given, samples=400, seed=2)
    for sample in result["samples"]:
        check(sample, given)
    # Among those that fulfil the constraint, as often as their probabilities say.
    chances = {json.dumps(s["clusters"]): math.exp(s["log_probability"]) for s in result["samples"]}
    drawn = Counter(json.dumps(sample["clusters"]) for sample in result["samples"])
    for one, other in itertools.pairwise([clusters for clusters, _ in drawn.most_common(3)]):
        assert drawn[one] / drawn[other] == pytest.approx(chances[one] / chances[other], rel=0.6)


def test_seeds(pipelines: Callable[..., CorefELPipeline]) -> None:
    annotate = pipelines("global", max_span_words=1)
    one, same, other = (annotate(TEXT, samples=8, seed=seed)["samples"] for seed in (1, 1, 2))
    assert one == same
    assert one != other
    torch.manual_seed(3)
    first = annotate(TEXT, samples=8)["samples"]
    torch.manual_seed(3)
    assert annotate(TEXT, samples=8)["samples"] == first


def test_nothing_to_read(pipelines: Callable[..., CorefELPipeline]) -> None:
    result = pipelines()(" ", samples=2, clusterings=3, constraints={})
    assert result["samples"] == [{"clusters": [], "log_probability": 0.0}] * 2
    assert result["clusterings"] == [{"clusters": [], "log_probability": 0.0}]


@pytest.mark.parametrize(("name", "value"), [("samples", -1), ("clusterings", 1.5), ("seed", -2), ("samples", True)])
def test_counts_are_checked(name: str, value: Any, pipelines: Callable[..., CorefELPipeline]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name}: expected a whole number"):
        pipelines()(TEXT, **{name: value})
