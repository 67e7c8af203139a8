"""Publish a model on the Hugging Face Hub: weights, tokenizer, processor, knowledge base, card and fingerprint.

    hf auth login
    python examples/06_publish.py my-organisation/my-model --model runs/mine/final --license apache-2.0 --private

`hf-corefel publish my-organisation/my-model` does the same without the facts for the card.
"""

from __future__ import annotations

import argparse

from hf_corefel import bundled_checkpoint
from hf_corefel.hub import CardFacts, publish


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repo_id", help="organisation/name; made when it does not exist")
    parser.add_argument("--model", default=bundled_checkpoint(), help="folder of a model and its processor")
    parser.add_argument("--title", help="title of the model card")
    parser.add_argument("--license", help="licence of the model, as the Hub spells it")
    parser.add_argument("--training_data", help="what it was trained on, in a sentence")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    options = parser.parse_args()

    given = {name: getattr(options, name) for name in ("title", "license", "training_data")}
    facts = {name: value for name, value in given.items() if value is not None}
    # Without facts, a card that lies in the folder is kept.
    url = publish(
        options.model,
        options.repo_id,
        private=options.private or None,
        facts=CardFacts(**facts) if facts else None,
    )
    print(url)


if __name__ == "__main__":
    main()
