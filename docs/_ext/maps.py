"""Pages of what is checked in a paper, what is not, and why: from its `map.toml`."""

from docs._ext.gallery import _words
from iclab.papers import Statement, find_paper, paper_map, select


def page(key: str) -> str:
    """All that a paper asserts, in its order, each with the entry that answers it."""
    opened = find_paper(key)
    found = paper_map(opened)
    if found is None:
        return f"{key} has no map yet.\n"
    every = found.statements
    checked = sum(bool(one.by) for one in every)
    lines = [
        f"{opened.paper.title} ({opened.paper.year})."
        f" {len(every)} statements in the paper's order and in our words: {checked} are"
        f" answered by an entry (`iclab show ID`), {len(every) - checked} are not, and"
        " the last column says why.",
        "",
    ]
    if not found.complete:
        lines += ["This map is not complete yet.", ""]
    for section in found.sections:
        lines += [f"## {_words(section.title)}", ""]
        lines += ["| Where | What is said | Answered by |", "|---|---|---|"]
        lines += [
            f"| {_words(one.at)} | {_words(one.says)} | {_answer(one)} |"
            for one in section.statements
        ]
        lines.append("")
    return "\n".join(lines)


def _answer(one: Statement) -> str:
    words = [f"`{id.partition('/')[2]}` ({_status(id)})" for id in one.by]
    return "; ".join([*words, *([_words(one.note)] if one.note else [])])


def _status(id: str) -> str:
    (entry,) = select([id])
    if entry.erratum:
        return f"fails as printed: {entry.erratum_class}"
    return "with a note" if entry.remark else entry.kind
