"""DocRED for `datasets`: a loading script where `datasets` runs such (before 4), and an export everywhere.

Example:
    python dataset_scripts/docred.py --data-dir docred --out out    # then load_dataset("out")
"""

from __future__ import annotations

import sys

from hf_corefel.corpora.exporting import main
from hf_corefel.corpora.spec_builder import DocREDBuilder


class DocRED(DocREDBuilder):
    """See `hf_corefel.load_docred`."""


if __name__ == "__main__":
    sys.exit(main(DocRED))
