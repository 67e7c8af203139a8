"""The module of ``evaluate``, loaded as a user loads it."""

from __future__ import annotations

import configparser
import doctest
import json
import runpy
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import evaluate
import pandas as pd
import pyarrow as pa
import pytest
import torch
import yaml
from datasets import Dataset
from packaging.requirements import Requirement
from transformers.pipelines.pt_utils import KeyDataset

import hf_corefel
from gradio_stand_in import ShownError, pretend_gradio
from hf_corefel import Alternative, AnnotatedDocument, Cluster, Document, Mention, Parent
from hf_corefel.metrics import Scores, evaluate_nested, score_clusters
from hf_corefel.pipeline_corefel import load_pipeline

DATA = Path(__file__).parent / "data"
FOLDER = Path(hf_corefel.metric_path())
GOLD = [{"mentions": [[0, 4], [20, 22]], "entity": "Oslo"}, {"mentions": [[9, 13]], "entity": ""}]

Linked = list[tuple[list[tuple[int, int]], str | None]]


@pytest.fixture(scope="module")
def metric(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Loaded with every connection refused."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("loading the metric tried to connect")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        return evaluate.load(hf_corefel.metric_path(), cache_dir=str(tmp_path_factory.mktemp("metrics")))


def nested(clusters: Linked) -> list[dict[str, Any]]:
    return [{"mentions": [list(mention) for mention in mentions], "entity": link or ""} for mentions, link in clusters]


def oracle_cases() -> list[Any]:
    """Every case of the oracle files as (gold, predicted) by document."""
    read = {name: json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")) for name in FILES}
    cases = []
    for i, case in enumerate(read["coref_metrics"]):
        documents = [(unlinked(d["gold"]), unlinked(d["pred"])) for d in case["documents"]]
        cases.append(pytest.param(documents, id=f"coref-{i}"))
    for i, case in enumerate(read["el_metrics"]):
        documents = [(linked(d["gold"]), linked(d["pred"])) for d in case["documents"]]
        cases.append(pytest.param(documents, id=f"el-{i}"))
    authors = read["authors_metrics"]
    pairs = [(authors_clusters(case["gold"]), authors_clusters(case["pred"])) for case in authors["cases"]]
    cases.append(pytest.param(pairs, id="authors"))
    cases += [pytest.param([pair], id=f"authors-{i}") for i, pair in enumerate(pairs)]
    for case in authors["dwie_cluster_scenarios"]:
        names = sorted({name for side in ("gold", "pred") for cluster in case[side] for name in cluster})
        sides = [[[[names.index(n), names.index(n) + 1] for n in c] for c in case[side]] for side in ("gold", "pred")]
        cases.append(pytest.param([tuple(map(unlinked, sides))], id=f"scenario-{case['scenario']}"))
    return cases


FILES = ("coref_metrics", "el_metrics", "authors_metrics")


def unlinked(clusters: list[Any]) -> Linked:
    return [([(begin, end) for begin, end in mentions], None) for mentions in clusters]


def linked(clusters: list[Any]) -> Linked:
    return [([(begin, end) for begin, end in c["mentions"]], c["link"]) for c in clusters]


def authors_clusters(clusters: list[Any]) -> Linked:
    return [([(begin, end) for begin, end in mentions], link) for mentions, link in clusters]


@pytest.mark.parametrize("documents", oracle_cases())
def test_every_oracle_case_scores_as_the_pure_functions_do(metric: Any, documents: list[tuple[Linked, Linked]]) -> None:
    expected = sum((score_clusters(gold, predicted) for gold, predicted in documents), Scores())
    got = metric.compute(
        predictions=[nested(predicted) for _, predicted in documents],
        references=[nested(gold) for gold, _ in documents],
    )
    assert got == expected.to_dict()


def test_all_oracle_cases_are_there() -> None:
    assert len(oracle_cases()) == 120 + 80 + 1 + 12 + 8


def test_batches_and_single_documents_are_one_computation(metric: Any) -> None:
    documents = [(GOLD, GOLD), ([], GOLD), (GOLD[:1], GOLD), ([], []), (GOLD, GOLD[1:]), (GOLD[1:], [])]
    metric.add_batch(predictions=[], references=[])
    metric.add_batch(predictions=[p for p, _ in documents[:3]], references=[r for _, r in documents[:3]])
    for predicted, gold in documents[3:5]:
        metric.add(prediction=predicted, reference=gold)
    assert len(metric) == 5
    got = metric.compute(predictions=[documents[5][0]], references=[documents[5][1]])
    expected = evaluate_nested([p for p, _ in documents], [r for _, r in documents])
    assert got == expected
    assert 0.0 < got["coref_f1"] < 1.0


@pytest.mark.parametrize(
    ("predictions", "references"),
    [
        ([], []),
        ([[]], [[]]),
        ([[], []], [[], GOLD]),
        ([GOLD, []], [[], []]),
        ([[{"mentions": [], "entity": "Oslo"}]], [[{"mentions": [], "entity": ""}]]),
    ],
    ids=["no documents", "no clusters", "nothing predicted", "nothing to find", "no mentions"],
)
def test_empty_documents(metric: Any, predictions: Any, references: Any) -> None:
    got = metric.compute(predictions=predictions, references=references)
    assert got == evaluate_nested(predictions, references)
    assert {value for key, value in got.items() if not key.endswith("clusters")} == {0.0}


def test_missing_links_are_empty_strings_or_none(metric: Any) -> None:
    absent = [{**cluster, "entity": None} for cluster in GOLD]
    empty = [{**cluster, "entity": ""} for cluster in GOLD]
    for predictions, references in (([absent], [GOLD]), ([GOLD], [absent]), ([absent], [absent])):
        expected = evaluate_nested(
            [empty if p is absent else p for p in predictions], [empty if r is absent else r for r in references]
        )
        assert metric.compute(predictions=predictions, references=references) == expected
        assert expected["el_mention_f1"] == 0.0 and expected["coref_f1"] == pytest.approx(1.0)


TEXT = "Oslo met Berg. It left."
ANNOTATED = AnnotatedDocument(
    TEXT,
    [
        Cluster((Mention(0, 4, probability=0.5), Mention(15, 17, link_probability=1.0)), "Oslo", 0.9, "u"),
        Cluster((Mention(9, 13, parent=Parent("root")),), alternatives=(Alternative(None, 0.5),)),
    ],
    id="one",
    warnings=["cut"],
)
NESTED = [{"mentions": [[0, 4], [15, 17]], "entity": "Oslo"}, {"mentions": [[9, 13]], "entity": ""}]
GOLD_DOCUMENT = Document(TEXT, clusters=[Cluster((Mention(0, 4),), "Oslo"), Cluster((Mention(9, 13), Mention(15, 17)))])
DOCUMENTS: dict[str, Callable[[AnnotatedDocument | Document], Any]] = {
    "object": lambda document: document,
    "dict": lambda document: document.to_dict(),
    "with other fields": lambda document: {**document.to_dict(), "resolved_text": "x", "title": "Note"},
    "its clusters": lambda document: document.clusters,
    "their dicts": lambda document: document.to_dict()["clusters"],
    "a row": lambda document: Dataset.from_list([document.to_dict()])[0],
    "a row of arrays": lambda document: Dataset.from_list([document.to_dict()]).with_format("numpy")[0],
    "a row of tensors": lambda document: Dataset.from_list([document.to_dict()]).with_format("torch")[0],
    "a record": lambda document: Dataset.from_list([document.to_dict()]).to_pandas().to_dict("records")[0],
}


@pytest.mark.parametrize("reference", DOCUMENTS.values(), ids=DOCUMENTS)
@pytest.mark.parametrize("prediction", DOCUMENTS.values(), ids=DOCUMENTS)
def test_documents_are_taken_as_they_are(metric: Any, prediction: Any, reference: Any) -> None:
    gold = [{"mentions": [[0, 4]], "entity": "Oslo"}, {"mentions": [[9, 13], [15, 17]], "entity": None}]
    expected = evaluate_nested([NESTED, NESTED], [gold, gold])
    assert 0.0 < expected["coref_f1"] < 1.0 and 0.0 < expected["el_mention_f1"] < 1.0
    predicted, known = prediction(ANNOTATED), reference(GOLD_DOCUMENT)
    got = metric.compute(predictions=(document for document in (predicted, predicted)), references=[known, known])
    assert got == expected


def test_the_pipeline_and_its_generator_are_predictions(
    metric: Any, tiny_folder: Path, tiny_documents: list[Document]
) -> None:
    annotate = load_pipeline(tiny_folder)
    texts = [document.text for document in tiny_documents]
    results = annotate(texts, evidence=True, top_k=2, resolved_text=True)
    expected = metric.compute(
        predictions=[
            [
                {"mentions": [[m["begin"], m["end"]] for m in c["mentions"]], "entity": c["entity"]}
                for c in r["clusters"]
            ]
            for r in results
        ],
        references=[
            [{"mentions": [m.offsets for m in c.mentions], "entity": c.entity} for c in d.clusters or []]
            for d in tiny_documents
        ],
    )
    assert expected["coref_f1"] > 0.5
    rows = Dataset.from_list([document.to_dict() for document in tiny_documents])
    for references in (tiny_documents, rows, rows["clusters"], (row for row in rows)):
        assert metric.compute(predictions=annotate(text for text in texts), references=references) == expected
    streamed = annotate(KeyDataset(rows, "text"))
    assert metric.compute(predictions=streamed, references=rows) == expected
    for result, document in zip(results, rows, strict=True):
        metric.add(prediction=result, reference=document)
    assert metric.compute() == expected


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        (ANNOTATED, [GOLD], "^predictions: expected a list of documents, got a single one; put it into a list$"),
        ([ANNOTATED], [Document(TEXT)], r"^references\[0\]\.clusters: missing; the document has no annotation$"),
        (
            [ANNOTATED],
            [replace(GOLD_DOCUMENT, id="two")],
            r"predictions\[0\] has the id 'one', but references\[0\] has",
        ),
        (
            [ANNOTATED],
            [Document("Oslo", clusters=[])],
            r"predictions\[0\] has the text 'Oslo met .*; they are matched by",
        ),
        (
            pd.DataFrame({"clusters": [GOLD]}),
            [GOLD],
            r'give frame\["clusters"\]\.tolist\(\) or frame\.to_dict\("records"\)$',
        ),
        ([GOLD], pa.table({"clusters": [GOLD]}), r'^references: .* give table\["clusters"\]\.to_pylist\(\) or table\.'),
        ([[{"mentions": [[0, torch.tensor(True)]], "entity": ""}]], [GOLD], "expected \\[begin, end\\], two integers"),
    ],
)
def test_what_does_not_belong_together_is_refused(metric: Any, predictions: Any, references: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=predictions, references=references)


