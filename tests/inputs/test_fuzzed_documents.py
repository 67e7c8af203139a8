"""What is promised of every result, for thousands of random documents: any text, anything given, any options.

5,376 documents in the default run, and 24,128 others with `make slow`.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fuzzed_documents import fuzzed_document, fuzzed_options

from hf_corefel import AnnotatedDocument, CorefELPipeline, Document, Mention
from hf_corefel.formats import read_jsonl, render_html, write_jsonl
from hf_corefel.pipeline_corefel import load_pipeline

BATCH = 64
SCOPES = (None, "named", "all")
NAMES = ("Anna Berg", "Anna", "Berg", "Moss", "Oslo", "Bergen", "東京", "👩🏽", "Anna_Berg", "Tokyo")

Annotated = tuple[Document, AnnotatedDocument]


@pytest.fixture(scope="module")
def random_model(family: str, make_pipeline: Any) -> CorefELPipeline:
    """A random model with two mention scopes, for each family of tokenizers."""
    scopes = {"named": {}, "all": {"max_span_words": 4, "span_keep_ratio": 1.0}}
    pipeline: CorefELPipeline = make_pipeline(family, mention_scopes=scopes, scope_embedding_size=4)
    return pipeline


@pytest.fixture(scope="module")
def bundled() -> CorefELPipeline:
    return load_pipeline()


def annotated(pipeline: CorefELPipeline, names: Sequence[str], count: int, seed: str) -> Iterator[list[Annotated]]:
    """Batches of documents with their results; each batch is checked for its options."""
    rng = random.Random(seed)
    for _ in range(0, count, BATCH):
        documents = [fuzzed_document(rng, names, SCOPES) for _ in range(BATCH)]
        options = fuzzed_options(rng)
        results = list(zip(documents, pipeline.annotate(documents, batch_size=BATCH, **options), strict=True))
        for document, result in results:
            check(document, result, options)
        yield results


def check(document: Document, result: AnnotatedDocument, options: dict[str, Any]) -> None:
    """Everything that holds of one result."""
    assert (result.text, result.id) == (document.text, document.id)
    check_order(result)
    mentions = [mention for cluster in result.clusters for mention in cluster.mentions]
    for mention in mentions:
        assert 0 <= mention.begin < mention.end <= len(result.text)
        assert result.text[mention.begin : mention.end] == mention.text
    check_given(document, {mention.offsets for mention in mentions}, result)
    check_numbers(result, options)
    check_evidence(result, mentions, asked=options["evidence"])
    assert (result.resolved_text is not None) is options["resolved_text"]
    assert all(isinstance(warning, str) and warning for warning in result.warnings)
    assert len(set(result.warnings)) == len(result.warnings)


def check_order(result: AnnotatedDocument) -> None:
    """Mentions by their offsets, clusters by their first mention; no two mentions at the same place."""
    clusters = [[mention.offsets for mention in cluster.mentions] for cluster in result.clusters]
    assert all(clusters)
    assert clusters == [sorted(offsets) for offsets in clusters]
    assert clusters == sorted(clusters, key=lambda offsets: offsets[0])
    everywhere = [offsets for cluster in clusters for offsets in cluster]
    assert len(set(everywhere)) == len(everywhere)


def check_given(document: Document, found: set[tuple[int, int]], result: AnnotatedDocument) -> None:
    """Given mentions all come out, given spans alone do, and a warning names what could not."""
    said = "\n".join(result.warnings)
    given = document.mentions if document.mentions is not None else document.spans
    if given is not None:
        assert found <= set(given)
    for begin, end in document.mentions or []:
        lost = f"span {begin}..{end} ({document.text[begin:end]!r}) holds no word and was dropped"
        assert ((begin, end) in found) != (lost in said)


def check_numbers(result: AnnotatedDocument, options: dict[str, Any]) -> None:
    for cluster in result.clusters:
        numbers = [cluster.probability]
        for mention in cluster.mentions:
            numbers += [mention.probability, mention.edge_probability, mention.link_probability]
        assert (cluster.alternatives is not None) is (options["top_k"] > 0)
        listed = cluster.alternatives or ()
        assert len(listed) <= options["top_k"]
        ranked = [(-item.probability, item.entity or "") for item in listed]
        assert ranked == sorted(ranked)
        assert len({item.entity for item in listed}) == len(listed)
        numbers += [item.probability for item in listed]
        assert all(number is not None and math.isfinite(number) and 0.0 <= number <= 1.0 for number in numbers)
        if cluster.entity is not None:
            assert cluster.probability is not None and cluster.probability >= options["min_probability"]


def check_evidence(result: AnnotatedDocument, mentions: Sequence[Mention], *, asked: bool) -> None:
    """A parent is a mention of the same cluster, or one that a warning says was dropped; chains end at the top."""
    cluster_of = {mention.offsets: c for c, cluster in enumerate(result.clusters) for mention in cluster.mentions}
    chains = result.chains()
    for mention in mentions:
        assert (mention.parent is not None) is asked
        if mention.parent is None:
            continue
        *between, top = chains[mention.offsets]
        assert result.chain(mention) == [*between, top]
        for link in (*between, top):
            if link.kind == "mention":
                assert link.offsets is not None and link.text == result.text[link.begin : link.end]
                if link.offsets in cluster_of:
                    assert cluster_of[link.offsets] == cluster_of[mention.offsets]
                else:
                    dropped = f"the mention {link.text!r} {link.begin}..{link.end} has probability"
                    assert link is top and any(dropped in warning for warning in result.warnings)
        assert all(link.kind == "mention" for link in between)


def check_files(results: Sequence[Annotated], folder: Path) -> None:
    """What is written is read back equal, and the page takes everything."""
    found = [result for _, result in results]
    for result in found:
        data = result.to_dict()
        assert AnnotatedDocument.from_dict(data) == result
        assert AnnotatedDocument.from_dict(json.loads(json.dumps(data, allow_nan=False))) == result
    documents = [document for document, _ in results]
    for each, kind in ((found, AnnotatedDocument), (documents, Document)):
        assert write_jsonl(folder / "documents.jsonl", each) == len(each)
        assert list(read_jsonl(folder / "documents.jsonl", kind)) == each
    # Surrogates have become something that UTF-8 holds.
    assert render_html(found).encode("utf-8")


def check_all(batches: Iterable[list[Annotated]], folder: Path) -> None:
    """Checks all batches, and that they hold what the checks are about."""
    results: list[Annotated] = []
    for batch in batches:
        check_files(batch, folder)
        results += batch
    clusters = [cluster for _, result in results for cluster in result.clusters]
    mentions = sum(len(cluster.mentions) for cluster in clusters)
    assert mentions > len(results)
    assert any(len(cluster.mentions) > 1 for cluster in clusters)
    assert any(cluster.entity is None for cluster in clusters) and any(cluster.entity for cluster in clusters)
    said = "\n".join(warning for _, result in results for warning in result.warnings)
    for words in ("became NIL", "below min_probability", "holds no word", "cuts the word", "have the same subwords"):
        assert words in said
    assert "cross others" in said and "lie within others" in said and "candidates are unused" in said


def test_results_of_random_documents_for_every_tokenizer(
    random_model: CorefELPipeline, family: str, tmp_path: Path
) -> None:
    check_all(annotated(random_model, NAMES, 160, f"{family} fast"), tmp_path)


@pytest.mark.slow
def test_results_of_many_documents_for_every_tokenizer(
    random_model: CorefELPipeline, family: str, tmp_path: Path
) -> None:
    check_all(annotated(random_model, NAMES, 4_400, f"{family} slow"), tmp_path)


def names_of(pipeline: CorefELPipeline) -> list[str]:
    """Some of the surfaces that the knowledge base knows."""
    return random.Random(0).sample(list(pipeline.processor.knowledge_base.surfaces()), 300)


def test_results_of_the_bundled_checkpoint(bundled: CorefELPipeline, tmp_path: Path) -> None:
    check_all(annotated(bundled, names_of(bundled), 96, "bundled fast"), tmp_path)


@pytest.mark.slow
def test_many_results_of_the_bundled_checkpoint(bundled: CorefELPipeline, tmp_path: Path) -> None:
    check_all(annotated(bundled, names_of(bundled), 2_000, "bundled slow"), tmp_path)


def test_the_order_of_what_is_given_does_not_matter(random_model: CorefELPipeline, family: str) -> None:
    """Neither that of mentions and spans nor that of candidates with other priors."""
    rng = random.Random(f"{family} order")
    documents = [fuzzed_document(rng, NAMES, SCOPES) for _ in range(BATCH)]
    shuffled = []
    for document in documents:
        data = document.to_dict()
        for name in ("mentions", "spans", "candidates"):
            if data.get(name):
                rng.shuffle(data[name])
        shuffled.append(Document.from_dict(data))
    assert shuffled != documents
    options = {"evidence": True, "top_k": 3, "min_probability": 0.4}
    one, other = (random_model.annotate(each, batch_size=BATCH, **options) for each in (documents, shuffled))
    assert one == other


def test_mentions_that_share_subwords_are_in_reading_order(random_model: CorefELPipeline) -> None:
    text = "東京都 met Anna, 東京 and the 東京都の知事. ab"
    spans = [(begin, end) for begin in range(len(text)) for end in range(begin + 1, min(begin + 4, len(text) + 1))]
    given = [span for span in spans if not text[span[0] : span[1]].isspace()]
    (result,) = random_model.annotate([Document(text, mentions=given[::-1])], evidence=True)
    check_order(result)
    assert sum(len(cluster.mentions) for cluster in result.clusters) > 60


def test_clusters_that_lose_their_first_mention_are_in_reading_order(random_model: CorefELPipeline) -> None:
    text = (
        "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city of Bergen. 東京都の知事 met Anna."
    )
    (everything,) = random_model.annotate([text])
    levels = {mention.probability or 0.0 for cluster in everything.clusters for mention in cluster.mentions}
    moved = 0
    for level in sorted(levels):
        (result,) = random_model.annotate([text], min_probability=min(level + 1e-6, 1.0))
        check_order(result)
        firsts = {cluster.mentions[0].offsets for cluster in everything.clusters}
        moved += any(cluster.mentions[0].offsets not in firsts for cluster in result.clusters)
    assert moved
