"""Wikipedia's dumps: pages, what is said in them, Wikidata's items. Imports nothing heavy.

`dumps` reads pages in bounded memory, `facts` says what one page says, `wikidata` and `page_props` read identifiers.
"""

from __future__ import annotations

from .problems import Problem, WikipediaError
from .site import Site

__all__ = ["Problem", "Site", "WikipediaError"]
