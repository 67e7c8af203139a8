"""Documents and the metric go over the Hub as models do."""

from __future__ import annotations

from typing import Any

from hf_corefel import Document, metric_path


def test_documents_come_back_from_the_hub(hub: Any, client: Any, tiny_documents: list[Document]) -> None:
    documents = [document.to_dict() for document in tiny_documents]
    back = client(
        """
        import json
        from datasets import Dataset, load_dataset
        from hf_corefel import Document
        # Clusters vary in their fields: as JSON they need no schema.
        rows = [{"id": d["id"], "text": d["text"], "document": json.dumps(d)} for d in given["documents"]]
        Dataset.from_list(rows).push_to_hub("acme/documents", split="train")
        loaded = load_dataset("acme/documents", split="train")
        return [Document.from_dict(json.loads(row["document"])).to_dict() for row in loaded]
        """,
        documents=documents,
    )
    assert back == documents
    assert any(name.endswith(".parquet") for name in hub.repository("acme/documents", "datasets").files())


def test_the_metric_is_loaded_from_its_space(hub: Any, client: Any) -> None:
    scores = client(
        """
        import evaluate
        import huggingface_hub
        huggingface_hub.create_repo("acme/coref_el", repo_type="space", space_sdk="gradio")
        huggingface_hub.upload_folder(
            repo_id="acme/coref_el", repo_type="space", folder_path=given["folder"], ignore_patterns="__pycache__/*"
        )
        metric = evaluate.load("acme/coref_el")
        document = [{"mentions": [[0, 4], [20, 22]], "entity": "Oslo"}, {"mentions": [[9, 13]], "entity": ""}]
        return metric.compute(predictions=[document], references=[document])
        """,
        folder=metric_path(),
    )
    assert scores["coref_f1"] == scores["el_mention_f1"] == 1.0
    assert {"README.md", "coref_el.py"} <= set(hub.repository("acme/coref_el", "spaces").files())