def test_candidates_texts_spans_and_intervals_go_through(metric: Any) -> None:
    more: dict[str, Any] = {
        "candidates": [[[["Oslo"], []], None], None],
        "texts": ["Oslo met Hans, whom it likes.", None],
        "enumerated_spans": [[[0, 4], [9, 13]], []],
        "kept_spans": [[[0, 4]], []],
        "intervals": ["coref_f1", "kept_span_recall"],
        "resamples": 50,
    }
    got = metric.compute(predictions=[GOLD, GOLD], references=[GOLD, []], **more)
    assert got == evaluate_nested([GOLD, GOLD], [GOLD, []], **more)
    assert (got["hard_case_accuracy"], got["several_surfaces_clusters"]) == (1.0, 1.0)
    assert got["kept_span_recall"] == pytest.approx(1 / 3)
    assert got["coref_f1_low"] <= got["coref_f1"] <= got["coref_f1_high"]


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        ([GOLD], [GOLD, GOLD], "1 predictions but 2 references; they are matched by position"),
        ([GOLD], None, "references: expected a list of documents, got None"),
        ([[{"mentions": [[0, 4]], "link": "Oslo"}]], [GOLD], r"predictions\[0\]\[0\]: expected a dict with the fields"),
        ([GOLD], [[{"mentions": [[0, "4"]], "entity": ""}]], r"references\[0\]\[0\]\['mentions'\]\[0\]: expected"),
        (
            [GOLD],
            [[{"mentions": [[0, 2**70]], "entity": ""}]],
            r"references\[0\]\[0\]\['mentions'\]\[0\]: expected .* 64",
        ),
        ([[{"mentions": [], "entity": "\ud800"}]], [GOLD], r"predictions\[0\]\[0\]\['entity'\]: .* no valid Unicode"),
        ([[GOLD[0], GOLD[0]]], [GOLD], r"predictions\[0\]\[1\]\['mentions'\]: \[0, 4\] is already in cluster 0"),
    ],
)
def test_a_batch_that_is_wrong_is_refused_whole(metric: Any, predictions: Any, references: Any, message: str) -> None:
    metric.add(prediction=GOLD, reference=GOLD)
    with pytest.raises(ValueError, match=message):
        metric.add_batch(predictions=predictions, references=references)
    assert len(metric) == 1
    assert metric.compute() == evaluate_nested([GOLD], [GOLD])


