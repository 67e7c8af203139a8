"""Datasets as others hold them, given to the trainer: other columns, other libraries' numbers, tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from datasets import Dataset
from torch.utils.data import Subset

from hf_corefel import CorefELTrainer, Document
from hf_corefel.documents.extra_fields import ExtraFieldWarning
from hf_corefel.training import DocumentDataset

MakeTrainer = Callable[..., CorefELTrainer]


def test_other_columns_are_named_once_for_training_and_evaluation(
    make_trainer: MakeTrainer, tiny_documents: list[Document]
) -> None:
    rows = Dataset.from_list([{**d.to_dict(), "id": i, "label": 1} for i, d in enumerate(tiny_documents)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trainer = make_trainer(train_dataset=rows, eval_dataset={"a": rows, "b": rows}, max_steps=1)
        trainer.train()
        scores = trainer.evaluate(rows.with_format("numpy"))
    named = [str(w.message) for w in caught if issubclass(w.category, ExtraFieldWarning)]
    assert named == ["fields that are kept aside and not read, as a document does not have them: 'label'"]
    assert [document.id for document in trainer.train_dataset.documents] == [0, 1, 2]
    assert [document.extra for document in trainer.train_dataset.documents] == [{}] * 3
    plain = make_trainer(model=trainer.model).evaluate()
    assert {name: scores[name] for name in ("eval_loss", "eval_coref_f1", "eval_score")} == pytest.approx(
        {name: plain[name] for name in ("eval_loss", "eval_coref_f1", "eval_score")}
    )


@pytest.mark.parametrize("form", ["numpy", "torch", "pandas records", "Arrow rows", "of torch", "stream", "given"])
def test_rows_in_every_form(tiny_documents: list[Document], form: str) -> None:
    rows = Dataset.from_list([d.to_dict() for d in tiny_documents])
    made: dict[str, Callable[[], Any]] = {
        "numpy": lambda: rows.with_format("numpy"),
        "torch": lambda: rows.with_format("torch"),
        "pandas records": lambda: rows.to_pandas().to_dict("records"),
        "Arrow rows": lambda: rows.data.table.to_pylist(),
        "of torch": lambda: Subset(rows, np.arange(3).tolist()),  # type: ignore[arg-type]
        "stream": rows.to_iterable_dataset,
        "given": lambda: (document for document in tiny_documents),
    }
    assert DocumentDataset(made[form]()).documents == tiny_documents


@pytest.mark.parametrize("name", ["train_dataset", "eval_dataset"])
def test_tables_are_refused_with_what_to_give(make_trainer: MakeTrainer, name: str) -> None:
    frame = pd.DataFrame({"text": ["Oslo"], "clusters": [[]]})
    for table, advice in (
        (frame, r'got a DataFrame; give frame\.to_dict\("records"\)$'),
        (pa.Table.from_pandas(frame), r"got a Table; give table\.to_pylist\(\)$"),
    ):
        with pytest.raises(TypeError, match=rf"^{name}: expected Documents or their dicts; {advice}"):
            make_trainer(**{name: table})
    with pytest.raises(TypeError, match=r"^eval_dataset\['dev'\]: .* got a DataFrame"):
        make_trainer(eval_dataset={"dev": frame})
    with pytest.raises(TypeError, match=r"^test_dataset: .* got a DataFrame"):
        make_trainer().predict(frame)
