# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: claims")


@app.cell
def _():
    import marimo as mo

    from iclab import papers
    from iclab.explore import _board as widgets, _claims as view, _page as page

    page.head("claims")
    return mo, page, papers, view, widgets


@app.cell
def _(mo, page, view):
    start, _said = view.Moved.from_query(page.query())
    claim = mo.ui.dropdown(
        [one.id for one in view.claims()],
        value=start.entry.id,
        label="claim",
        searchable=True,
    )
    page.complaints(_said)
    return claim, start


@app.cell
def _(claim, mo, view, start):
    chosen = start if claim.value == start.id else view.Moved(id=claim.value)
    case = mo.ui.dropdown(
        list(chosen.claim.cases(view.SCALE)),
        value=chosen.case_name(),
        label="case",
    )
    return case, chosen


@app.cell
def _(case, chosen, mo, view):
    _same = case.value == chosen.case_name()
    here = view.Moved(
        chosen.id, case.value, chosen.changes if _same else "", chosen.seed
    )
    _known = here.values()
    sliders = mo.ui.dictionary(
        {
            one.name: mo.ui.slider(
                *(one.low, one.high, 1 if one.whole else (one.high - one.low) / 60),
                value=_known.get(one.name, one.value),
                label=one.name,
                show_value=True,
                debounce=True,
            )
            for one in here.parameters()
        }
    )
    seed = mo.ui.slider(0, 99, value=min(here.seed, 99), label="seed", show_value=True)
    entry = mo.ui.number(1, 40, value=1, label="entry to follow")
    history = view.History()
    return entry, here, history, seed, sliders


@app.cell
def _(mo, view, widgets):
    distances = mo.ui.anywidget(widgets.board(view.distance_chart(None, "measuring …")))
    values = mo.ui.anywidget(widgets.board(view.distance_chart(None, "measuring …")))
    foot = mo.ui.anywidget(widgets.Foot())
    return distances, foot, values


@app.cell
def _(case, chosen, claim, distances, entry, foot, mo, papers, seed, sliders, values):
    _entry = chosen.entry
    _how = dict(papers.method(_entry).steps)
    _words = [f"**{_entry.id}** — {_entry.statement}"]
    if _entry.correction:
        _words.append(f"*Corrected:* {_entry.correction}")
    _names = {"predict": "Prediction", "measure": "Measurement", "decoy": "Decoy"}
    _words.append(
        "\n".join(
            f"- *{_names[_one]}:* {_how[_one]}" for _one in _names if _one in _how
        )
    )
    mo.vstack(
        [
            mo.hstack([claim, case], justify="start", gap=2, wrap=True),
            mo.md("\n\n".join(_words)),
            mo.hstack(
                [*sliders.elements.values(), seed, entry],
                justify="start",
                gap=2,
                wrap=True,
            ),
            mo.hstack([distances, values], wrap=True),
            foot,
        ]
    )
    return


@app.cell
def _(distances, entry, foot, here, history, mo, page, view, seed, sliders, values):
    _changes = view.written(sliders.value, here.parameters())
    settings = view.Moved(here.id, here.linked_case(), _changes, seed.value)
    foot.widget.show(settings, "claims", settings.code())
    page.keep(settings)
    try:
        trial = settings.trial()
    except view.Refused as _problem:
        trial = None
        _said = mo.callout(f"Not with these parameters: {_problem}", kind="warn")
        distances.widget.show(view.distance_chart(None, "no measurement"))
    else:
        distances.widget.show(view.distance_chart(trial, f"{trial.verdict}"))
        history.add({**sliders.value, "seed": seed.value}, trial)
        values.widget.show(view.history_chart(history, entry.value - 1))
        _said = mo.vstack(
            [mo.Html(view.table(trial)), mo.md(f"Error bar: {trial.reason}.")]
        )
    mo.output.replace(_said)
    return


if __name__ == "__main__":
    app.run()
