"""CoNLL-2012 for `datasets`: a loading script where `datasets` runs such (before 4), and an export everywhere.

Example:
    python dataset_scripts/conll2012.py --data-dir litbank/coref/conll --out out    # then load_dataset("out")
"""

from __future__ import annotations

import sys

from hf_corefel.corpora.exporting import main
from hf_corefel.corpora.spec_builder import Conll2012Builder


class Conll2012(Conll2012Builder):
    """See `hf_corefel.load_conll2012`."""


if __name__ == "__main__":
    sys.exit(main(Conll2012))
