"""GUM for `datasets`: a loading script where `datasets` runs such (before 4), and an export everywhere.

Example:
    python dataset_scripts/gum.py --data-dir gum --out gum-parquet    # then load_dataset("gum-parquet")
"""

from __future__ import annotations

import sys

from hf_corefel.corpora.builders import GumBuilder
from hf_corefel.corpora.exporting import main


class Gum(GumBuilder):
    """See `hf_corefel.load_gum`."""


if __name__ == "__main__":
    sys.exit(main(Gum))
