"""Maps of the papers: every entry has its place, in the paper's order."""

import pytest

from iclab import papers
from iclab.papers import numbers_of, paper_map

MAPS = {
    opened.key: found
    for opened in papers.every_paper()
    if (found := paper_map(opened)) is not None
}


@pytest.mark.parametrize("key", MAPS)
def test_every_entry_has_its_place(key):
    entries = {entry.id: entry for entry in papers.select([key])}
    named = {id for one in MAPS[key].statements for id in one.by}
    assert named <= set(entries), "by names entries of contents.py"
    if MAPS[key].complete:
        assert named == set(entries)


@pytest.mark.parametrize("key", MAPS)
def test_order_is_the_paper_s(key):
    titles = [section.title for section in MAPS[key].sections]
    parts = [one[0] for title in titles if (one := numbers_of(title.split(":")[0]))]
    assert parts == sorted(parts)
    equations = [
        one
        for statement in MAPS[key].statements
        if statement.at.startswith("(")
        for one in numbers_of(statement.at)[:1]
    ]
    assert equations == sorted(equations)


@pytest.mark.parametrize("key", MAPS)
def test_an_entry_s_locator_is_where_the_map_has_it(key):
    entries = {entry.id: entry for entry in papers.select([key])}
    places: dict[str, set[object]] = {}
    for section in MAPS[key].sections:
        for one in section.statements:
            where = numbers_of(f"{section.title.split(':')[0]}, {one.at}")
            for id in one.by:
                places.setdefault(id, set()).update(where)
    for id, found in places.items():
        wanted = set(numbers_of(entries[id].locator))
        assert found & wanted or not wanted, f"{id} is at {entries[id].locator}"


def test_numbers_of_a_place():
    assert numbers_of("Lemma C.2, (C.9)–(C.11)") == [
        ("C", (2,)),
        ("C", (9,)),
        ("C", (11,)),
    ]
    assert numbers_of("Section 4.2, (8) with y₁") == [("", (4, 2)), ("", (8,))]
