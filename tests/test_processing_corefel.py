from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BatchFeature

from hf_corefel import Candidate, Cluster, CorefELProcessor, Document, DocumentError, KnowledgeBase, Mention
from hf_corefel.processing_corefel import CorefELBatch, EncodedDocument

TEXT = "Anna Bergen met Carl. Bergen left the city of Oslo!"
MakeProcessor = Callable[..., CorefELProcessor]


@pytest.fixture(scope="session")
def processor(letter_processor: MakeProcessor) -> CorefELProcessor:
    return letter_processor()


def at(surface: str, text: str = TEXT, start: int = 0) -> tuple[int, int]:
    begin = text.index(surface, start)
    return begin, begin + len(surface)


def surfaces(encoded: EncodedDocument) -> list[str]:
    return [encoded.document.text[b:e] for b, e in encoded.spans.offsets.tolist()]


def candidates_of(encoded: EncodedDocument, offsets: tuple[int, int]) -> dict[str, float]:
    row = [tuple(o) for o in encoded.spans.offsets.tolist()].index(offsets)
    slots = encoded.candidate_rows[row]
    return {encoded.entities[e]: encoded.log_priors[row, k] for k, e in enumerate(slots.tolist()) if e >= 0}


def assert_equal(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> None:
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert tensor.dtype == right[name].dtype
        assert torch.equal(tensor, right[name]), name


def test_spans_and_candidates(processor: CorefELProcessor, tiny_knowledge_base: KnowledgeBase) -> None:
    encoded = processor.encode(TEXT)
    assert surfaces(encoded)[:4] == ["Anna", "Anna Bergen", "Anna Bergen met", "Bergen"]
    assert not encoded.keep_all and not encoded.warnings
    assert encoded.limit == 12 // 2 + 1  # 10 words and 2 signs
    assert encoded.entities == sorted(encoded.entities, key=lambda name: tiny_knowledge_base.entity_id(name) or 0)
    assert candidates_of(encoded, at("Bergen")) == candidates_of(encoded, at("Bergen", start=12)) == {"Bergen": 0.0}
    oslo = candidates_of(encoded, at("Oslo"))
    assert oslo == pytest.approx({"Oslo": np.log(0.8), "Oslo_(band)": np.log(0.2)})
    assert candidates_of(encoded, at("city")) == {}
    np.testing.assert_array_equal(encoded.entity_vectors, tiny_knowledge_base.vectors(encoded.entity_ids))
    assert encoded.entity_vectors.shape == (3, 8)


def test_tensors_of_one_document(processor: CorefELProcessor) -> None:
    batch = processor(Document(TEXT, clusters=[]), gold=True)
    encoded, inputs = batch.documents[0], batch.inputs
    shapes = {name: tuple(tensor.shape) for name, tensor in inputs.items()}
    s, t, w, length = len(encoded.spans), len(encoded.subword_ids), *shapes["input_ids"][1:]
    assert shapes == {
        "input_ids": (1, w, length),
        "attention_mask": (1, w, length),
        "subword_positions": (1, t),
        **{f"span_{name}": (1, s) for name in ("begin", "end", "word", "width", "mask")},
        "word_forms": (1, len(encoded.word_forms)),
        "span_cases": (1, s, 2),
        "span_definitions": (1, s, 6),
        "span_speakers": (1, s, 2),
        "span_characters": (1, s, 2),
        "span_cores": (1, s, 2),
        "mention_scope": (1,),
        "span_limits": (1,),
        "keep_all": (1,),
        "candidate_rows": (1, s, 3),
        "log_priors": (1, s, 3),
        "entity_vectors": (1, 3, 8),
        "gold_clusters": (1, s),
        "gold_entities": (1, s),
    }
    assert w > 1 and length <= 16
    floats = {name for name, tensor in inputs.items() if tensor.dtype == torch.float32}
    assert floats == {"log_priors", "entity_vectors"}
    assert {name for name, tensor in inputs.items() if tensor.dtype == torch.bool} == {"span_mask", "keep_all"}
    assert "gold_clusters" not in processor(TEXT).inputs


@pytest.mark.parametrize("overlap", [0, 5])
@pytest.mark.parametrize("kind", ["subwords_tokenizer", "byte_level_tokenizer"])
def test_positions_lead_to_the_subwords(
    letter_processor: MakeProcessor, request: pytest.FixtureRequest, kind: str, overlap: int
) -> None:
    tokenizer = request.getfixturevalue(kind)
    batch = letter_processor(tokenizer, window_overlap=overlap)([TEXT, "Oslo", TEXT + " " + TEXT])
    ids, positions = batch.inputs["input_ids"], batch.inputs["subword_positions"]
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
    for b, encoded in enumerate(batch.documents):
        real = positions[b][positions[b] >= 0]
        assert ids[b].flatten()[real].tolist() == encoded.subword_ids.tolist()
        assert batch.inputs["attention_mask"][b].flatten()[real].all()
        assert len(set(real.tolist())) == len(encoded.subword_ids)
        assert not special & set(encoded.subword_ids.tolist())
        for w, (begin, end) in enumerate(encoded.windows.bounds):
            row = ids[b, w][batch.inputs["attention_mask"][b, w] == 1].tolist()
            assert row == [tokenizer.cls_token_id, *encoded.subword_ids[begin:end].tolist(), tokenizer.sep_token_id]
            assert len(row) <= 16
    padding = batch.inputs["attention_mask"] == 0
    assert (ids[padding] == tokenizer.pad_token_id).all()


@given(text=st.text(st.sampled_from("aB1., \n\r\té\u0301👩\u200dש東\u200b"), max_size=60), overlap=st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_any_text(letter_processor: MakeProcessor, text: str, overlap: int) -> None:
    batch = letter_processor(window_size=9, window_overlap=overlap)(Document(text, clusters=[]), gold=True)
    encoded = batch.documents[0]
    assert all(surface and surface == surface.strip() for surface in surfaces(encoded))
    positions = batch.inputs["subword_positions"][0]
    assert batch.inputs["input_ids"][0].flatten()[positions].tolist() == encoded.subword_ids.tolist()
    assert (batch.inputs["span_end"] <= len(encoded.subword_ids)).all()


@pytest.mark.parametrize("text", ["", "  \r\n ", "Oslo"])
def test_tiny_documents(
    tiny_processor: Callable[..., Any], tiny_model: Callable[..., Any], letter_processor: MakeProcessor, text: str
) -> None:
    encoded = letter_processor().encode(text)
    assert len(encoded.spans) == len(text.split()) and encoded.limit == 1
    assert not encoded.warnings
    model = tiny_model(head="global")
    documents = [Document(text, clusters=[]), Document(TEXT, clusters=[])]
    output = model(**tiny_processor(model.config)(documents, gold=True).inputs)
    assert torch.isfinite(output.loss)
    assert (output.retained[0] >= 0).sum() == len(text.split())


@pytest.mark.parametrize("head", ["standalone_coref", "standalone_linking", "local", "global"])
def test_the_model_takes_a_batch_without_text(
    tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any], head: str
) -> None:
    model = tiny_model(head=head)
    output = model(
        **tiny_processor(model.config)([Document("", clusters=[]), Document("\n", clusters=[])], gold=True).inputs
    )
    assert output.retained.shape == (2, 0)
    assert output.loss == 0.0


def test_a_batch_equals_its_documents(processor: CorefELProcessor) -> None:
    gold = [Cluster((Mention(*at("Bergen")), Mention(*at("Bergen", start=12))), "Bergen")]
    documents = [
        Document(TEXT, clusters=gold),
        Document("", clusters=[]),
        Document("Oslo met Berg", clusters=[]),
        Document(TEXT * 3, mentions=[(0, 4), at("Oslo")], clusters=[]),
    ]
    batch = processor(documents, gold=True)
    length = batch.inputs["input_ids"].shape[2]
    fill = {
        "subword_positions": -1,
        "span_end": 1,
        "candidate_rows": -1,
        "word_forms": -1,
        "span_definitions": -1,
        "span_speakers": -1,
        "gold_clusters": -1,
        "gold_entities": -1,
    }
    for b, document in enumerate(documents):
        single = processor(document, gold=True).inputs
        for name, tensor in batch.inputs.items():
            expected, row = single[name][0], tensor[b]
            if name == "subword_positions":  # counts the places of all windows, whatever their length
                own = single["input_ids"].shape[2]
                expected = expected // own * length + expected % own
            inside = tuple(slice(size) for size in expected.shape)
            if document.text or name not in ("input_ids", "attention_mask"):
                assert torch.equal(row[inside], expected), name
                outside = torch.ones_like(row, dtype=torch.bool)
                outside[inside] = False
                assert (row[outside] == fill.get(name, 0)).all(), name
    # Beside documents that have text, one that has none needs no window.
    assert not batch.inputs["attention_mask"][1].any()


def test_one_document_or_many(processor: CorefELProcessor) -> None:
    one = processor(TEXT).inputs
    assert_equal(processor([TEXT]).inputs, one)
    assert_equal(processor(Document(TEXT)).inputs, one)
    assert_equal(processor((Document(TEXT),)).inputs, one)
    moved = processor(TEXT).to("cpu")
    assert_equal(moved.inputs, one)
    with pytest.raises(ValueError, match="needs at least one"):
        processor([])


def test_given_words(processor: CorefELProcessor) -> None:
    words = [(0, 11), (12, 15), (16, 21), (22, 28)]
    encoded = processor.encode(Document(TEXT, words=words))
    assert surfaces(encoded)[:3] == ["Anna Bergen", "Anna Bergen met", "Anna Bergen met Carl."]
    assert encoded.spans.width.tolist()[:3] == [1, 2, 3]
    assert max(encoded.spans.offsets[:, 1]) == 28
    assert encoded.limit == 4 // 2 + 1
    nothing = processor.encode(Document(TEXT, words=[]))
    assert len(nothing.spans) == 0 and len(nothing.subword_ids) > 0


def test_given_mentions_are_all_kept(processor: CorefELProcessor) -> None:
    mentions = [at("the city of Oslo"), at("Anna Bergen"), at("erg"), at(" "), at("Oslo")]
    encoded = processor.encode(Document(TEXT, mentions=mentions))
    assert surfaces(encoded) == ["Anna Bergen", "erg", "the city of Oslo", "Oslo"]
    assert encoded.keep_all and processor.collate([encoded])["keep_all"].tolist() == [True]
    # Longer than max_span_words, and cutting a word: both are what was asked for.
    assert encoded.spans.width.tolist() == [2, 1, 4, 1]
    assert encoded.warnings == [
        "span 4..5 (' ') holds no word and was dropped",
        "span 6..9 ('erg') cuts the word 'Bergen'; the model reads every subword that it touches",
        "given mentions that lie within others: 2, first span 6..9 ('erg') and span 0..11 ('Anna Bergen'); "
        "all were kept",
    ]
    assert surfaces(processor.encode(Document(TEXT, mentions=[]))) == []


def test_given_spans_are_pruned(processor: CorefELProcessor) -> None:
    encoded = processor.encode(Document(TEXT, spans=[at("Oslo"), at("Anna Bergen"), (15, 16)]))
    assert surfaces(encoded) == ["Anna Bergen", "Oslo"]
    assert not encoded.keep_all and encoded.limit == 7
    assert encoded.warnings == ["span 15..16 (' ') holds no word and was dropped"]


def test_given_candidates_replace_those_of_the_knowledge_base(processor: CorefELProcessor) -> None:
    first, second = at("Bergen"), at("Bergen", start=12)
    given = {
        second: [Candidate("Berg_(painter)", 0.25), Candidate("Unheard", 0.5), Candidate("Oslo", 0.0)],
        at("Oslo"): [],
    }
    encoded = processor.encode(Document(TEXT, candidates=given))
    assert candidates_of(encoded, first) == {"Bergen": 0.0}
    expected = {"Unheard": np.log(0.5), "Berg_(painter)": np.log(0.25), "Oslo": np.log(1e-6)}
    found = candidates_of(encoded, second)
    assert list(found) == list(expected)  # by prior
    assert found == pytest.approx(expected)
    assert candidates_of(encoded, at("Oslo")) == {}
    assert not encoded.warnings


def test_unknown_entities_get_a_fixed_vector(processor: CorefELProcessor, tiny_knowledge_base: KnowledgeBase) -> None:
    given = {at("Carl"): [Candidate("Unheard", 0.5), Candidate("Of", 0.4)], at("Oslo"): [Candidate("Unheard", 1.0)]}
    encoded = processor.encode(Document(TEXT, candidates=given))
    rows = [encoded.entities.index(name) for name in ("Unheard", "Of")]
    assert len(set(encoded.entities)) == len(encoded.entities)
    assert encoded.entity_ids[rows].tolist() == [-1, -1]
    for row in rows:
        expected = tiny_knowledge_base.vector_for(encoded.entities[row])
        np.testing.assert_array_equal(encoded.entity_vectors[row], expected)
    assert np.abs(encoded.entity_vectors[rows[0]] - encoded.entity_vectors[rows[1]]).max() > 1e-3
    alone = processor.encode(Document("Oslo", candidates={(0, 4): [Candidate("Unheard", 1.0)]}))
    np.testing.assert_array_equal(alone.entity_vectors[0], encoded.entity_vectors[rows[0]])


def test_too_many_candidates(processor: CorefELProcessor) -> None:
    given = {
        at("Oslo"): [Candidate(name, prior) for name, prior in zip("dcbae", (0.1, 0.2, 0.3, 0.3, 0.05), strict=True)]
    }
    encoded = processor.encode(Document(TEXT, candidates=given))
    assert list(candidates_of(encoded, at("Oslo"))) == ["a", "b", "c"]
    begin, end = at("Oslo")
    assert encoded.warnings == [f"span {begin}..{end}: 2 candidates beyond 3 were dropped"]


def test_an_entity_given_twice_counts_once(processor: CorefELProcessor) -> None:
    given = {at("Oslo"): [Candidate(name, prior) for name, prior in (("a", 0.1), ("a", 0.4), ("b", 0.2), ("a", 0.1))]}
    encoded = processor.encode(Document(TEXT, candidates=given))
    row = surfaces(encoded).index("Oslo")
    assert (encoded.candidate_rows[row] >= 0).sum() == 2
    assert candidates_of(encoded, at("Oslo")) == pytest.approx({"a": np.log(0.4), "b": np.log(0.2)})
    assert not encoded.warnings


def test_a_span_with_given_candidates_is_added(processor: CorefELProcessor) -> None:
    long, part = at("the city of Oslo"), at("Berg")
    given = {long: [Candidate("Oslo", 1.0)], part: [Candidate("Anna_Berg", 1.0)], (4, 5): [Candidate("Oslo", 1.0)]}
    plain, encoded = processor.encode(TEXT), processor.encode(Document(TEXT, candidates=given))
    assert {*surfaces(encoded)} - {*surfaces(plain)} == {"the city of Oslo", "Berg"}
    assert len(encoded.spans) == len(plain.spans) + 2
    ordered = [tuple(offsets) for offsets in encoded.spans.offsets.tolist()]
    assert ordered == sorted(ordered)
    assert candidates_of(encoded, long) == {"Oslo": 0.0} and candidates_of(encoded, part) == {"Anna_Berg": 0.0}
    assert encoded.warnings == [
        "span 4..5 (' ') holds no word and was dropped",
        "span 5..9 ('Berg') cuts the word 'Bergen'; the model reads every subword that it touches",
    ]


@pytest.mark.parametrize("kind", ["mentions", "spans"])
def test_candidates_beside_the_given_spans_are_reported(processor: CorefELProcessor, kind: str) -> None:
    given: Any = {kind: [at("Anna Bergen"), (4, 5)]}
    candidates = {span: [Candidate("Oslo", 1.0)] for span in (at("Oslo"), at("Anna Bergen"), at("Anna"), (4, 5))}
    encoded = processor.encode(Document(TEXT, candidates=candidates, **given))
    assert surfaces(encoded) == ["Anna Bergen"] and candidates_of(encoded, at("Anna Bergen")) == {"Oslo": 0.0}
    begin, end = at("Oslo")
    assert encoded.warnings == [
        "span 4..5 (' ') holds no word and was dropped",
        f"span 0..4 ('Anna'): its candidates are unused, it is none of the given {kind}",
        f"span {begin}..{end} ('Oslo'): its candidates are unused, it is none of the given {kind}",
    ]


def test_max_kept_spans(letter_processor: MakeProcessor) -> None:
    few = letter_processor(max_kept_spans=2)
    encoded = few.encode(TEXT)
    assert encoded.limit == 2
    assert encoded.warnings == [
        "only the best 2 spans of this long document were kept instead of 7 (max_kept_spans, --max-kept-spans on the "
        "command line)"
    ]
    assert few.encode(encoded.document, max_kept_spans=7).warnings == []
    assert few.encode(encoded.document, max_kept_spans=1).limit == 1
    assert few.encode(Document(TEXT, mentions=[(0, 4), (5, 11), at("Oslo")])).warnings == []
    assert few.encode("Oslo met").warnings == []


def test_a_scope_has_its_own_bounds(letter_processor: MakeProcessor) -> None:
    scopes = {"named": {"max_partners": 1}, "all": {"max_kept_spans": 7}}
    processor = letter_processor(max_kept_spans=2, mention_scopes=scopes)
    text = Document(TEXT)
    named, everything = (processor.encode(replace(text, mention_scope=scope), whole=True) for scope in ("named", "all"))
    assert named.is_long and named.max_partners == 1
    assert not everything.is_long and everything.limit == 7 and everything.warnings == []


def test_min_kept_spans_helps_short_texts_only(letter_processor: MakeProcessor) -> None:
    plain, least = letter_processor(), letter_processor(min_kept_spans=9)
    assert plain.encode("Oslo met Bergen").limit < 9
    assert least.encode("Oslo met Bergen").limit == 9
    long = "Oslo met Bergen again . " * 30
    assert least.encode(long).limit == plain.encode(long).limit > 9


def test_gold_tensors(processor: CorefELProcessor) -> None:
    bergen, again, oslo, city = at("Bergen"), at("Bergen", start=12), at("Oslo"), at("the city")
    clusters = [
        Cluster((Mention(*oslo),), "Nowhere"),
        Cluster((Mention(*bergen), Mention(*again)), "Bergen"),
        Cluster((Mention(*city),)),
    ]
    batch = processor(Document(TEXT, clusters=clusters), gold=True)
    encoded = batch.documents[0]
    rows = {tuple(o): s for s, o in enumerate(encoded.spans.offsets.tolist())}
    gold = {rows[oslo]: (0, -1), rows[city]: (2, -1)}
    gold |= {rows[span]: (1, encoded.entities.index("Bergen")) for span in (bergen, again)}
    for s in range(len(encoded.spans)):
        found = int(batch.inputs["gold_clusters"][0, s]), int(batch.inputs["gold_entities"][0, s])
        assert found == gold.get(s, (-1, -1))
    without = processor(Document(TEXT, clusters=[]), gold=True).inputs
    assert (without["gold_clusters"] == -1).all() and (without["gold_entities"] == -1).all()


@pytest.mark.parametrize("fields", [{}, {"id": "d7"}, {"mentions": [(0, 4)]}, {"annotated": {"mentions": "given"}}])
def test_text_without_annotation_is_no_gold(processor: CorefELProcessor, fields: dict[str, Any]) -> None:
    """Nobody looked for mentions, which a training would take for that there are none."""
    document = Document(TEXT, **fields)
    told = rf"{document.name}\.clusters: missing, .*clusters=\[\].*annotated="
    for ask in (
        lambda: processor([Document(TEXT, clusters=[]), document], gold=True),
        lambda: processor.collate([processor.encode(document)], gold=True),
        lambda: processor.alignment_report([document]),
    ):
        with pytest.raises(DocumentError, match=told):
            ask()
    assert "gold_clusters" not in processor(document).inputs
    with pytest.raises(DocumentError, match=r"document\.clusters: missing"):
        processor(TEXT, gold=True)


def test_alignment_report_adds_up(processor: CorefELProcessor) -> None:
    documents = [Document(TEXT, clusters=[Cluster((Mention(*at("Oslo")),), entity)]) for entity in ("Oslo", "X", None)]
    report = processor.alignment_report(documents)
    assert (report.documents, report.mentions, report.linked_clusters) == (3, 3, 2)
    assert report.linked_clusters_unreachable == 1
    assert processor.alignment_report([]).documents == 0


def test_a_batch_is_a_mapping_of_tensors(processor: CorefELProcessor) -> None:
    batch = processor([TEXT, "Oslo"], return_tensors="pt")
    assert isinstance(batch, BatchFeature) and isinstance(batch, CorefELBatch)
    assert batch["input_ids"] is batch.input_ids is batch.inputs["input_ids"]
    assert dict(**batch) == batch.inputs and "span_mask" in batch
    assert [encoded.document.text for encoded in batch.documents] == [TEXT, "Oslo"]
    for copied in (pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch)):
        assert [encoded.document.text for encoded in copied.documents] == [TEXT, "Oslo"]
        assert all(torch.equal(copied[name], value) for name, value in batch.items())
    moved = batch.to("cpu", dtype=torch.bfloat16)
    assert moved["log_priors"].dtype == torch.bfloat16 and moved["input_ids"].dtype == torch.int64
    assert len(moved.documents) == 2


