"""What the merging of a dump's facts asks of DuckDB, in the order in which it is asked.

The tables of the units are named in braces: ``pages``, ``aliases`` and ``links``, and of other files ``props`` (page
ids and QIDs), ``items`` and ``item_names`` (Wikidata).
"""

from __future__ import annotations

PAGES = """
CREATE TABLE pages AS
SELECT title, min(place) AS place, arg_min_null(kind, place) AS kind, arg_min_null(target, place) AS target,
    arg_min_null(page_id, place) AS page_id, arg_min_null(type, place) AS type, count(*) AS times
FROM {pages} GROUP BY title
"""
DOUBLE = """
CREATE OR REPLACE TABLE jumps AS
SELECT here.title, coalesce(there.goal, here.goal) AS goal
FROM jumps AS here LEFT JOIN jumps AS there ON there.title = here.goal
"""
# Where a title leads to in the end: an article, a disambiguation page, or nowhere, as redirects that go in a circle.
RESOLVED = """
CREATE TABLE resolved AS
SELECT title, kind, CASE WHEN kind = 'article' THEN place END AS article FROM pages WHERE kind <> 'redirect'
UNION ALL
SELECT jumps.title,
    CASE WHEN pages.kind = 'redirect' THEN 'circle' ELSE coalesce(pages.kind, 'missing') END,
    CASE WHEN pages.kind = 'article' THEN pages.place END
FROM jumps LEFT JOIN pages ON pages.title = jumps.goal
"""
# Links to what has no article (yet) have no entity, and count for their surface all the same.
LINKED = """
CREATE TABLE linked AS
SELECT surface, article, sum(count)::BIGINT AS count
FROM (SELECT surface, target, sum(count)::BIGINT AS count FROM {links} GROUP BY surface, target) AS anchors
LEFT JOIN resolved ON resolved.title = anchors.target
WHERE coalesce(resolved.kind, 'missing') <> 'disambiguation' GROUP BY surface, article
"""
IN_LINKS = """
CREATE TABLE in_links AS
SELECT article, sum(count)::BIGINT AS links FROM linked WHERE article IS NOT NULL GROUP BY article
"""
# What files say twice counts once.
KNOWN_ITEMS = """
CREATE TABLE known_items AS
SELECT qid, min(title) AS title, min(description) AS description, min(type) AS type FROM {items} GROUP BY qid
"""
QIDS = """
CREATE TABLE qids AS
SELECT pages.place AS article, coalesce(min(props.qid), min(items.qid)) AS qid,
    coalesce(bool_or(props.qid <> items.qid), false) AS differ
FROM pages LEFT JOIN {props} AS props ON props.page_id = pages.page_id
LEFT JOIN known_items AS items ON items.title = pages.title
WHERE pages.kind = 'article' AND (props.qid IS NOT NULL OR items.qid IS NOT NULL) GROUP BY pages.place
"""
TITLE_USES = """
CREATE TABLE title_uses AS
SELECT linked.article, max(linked.count) AS count
FROM {aliases} AS names JOIN pages ON pages.title = names.title AND pages.kind = 'article'
JOIN linked ON linked.surface = names.surface AND linked.article = pages.place
WHERE names.source = 'titles' GROUP BY linked.article
"""
# A shorter form of a title counts for a part of the uses of the title itself.
NAMED = """
CREATE TABLE named AS
SELECT surface, article, source, max(weight)::BIGINT AS weight FROM (
    SELECT names.surface, resolved.article, names.source,
        CASE WHEN names.source IN ('short forms', 'initialisms')
        THEN names.weight * (1 + coalesce(title_uses.count, 0)) ELSE names.weight END AS weight
    FROM {aliases} AS names JOIN resolved USING (title) LEFT JOIN title_uses USING (article)
    WHERE resolved.article IS NOT NULL
    UNION ALL
    SELECT names.surface, qids.article, 'Wikidata', names.weight FROM {item_names} AS names JOIN qids USING (qid)
) GROUP BY surface, article, source
"""
ENTITIES = """
CREATE TABLE entities AS
SELECT *, (row_number() OVER (ORDER BY name) - 1)::BIGINT AS entity FROM (
    SELECT replace(pages.title, ' ', '_') AS name, pages.place AS article, coalesce(in_links.links, 0) AS links
    FROM pages LEFT JOIN in_links ON in_links.article = pages.place WHERE pages.kind = 'article'
) WHERE links >= {min_links}
"""
WEIGHTS = """
CREATE TABLE weights AS
SELECT surface, article, sum(weight)::BIGINT AS weight FROM (
    SELECT surface, article, count * {link_weight} AS weight FROM linked
    UNION ALL SELECT surface, article, weight FROM named
) GROUP BY surface, article
"""
# The total is of all that a surface stands for, what is no entity here among it.
SURFACES = """
CREATE TABLE surfaces AS
SELECT surface, total, (row_number() OVER (ORDER BY surface) - 1)::BIGINT AS number FROM (
    SELECT surface, sum(weight)::BIGINT AS total FROM weights LEFT JOIN entities USING (article)
    GROUP BY surface HAVING count(entities.entity) > 0
)
"""
ROWS = """
SELECT surfaces.number AS surface, entities.entity AS entity, weights.weight AS weight
FROM weights JOIN entities USING (article) JOIN surfaces USING (surface) ORDER BY 1, 3 DESC, 2
"""
DESCRIPTIONS = """
SELECT entity, coalesce(facts.description, items.description) AS text
FROM entities JOIN {pages} AS facts ON facts.place = entities.article
LEFT JOIN qids USING (article) LEFT JOIN known_items AS items ON items.qid = qids.qid
WHERE text IS NOT NULL ORDER BY entity
"""
TYPES = """
SELECT entity, coalesce(items.type, pages.type) AS text
FROM entities JOIN pages ON pages.place = entities.article
LEFT JOIN qids USING (article) LEFT JOIN known_items AS items ON items.qid = qids.qid
WHERE text IS NOT NULL ORDER BY entity
"""
WIKIDATA = "SELECT entity, qid AS text FROM entities JOIN qids USING (article) ORDER BY entity"
REDIRECTS = """
SELECT entity, replace(resolved.title, ' ', '_') AS text
FROM resolved JOIN pages USING (title) JOIN entities ON entities.article = resolved.article
WHERE pages.kind = 'redirect' ORDER BY 2
"""

