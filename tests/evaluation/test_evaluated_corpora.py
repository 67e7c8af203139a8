"""Evaluation on corpora whose formats say which mentions they annotate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import CorefELPipeline, Document
from hf_corefel.evaluation import end_to_end, evaluate_corpus
from little_corpora import Source, write_brat, write_conll2012, write_corefud, write_docred

# In the words of the tiny world.
SOURCE = Source(
    [["Anna", "Berg", "met", "Carl", "Moss", "in", "Oslo", "."], ["Berg", "praised", "Moss", "."]],
    [("Anna_Berg", [(0, 0, 1), (1, 0, 0)]), (None, [(0, 3, 4), (1, 2, 2)]), ("Oslo", [(0, 6, 6)])],
)
WRITERS = {"conll": write_conll2012, "conllu": write_corefud, "json": write_docred, "ann": write_brat}
TITLES = {"conll": "CoNLL-2012", "conllu": "CorefUD", "json": "DocRED", "ann": "brat"}


def scored(folder: Path, model: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[dict[str, Any], Any]:
    """The scores, and the scope that the model was told."""
    told = []
    predict = end_to_end.predict

    def spy(pipeline: CorefELPipeline, documents: list[Document], *more: Any) -> None:
        told.extend(document.mention_scope for document in documents)
        predict(pipeline, documents, *more)

    monkeypatch.setattr(end_to_end, "predict", spy)
    scores = evaluate_corpus(folder, model=model, split="all", **options)
    (scope,) = told
    return scores, scope


@pytest.fixture
def scoped_folder(tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any], tmp_path: Path) -> Path:
    """A model that knows scopes, and no more."""
    scopes = {"named": {}, "all": {"max_span_words": 5}, "entities": {}}
    model = tiny_model(mention_scopes=scopes, default_mention_scope="entities")
    model.save_pretrained(tmp_path / "model")
    tiny_processor(model.config).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("end", WRITERS)
def test_the_mentions_that_are_annotated_are_looked_for(
    end: str, tmp_path: Path, tiny_folder: Path, scoped_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    WRITERS[end](tmp_path / "corpus" / f"x.{end}", SOURCE)
    kind = "named" if end == "json" else "all"
    for model, expected in ((tiny_folder, None), (scoped_folder, kind)):
        scores, scope = scored(tmp_path / "corpus", model, monkeypatch)
        assert (scores["corpus"], scores["documents"]) == (TITLES[end], 1)
        assert (scores["mention_scope"], scope) == (kind, expected)
        assert ("pronouns" in scores) == (end == "conllu")
    given, _ = scored(tmp_path / "corpus", tiny_folder, monkeypatch, given_mentions=True)
    assert given["coreference"]["mention"]["f1"] == 1.0


def test_files_of_one_name_are_told_apart(tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are names of files, which repeat in the folders of a corpus."""
    other = Source([["Moss", "left", "."]], [("Carl_Moss", [(0, 0, 0)])])
    for name, source in (("a", SOURCE), ("b", other), ("c", other)):
        (tmp_path / "test" / name).mkdir(parents=True)
        write_brat(tmp_path / "test" / name / "x.ann", source)
    given = evaluate_corpus(tmp_path, model=tiny_folder, split="test", given_mentions=True)
    assert (given["documents"], given["coreference"]["mention"]["f1"]) == (3, 1.0)
    for limit in (1, 2, 3):
        assert evaluate_corpus(tmp_path, model=tiny_folder, split="test", limit=limit)["documents"] == limit


def test_another_scope_than_the_corpus_has_is_warned_of(
    tmp_path: Path, scoped_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_conll2012(tmp_path / "x.conll", SOURCE)
    message = "CoNLL-2012 has all mentions annotated, and the model looks for named ones; leave mention_scope out"
    with pytest.warns(UserWarning, match=message):
        _, scope = scored(tmp_path, scoped_folder, monkeypatch, mention_scope="named")
    assert scope == "named"


@pytest.mark.filterwarnings("error::UserWarning")
def test_a_treebank_without_heads_has_no_scores_of_pronouns(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_corefud(tmp_path / "x.conllu", SOURCE)
    path.write_text(path.read_text(encoding="utf-8").replace("-head-", "-salience-"), encoding="utf-8")
    scores, _ = scored(tmp_path, tiny_folder, monkeypatch)
    assert "pronouns" not in scores and scores["documents"] == 1
