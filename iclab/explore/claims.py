# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: claims")


@app.cell
def _():
    import marimo as mo

    from iclab.explore import _claims as view, _page as page

    page.head(view.Moved)
    return mo, page, view


@app.cell
def _(mo, page, view):
    start, _said = page.read(view.Moved)
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
    case = mo.ui.dropdown(list(chosen.cases), value=chosen.case_name, label="case")
    return case, chosen


@app.cell
def _(case, chosen, mo, page, view):
    _same = case.value == chosen.case_name
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
    seed = page.slider("seed", min(here.seed, 99), 0, 99)
    entry = mo.ui.number(1, 40, value=1, label="entry to follow")
    history = view.History()
    return entry, here, history, seed, sliders


@app.cell
def _(page, view):
    distances = page.board(view.distance_chart(None, "measuring …"))
    values = page.board(view.distance_chart(None, "measuring …"))
    foot = page.foot()
    return distances, foot, values


@app.cell
def _(case, chosen, claim, distances, entry, foot, mo, page, seed, sliders, values):
    mo.vstack(
        [
            page.row(claim, case),
            mo.md(chosen.words()),
            page.row(*sliders.elements.values(), seed, entry),
            page.row(distances, values, gap=0.5),
            foot,
        ]
    )
    return


@app.cell
def _(distances, entry, foot, here, history, mo, page, view, seed, sliders, values):
    settings = here.moved(sliders.value, seed.value)
    page.keep(settings, foot)
    try:
        trial = settings.trial()
    except view.Refused as _problem:
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
