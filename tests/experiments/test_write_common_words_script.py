from __future__ import annotations

from hf_corefel import Cluster, Document, Mention
from script_loading import load_script


def test_sentences_without_mentions_in_other_cases() -> None:
    script = load_script("experiments/write_common_words.py")
    text = "The old man walked slowly to the Bundestag. Nobody knew where he had been all that time."
    document = Document(text, clusters=[Cluster((Mention(33, 42),), "Bundestag")])
    found = list(script.without_mentions([document]))
    assert found == ["Nobody knew where he had been all that time."]
    made = script.forms(["Open the windows."], found, seed=7)
    assert made[:3] == ["Open the windows.", "OPEN THE WINDOWS.", "open the windows."]
    assert made[-1] == "NOBODY KNEW WHERE HE HAD BEEN ALL THAT TIME."