def test_wrong_arguments_leave_the_metric_usable(metric: Any) -> None:
    with pytest.raises(ValueError, match="candidates: expected a list with an item a document, 1 of them, got 2"):
        metric.compute(predictions=[GOLD], references=[GOLD], candidates=[None, None])
    with pytest.raises(ValueError, match="Bad inputs for evaluation module: \\['texts'\\]"):
        metric.add_batch(predictions=[GOLD], references=[GOLD], texts=["text"])
    with pytest.raises(ValueError, match="nowhere: there is no such file, and no knowledge base"):
        metric.compute(predictions=[GOLD], references=[GOLD], entity_map="./nowhere")
    with pytest.raises(TypeError, match="unexpected keyword argument 'text'"):
        metric.compute(predictions=[GOLD], references=[GOLD], text=["text"])
    assert metric.compute(predictions=[GOLD], references=[GOLD]) == evaluate_nested([GOLD], [GOLD])


def test_in_memory(tmp_path: Path) -> None:
    in_memory = evaluate.load(hf_corefel.metric_path(), keep_in_memory=True, cache_dir=str(tmp_path))
    assert in_memory.compute(predictions=[GOLD], references=[GOLD]) == evaluate_nested([GOLD], [GOLD])
    assert not list(tmp_path.rglob("*.arrow"))