def test_arrays_of_numpy_on_request(processor: CorefELProcessor) -> None:
    arrays, tensors = processor(TEXT, return_tensors="np"), processor(TEXT)
    assert arrays.keys() == tensors.keys()
    for name, array in arrays.items():
        assert isinstance(array, np.ndarray)
        np.testing.assert_array_equal(array, tensors[name].numpy())


@pytest.mark.parametrize("options", [{"truncation": True}, {"max_length": 512}, {"padding": "max_length"}])
def test_nothing_is_cut_in_silence(processor: CorefELProcessor, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"no argument '{next(iter(options))}': documents are padded"):
        processor(TEXT, **options)
    with pytest.raises(ValueError, match=r'return_tensors: expected "pt" or "np", got \'tf\''):
        processor(TEXT, return_tensors="tf")


def test_rows_are_documents_and_what_is_none_is_named(processor: CorefELProcessor) -> None:
    row = {"text": TEXT, "mentions": [[0, 3]]}
    expected = processor(Document(TEXT, mentions=[(0, 3)]))
    for handed in (row, [row], iter([row])):
        found = processor(handed)
        assert [encoded.document.text for encoded in found.documents] == [TEXT]
        assert found["input_ids"].equal(expected["input_ids"]) and found["span_begin"].equal(expected["span_begin"])
    for handed, error, message in (
        (None, TypeError, "text: expected a text, a Document, its dict, or many; got NoneType"),
        (b"Oslo", TypeError, "text: expected a text, a Document, its dict, or many; got bytes"),
        ([None], DocumentError, r"text\[0\]: expected a text, a Document or its dict; got NoneType"),
        ([TEXT, {"id": 1}], DocumentError, "document 1: missing field 'text'"),
    ):
        with pytest.raises(error, match=message):
            processor(handed)
