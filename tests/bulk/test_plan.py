"""The plan for many documents follows from what is measured, and the documentation shows what it says."""

from __future__ import annotations

from script_loading import ROOT, load_script

PAGE = ROOT / "docs" / "how_to" / "many_documents.md"


def test_the_page_shows_what_follows_from_its_figures() -> None:
    script = load_script("benchmarks/many_documents.py")
    figures = script.Figures(600, 0.684, 17_536, 3735, 4246, 487, 166)
    planned = dict(script.plan(figures, 1_000_000_000))
    assert planned == {
        "core hours": "190,000",
        "days on 1,000 cores": "7.9",
        "cores that one reader keeps busy": "11,995",
        "input, JSON lines": "3.73 TB",
        "results, .jsonl.gz": "4.25 TB",
        "shards of 1,000": "1,000,000",
        "size of a shard": "4.2 MB",
        "core hours of a shard, at most lost with a worker": "0.19",
        "memory of 16 workers": "7.8 GiB",
    }
    page = PAGE.read_text(encoding="utf-8")
    shown = [
        f"{figures.seconds} s each",
        f"{figures.read:,} documents",
        f"{figures.bytes_in:,} and {figures.bytes_out:,}",
    ]
    shown += [planned[name] for name in planned if name != "cores that one reader keeps busy"]
    assert [text for text in shown if text not in page] == []


def test_texts_have_the_length_that_is_asked_for() -> None:
    script = load_script("benchmarks/many_documents.py")
    texts = [script.text_of(words, number) for words in (1, 600, 5000) for number in (0, 1, 30)]
    assert [len(text.split(" ")) for text in texts] == [1, 1, 1, 600, 600, 600, 5000, 5000, 5000]
    assert len(set(texts[3:])) == 6
