"""AIDA+ and AIDA for `datasets`: a loading script where `datasets` runs such (before 4), and an export everywhere.

Example:
    python dataset_scripts/aida_plus.py --data-dir aida --out aida-parquet    # then load_dataset("aida-parquet")
"""

from __future__ import annotations

import sys

from hf_corefel.corpora.builders import AidaBuilder
from hf_corefel.corpora.exporting import main


class AidaPlus(AidaBuilder):
    """See `hf_corefel.load_aida_plus` and `hf_corefel.load_aida`."""


if __name__ == "__main__":
    sys.exit(main(AidaPlus))
