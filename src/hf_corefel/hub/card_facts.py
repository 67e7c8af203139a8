"""What a model card says that no file of the model does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["BUNDLED", "CardFacts"]


@dataclass(frozen=True)
class CardFacts:
    """What no file of a model says.

    Attributes:
        title: Name of the model.
        summary: What it is, in a paragraph; a general one when None. It is Markdown, as are the training data, notes
            and limitations; all else is shown as it is.
        license: As the Hub spells it; the card then leaves it out when None.
        language: ISO 639-1.
        base_model: Hub id of the encoder.
        datasets: Hub ids or names of the training data.
        training_data: What it was trained on, in a sentence or two.
        notes: Further points of how it is made.
        limitations: Further limits.
        examples: Texts that the Hub offers to try; when None, some of our own for English, and none for other
            languages.

    Example:
        >>> from hf_corefel.hub import CardFacts
        >>> CardFacts(license="apache-2.0", datasets=("my-corpus",)).license
        'apache-2.0'
    """

    title: str = "Coreference resolution and entity linking"
    summary: str | None = None
    license: str | None = None
    language: str = "en"
    base_model: str | None = None
    datasets: Sequence[str] = ()
    training_data: str | None = None
    notes: Sequence[str] = ()
    limitations: Sequence[str] = ()
    examples: Sequence[str] | None = None


BUNDLED = CardFacts(
    title="MiniLM on news, Wikipedia, novels and twelve other kinds of text",
    summary=(
        "Coreference resolution and entity linking of English texts as one structured prediction, on all-MiniLM-L6-v2 "
        "(6 layers, 384 wide, uncased)."
    ),
    license="apache-2.0",
    base_model="sentence-transformers/all-MiniLM-L6-v2",
    datasets=("DWIE", "AIDA CoNLL-YAGO", "GUM", "DocRED", "LitBank", "GAP"),
    training_data=(
        "Under the mention scope `named`: training articles of DWIE (Deutsche Welle) and AIDA CoNLL-YAGO (Reuters). "
        "Under `entities`: Wikipedia's paragraphs of DocRED and the links of two excerpts of its dump, and names of "
        "DWIE and GUM without demonyms, roles and dates. Under `all`: GUM (fifteen kinds of text, those of Reddit "
        "excepted), LitBank (openings of novels), GAP's validation paragraphs, and passages of DWIE in which "
        "descriptions and pronouns took the place of later names (`experiments/replace_names.py`). Four in ten "
        "documents of the last training were such passages, or written by `experiments/write_passages.py` and "
        "`write_common_words.py` with titles, strangers, acronyms, namesakes, other forms and common words in them. "
        "Each corpus says what of a text it annotates, and the loss sums over the rest. The last training drew 42 % of "
        "a mixture of 10,807 documents, the one before 55 % of another. `experiments/training_corpora.py` says which "
        "documents were held out."
    ),
    notes=(
        "Beyond the paper: the mention scope as an input, letter-case embeddings of a span's first and last word, a "
        "pair product of low rank, the words and candidates that two spans share, the entities that either may stand "
        "for, and further inputs of the entity scorer: the log prior, a product of span and entity, one of the entity "
        "and the document's other entities, and how much the document's other spans speak for the entity.",
        "Candidate lists published with DWIE, the training mentions of AIDA, titles of their entities and of 10,033 "
        "vital articles, all of these with the first letter lower-cased, and what `experiments/wide_knowledge_base.py` "
        "adds from public sources, which `hf-corefel kb info` lists with their licences: three quarters of the "
        "entities. "
        "Entity vectors are mean-pooled all-MiniLM-L6-v2 encodings of titles (and of a short description, the "
        "beginning of the Wikipedia lead, or titles linked to, where known), stored as int8 with few levels.",
        "Weights are stored as float16 and computed in float32. The scores below were measured on these files.",
    ),
    limitations=(
        "English; pronouns and descriptions under the mention scope `all` only, learnt from 177 documents of GUM, 64 "
        "openings of novels and from names that were replaced; entities of the Wikipedia of about 2018 and popular "
        "ones since, whose titles come lower-cased and may be wrong in letter case; Wikidata ids for 7 % of the "
        "entities, types for 41 %.",
    ),
)
