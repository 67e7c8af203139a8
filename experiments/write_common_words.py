"""Make training sentences in which nothing is a name, in capitals and small letters.

    python experiments/write_common_words.py --data-dir path/to/DWIE --out runs/common_words.jsonl

Passages of names in other letter cases alone would teach that whatever looks odd is a name. Half of these sentences
were written for this purpose, with words that are names elsewhere ("the gates were closed"); half are sentences of
training articles of DWIE that have no mention. Test articles are left out, and those for development.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hf_corefel import Document
from hf_corefel.corpora import development_split, read_dwie
from hf_corefel.formats import write_jsonl

SENTENCES = Path(__file__).parent / "stories" / "common_words.txt"
_SENTENCE = re.compile(r"[^.!?\n]{30,220}[.!?](?=\s|$)")
# Of DWIE's sentences, how many are written in capitals and in small letters.
IN_CAPITALS, IN_SMALL_LETTERS = 160, 100


def without_mentions(documents: Sequence[Document]) -> Iterator[str]:
    """Yield the sentences of documents in which nothing is annotated."""
    for document in documents:
        mentions = [mention.offsets for cluster in document.clusters or [] for mention in cluster.mentions]
        for match in _SENTENCE.finditer(document.text):
            if not any(begin < match.end() and end > match.start() for begin, end in mentions):
                yield match.group().strip()


def forms(written: Sequence[str], found: Sequence[str], seed: int) -> list[str]:
    """Return the sentences in their forms: those written as they are and in both cases, some of them as titles."""
    generator = random.Random(seed)
    texts = []
    for sentence in written:
        texts += [sentence, sentence.upper(), sentence.lower()]
        if generator.random() < 0.3:
            texts.append(sentence.title())
    shuffled = list(found)
    generator.shuffle(shuffled)
    small = shuffled[IN_CAPITALS : IN_CAPITALS + IN_SMALL_LETTERS]
    return [*texts, *(text.upper() for text in shuffled[:IN_CAPITALS]), *(text.lower() for text in small)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the sentences as documents without clusters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="DWIE in its official JSON, with content")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON lines")
    options = parser.parse_args(arguments)
    train, _ = development_split(list(read_dwie(options.data_dir, "train", strict=False)))
    written = SENTENCES.read_text(encoding="utf-8").splitlines()
    texts = forms(written, list(without_mentions(train)), options.seed)
    documents = [Document(text, f"common.{n}", clusters=[], mention_scope="named") for n, text in enumerate(texts)]
    print(f"{write_jsonl(options.out, documents)} sentences")


if __name__ == "__main__":
    main()