COUNTS = {
    "articles": "SELECT count(*) FROM pages WHERE kind = 'article'",
    "redirects": "SELECT count(*) FROM pages WHERE kind = 'redirect'",
    "disambiguation pages": "SELECT count(*) FROM pages WHERE kind = 'disambiguation'",
    "titles that came more than once": "SELECT count(*) FROM pages WHERE times > 1",
    "redirects that go in a circle": "SELECT count(*) FROM resolved WHERE kind = 'circle'",
    "redirects to nothing": "SELECT count(*) FROM resolved WHERE kind = 'missing'",
    "redirects to other redirects": """
        SELECT count(*) FROM pages JOIN pages AS goals ON goals.title = pages.target
        WHERE pages.kind = 'redirect' AND goals.kind = 'redirect'
    """,
    "redirects to disambiguation pages": """
        SELECT count(*) FROM resolved JOIN pages USING (title)
        WHERE pages.kind = 'redirect' AND resolved.kind = 'disambiguation'
    """,
    "links to articles": "SELECT coalesce(sum(links), 0)::BIGINT FROM in_links",
    "links to nothing": "SELECT coalesce(sum(count), 0)::BIGINT FROM linked WHERE article IS NULL",
    "entities": "SELECT count(*) FROM entities",
    "surfaces": "SELECT count(*) FROM surfaces",
    "entities with too few links": """
        SELECT (SELECT count(*) FROM pages WHERE kind = 'article') - (SELECT count(*) FROM entities)
    """,
    "entities with a QID": "SELECT count(*) FROM entities JOIN qids USING (article)",
    "QIDs that page_props and Wikidata give differently": "SELECT count(*) FROM qids WHERE differ",
}
EXAMPLES = {
    "redirects that go in a circle": "SELECT title FROM resolved WHERE kind = 'circle' ORDER BY title LIMIT 10",
    "redirects to nothing": "SELECT title FROM resolved WHERE kind = 'missing' ORDER BY title LIMIT 10",
    "titles that came more than once": "SELECT title FROM pages WHERE times > 1 ORDER BY title LIMIT 10",
    "QIDs that page_props and Wikidata give differently": """
        SELECT pages.title FROM qids JOIN pages ON pages.place = qids.article WHERE differ ORDER BY 1 LIMIT 10
    """,
}
SOURCES = """
SELECT source, count(DISTINCT article), count(DISTINCT surface), count(*) FROM (
    SELECT surface, article, 'links' AS source FROM linked UNION ALL SELECT surface, article, source FROM named
) JOIN entities USING (article) GROUP BY source ORDER BY source
"""
