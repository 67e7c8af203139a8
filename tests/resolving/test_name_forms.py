"""Names in the form of the mentions that they replace: possessives, determiners, capitals, full stops."""

from __future__ import annotations

import pytest

from hf_corefel.resolving import resolve_text
from marked_texts import marked

MERKEL, MOSS, UNION, STATES, TIMES = "Angela_Merkel", "Carl_Moss", "European_Union", "United_States", "The_Times"

POSSESSIVES = [
    (MERKEL, "⟦0her⟧ party", "Angela Merkel's party"),
    (MERKEL, "this is ⟦0hers⟧", "this is Angela Merkel's"),
    (MERKEL, "⟦0her⟧ own, ⟦0Her⟧ Own", "Angela Merkel's own, Angela Merkel's Own"),
    (MERKEL, "⟦0Merkel's⟧ party", "Angela Merkel's party"),
    (MERKEL, "⟦0Merkel⟧'s party", "Angela Merkel's party"),
    (MERKEL, "⟦0Merkel⟧’s and ⟦0her⟧ party", "Angela Merkel’s and Angela Merkel’s party"),
    (MERKEL, "⟦0she⟧'s tired, ⟦0she's⟧ out", "Angela Merkel's tired, Angela Merkel's out"),
    (MERKEL, "⟦0she⟧'ll go, ⟦0she⟧'d go", "Angela Merkel'll go, Angela Merkel'd go"),
    (MOSS, "⟦0his⟧ dog", "Carl Moss' dog"),
    (MOSS, "⟦0the man's⟧ dog", "Carl Moss' dog"),
    (MOSS, "⟦0the man⟧'s dog", "Carl Moss's dog"),
    (MOSS, "⟦0he's⟧ tired", "Carl Moss's tired"),
    (STATES, "⟦0its⟧ laws", "United States' laws"),
    (STATES, "the ⟦0Americas⟧' laws", "the United States' laws"),
    (STATES, "the ⟦0Americas'⟧ laws", "the United States' laws"),
    ("America", "the ⟦0States'⟧ laws", "the America's laws"),
    ("America", "the ⟦0States⟧' laws", "the States' laws"),
    ("America", "the ‘big ⟦0States⟧’ is", "the ‘big America’ is"),
    ("McDonald's", "⟦0its⟧ shops; ⟦0the chain's⟧ shops", "McDonald's shops; McDonald's shops"),
    ("McDonald's", "⟦0the chain⟧'s shops", "the chain's shops"),
    ("McDonald's", "⟦0McDonald⟧'s shops", "McDonald's shops"),
]
DETERMINERS = [
    (UNION, "⟦0the EU⟧ and ⟦0The EU's⟧", "the European Union and The European Union's"),
    (UNION, "⟦0the Union⟧ and the ⟦0EU⟧", "the European Union and the European Union"),
    (UNION, "⟦0the bloc⟧ and ⟦0it⟧", "European Union and European Union"),
    (UNION, "the ⟦0EU⟧ said ⟦0it⟧ and ⟦0its⟧", "the European Union said the European Union and the European Union's"),
    (UNION, "⟦0the EU⟧ likes ⟦0it⟧", "the European Union likes the European Union"),
    (UNION, "the ⟦0EU⟧ summit and ⟦0it⟧", "the European Union summit and European Union"),
    (UNION, "⟦0EU⟧ law, the ⟦0EU⟧.\n\n⟦0It⟧ is.", "European Union law, the European Union.\n\nThe European Union is."),
    (UNION, "our ⟦0EU⟧ and ⟦0our EU⟧", "our European Union and our European Union"),
    (UNION, "a ⟦0EU⟧ law, an ⟦0EU⟧ law, an\n⟦0EU⟧ law", "a European Union law, an EU law, an\nEU law"),
    (MERKEL, "a ⟦0Merkel⟧ speech, an ⟦0Angie⟧ speech", "a Merkel speech, an Angela Merkel speech"),
    (MERKEL, "⟦0the chancellor⟧", "Angela Merkel"),
    (MERKEL, "Germany's ⟦0chancellor⟧, Germany’s ⟦0Merkel⟧", "Germany's chancellor, Germany’s Angela Merkel"),
    (MERKEL, "the ⟦0Merkel⟧ party and ⟦0she⟧", "the Angela Merkel party and Angela Merkel"),
]
CAPITALS = [
    (TIMES, "he read ⟦0NYT⟧ daily", "he read the Times daily"),
    (TIMES, "he left. ⟦0NYT⟧ won", "he left. The Times won"),
    (TIMES, "he left!” ⟦0NYT⟧ won", "he left!” The Times won"),
    (TIMES, "Mr. ⟦0NYT⟧ of St. ⟦0NYT⟧", "Mr. the Times of St. the Times"),
    (TIMES, "so.\n\n⟦0NYT⟧", "so.\n\nThe Times"),
    (TIMES, "so\n\n## ⟦0NYT⟧\n\nso", "so\n\n## The Times\n\nso"),
    (
        TIMES,
        "so\n\n- ⟦0NYT⟧\n* ⟦0NYT⟧\n2. ⟦0NYT⟧\nb) ⟦0NYT⟧",
        "so\n\n- The Times\n* The Times\n2. The Times\nb) The Times",
    ),
    (TIMES, "so\n\n**⟦0NYT⟧** won", "so\n\n**The Times** won"),
    (TIMES, "so.\n> ⟦0NYT⟧", "so.\n> The Times"),
    (TIMES, 'she said: "⟦0NYT⟧ won"', 'she said: "The Times won"'),
    (TIMES, "she said, “⟦0NYT⟧ won”", "she said, “The Times won”"),
    (TIMES, 'so-called "⟦0NYT⟧" and (⟦0NYT⟧ is)', 'so-called "the Times" and (the Times is)'),
    (TIMES, "⟦0NYT⟧\tso\tso\nso\t⟦0NYT⟧\tso", "the Times\tso\tso\nso\tThe Times\tso"),
    (TIMES, "⟦0It⟧ won, ⟦0it⟧ lost", "The Times won, the Times lost"),
    ("von_der_Leyen", "she met ⟦0Ursula⟧. ⟦0Ursula⟧ won", "she met von der Leyen. Von der Leyen won"),
    ("iPhone", "he left. ⟦0It⟧ rang. ⟦0The phone⟧ rang", "he left. iPhone rang. iPhone rang"),
    ("eBay", "he left.\n\n⟦0The shop's⟧ big", "he left.\n\neBay's big"),
    ("élan", "he left. ⟦0It⟧ won", "he left. Élan won"),
    (MERKEL, "so\n\nI MET ⟦0MERKEL⟧.\n\n⟦0SHE⟧ LEFT", "so\n\nI MET ANGELA MERKEL.\n\nANGELA MERKEL LEFT"),
    (MERKEL, "so.\n\nSELL ⟦0HER⟧ CAR! So ⟦0MERKEL⟧ won", "so.\n\nSELL ANGELA MERKEL'S CAR! So Angela Merkel won"),
    (UNION, "so.\n\n- ⟦0EU⟧ & ⟦0EU⟧", "so.\n\n- European Union & European Union"),
    (STATES, "in the ⟦0U.S.⟧ The man", "in the United States. The man"),
    (STATES, "in the ⟦0U.S.⟧", "in the United States."),
    (STATES, "in the ⟦0U.S.⟧ Congress, the ⟦0U.S.⟧ and", "in the United States Congress, the United States and"),
    (STATES, "(in the ⟦0U.S.⟧)\n\nSo", "(in the United States.)\n\nSo"),
    ("Wood_Inc.", "by ⟦0it⟧.\n\nby ⟦0it⟧, ⟦0it⟧?", "by Wood Inc.\n\nby Wood Inc., Wood Inc.?"),
    ("Washington,_D.C.", "in ⟦0Washington⟧, D.C., ⟦0DC⟧", "in Washington, D.C., Washington, D.C."),
]


@pytest.mark.parametrize(("entity", "text", "expected"), POSSESSIVES + DETERMINERS + CAPITALS)
def test_forms(entity: str, text: str, expected: str) -> None:
    """Behind the first mention, "Uno", which stays."""
    assert resolve_text(marked(f"⟦0Uno⟧ ran: {text}", entity)) == f"Uno ran: {expected}"
