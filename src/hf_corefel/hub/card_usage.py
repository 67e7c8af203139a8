"""The lines of a model card that say how the model is used."""

from __future__ import annotations

import re

from .card_text import python_literal

__all__ = ["point_card_to", "usage"]

_BEGIN, _END = "<!-- use:begin -->", "<!-- use:end -->"


def usage(repo_id: str | None, *, adapter: bool = False) -> str:
    """Return the lines that load a model and annotate a text, between marks that no other line of a card is.

    Args:
        repo_id: Where the model is; the bundled checkpoint when None.
        adapter: Whether the repository holds an adapter. Only `load_pipeline` looks for its base there.
    """
    imports = "import hf_corefel  # registers the task\nfrom transformers import pipeline"
    if repo_id is None:
        call = 'annotate = pipeline("coref-el")  # this checkpoint is the default'
    elif adapter:
        imports, call = "from hf_corefel import load_pipeline", f"annotate = load_pipeline({python_literal(repo_id)})"
    else:
        call = f'annotate = pipeline("coref-el", model={python_literal(repo_id)})'
    package = "'hf-corefel[peft]'" if adapter else "hf-corefel"
    return f"""\
{_BEGIN}
```sh
pip install {package}
```

```python
{imports}

{call}
annotate("Angela Merkel spoke in Berlin. Merkel will travel to Moscow.")["clusters"]
```
{_END}"""


def point_card_to(card: str, repo_id: str) -> str:
    """A card that this package wrote, with the lines on how to use it naming a repository; others as they are."""
    # Lines of their own: the names in a card may hold anything.
    pattern = re.compile(f"^{re.escape(_BEGIN)}$.*?^{re.escape(_END)}$", re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda _: usage(repo_id), card)