def test_documented(metric: Any) -> None:
    assert metric.name == "coref_el"
    assert "MUC" in metric.description and "zaporojets-etal-2022-towards" in metric.citation
    scores = evaluate_nested([GOLD], [GOLD], enumerated_spans=[[]], kept_spans=[[]])
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    for key in scores:
        base, _, part = key.rpartition("_")
        documented = f"{base}_*" if part in {"precision", "recall", "f1"} and f"{base}_f1" in scores else key
        assert key in metric.inputs_description or documented in metric.inputs_description, key
        assert f"`{key}`" in card or f"`{base}`" in card, key


@pytest.mark.parametrize("source", ["card", "inputs"])
def test_documented_examples_run(metric: Any, source: str) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8") if source == "card" else metric.inputs_description
    test = doctest.DocTestParser().get_doctest(text, {}, source, None, 0)
    assert len(test.examples) > 4
    results: list[str] = []
    assert doctest.DocTestRunner().run(test, out=results.append).failed == 0, "".join(results)


def test_the_folder_is_a_metric_space() -> None:
    _, settings, card = (FOLDER / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    header = yaml.safe_load(settings)
    assert (header["sdk"], header["app_file"], header["title"]) == ("gradio", "app.py", "coref_el")
    assert {"evaluate", "metric"} <= set(header["tags"])
    for section in ("Metric Description", "How to Use", "### Inputs", "### Output Values", "Limitations", "Citation"):
        assert section in card
    assert {path.name for path in FOLDER.iterdir()} - {"__pycache__"} == {
        "README.md",
        "app.py",
        "coref_el.py",
        "requirements.txt",
    }
    needed = {r.name: r for r in map(Requirement, (FOLDER / "requirements.txt").read_text("utf-8").splitlines())}
    config = configparser.ConfigParser()
    config.read(Path(__file__).parents[1] / "setup.cfg", encoding="utf-8")
    assert str(needed["evaluate"]) in config["options"]["install_requires"].split("\n")
    assert needed["hf-corefel"].specifier.contains(hf_corefel.__version__, prereleases=True)


def test_the_page_of_the_space_scores_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for gradio, which the package does not need."""
    pretend_gradio(monkeypatch)
    page = runpy.run_path(str(FOLDER / "app.py"), run_name="app")["page"].kwargs
    predictions, references = (box.args[0] for box in page["inputs"])
    assert page["fn"](predictions, references) == evaluate_nested(json.loads(predictions), json.loads(references))
    assert page["article"].lstrip().startswith("# Metric Card for coref_el")
    for broken, message in (("[", "Expecting value"), ('[["a"]]', r"predictions\[0\]\[0\]: expected a dict")):
        with pytest.raises(ShownError, match=message):
            page["fn"](broken, references)
