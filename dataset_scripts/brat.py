"""Standoff of brat for `datasets`: a loading script where `datasets` runs such (before 4), and an export everywhere.

Example:
    python dataset_scripts/brat.py --data-dir annotation --out out    # then load_dataset("out")
"""

from __future__ import annotations

import sys

from hf_corefel.corpora.exporting import main
from hf_corefel.corpora.spec_builder import BratBuilder


class Brat(BratBuilder):
    """See `hf_corefel.load_brat`."""


if __name__ == "__main__":
    sys.exit(main(Brat))
