# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: GPT-2")


@app.cell
def _():
    import dataclasses

    import marimo as mo

    from iclab.explore import _gpt2 as view, _page as page

    page.head(view.Gpt2)
    return dataclasses, mo, page, view


@app.cell
def _(mo, page, view):
    start, _said = page.read(view.Gpt2)
    model = mo.ui.dropdown(view.MODELS, value=start.model, label="model")
    space = mo.ui.radio(
        ["line", "plane"], value=start.space, label="points on a", inline=True
    )
    sliders = mo.ui.dictionary(
        page.sliders(
            start, penalty=("ridge penalty", 0.1), w1=("w₁", 0.1), w2=("w₂", 0.1)
        )
    )
    latest = [start]  # a list, so that what is kept in it sets nothing in motion
    page.complaints(_said)
    return latest, model, sliders, space, start


@app.cell
def _(dataclasses, latest, page, view, space):
    _here = dataclasses.replace(latest[0], space=space.value)
    _first, *_rest = view.charts(_here)
    prompt = page.board(
        _first,
        _here.points(),
        adds=True,
        counts=True,
        flips="y" if space.value == "line" else "mark",
        fresh=view.FRESH,
        most=view.MOST_POINTS,
    )
    fields = [page.board(_one) for _one in _rest]
    return fields, prompt


@app.cell
def _(mo, page, view, start):
    filter_view = page.board(view.filter_chart(start, None))
    ask = mo.ui.run_button(label="measure the model's filter (seconds)")
    foot = page.foot()
    return ask, filter_view, foot


@app.cell
def _(ask, fields, filter_view, foot, mo, model, page, prompt, sliders, space):
    _penalty, *_weights = sliders.elements.values()
    _help = (
        "Points are examples, numbered in the order in which the model sees them. Drag"
        " one; choose *add* (or double-click), *mislabel* or *remove* and click. Keys:"
        " arrows move, f mislabels, Delete removes."
    )
    if space.value == "line":
        _weights = []
    else:
        _help += (
            " Labels are w₁x₁ + w₂x₂, of the other sign where a point is hollow. Orange"
            " is positive, purple negative."
        )
    _fields = mo.vstack([mo.hstack(fields[:2], justify="start"), *fields[2:]])
    mo.vstack(
        [
            page.row(model, space, _penalty, *_weights),
            mo.md(_help),
            page.row(prompt, _fields, gap=0.5),
            page.row(ask),
            filter_view,
            foot,
        ]
    )
    return


@app.cell
def _(dataclasses, fields, foot, latest, model, page, prompt, sliders, space, view):
    _chosen = {"model": model.value, "space": space.value, **sliders.value}
    _points = prompt.value["points"]
    settings = dataclasses.replace(latest[0], **_chosen).moved(_points)
    latest[0] = settings
    for _widget, _chart in zip([prompt, *fields], view.charts(settings), strict=True):
        _widget.widget.show(_chart)
    page.keep(settings, foot)
    return (settings,)


@app.cell
def _(ask, filter_view, view, settings):
    # Measured when asked for; other points make it that of another length.
    filter_view.widget.show(
        view.filter_chart(settings, settings.filter() if ask.value else None)
    )
    return


if __name__ == "__main__":
    app.run()
