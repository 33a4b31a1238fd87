# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: GPT-2")


@app.cell
def _():
    import marimo as mo

    from iclab.explore import _board as widgets, _gpt2 as view, _page as page

    page.head("gpt2")
    return mo, page, view, widgets


@app.cell
def _(mo, page, view):
    start, _said = view.Gpt2.from_query(page.query())
    model = mo.ui.dropdown(view.MODELS, value=start.model, label="model")
    space = mo.ui.radio(
        ["line", "plane"], value=start.space, label="points on a", inline=True
    )
    penalty = mo.ui.slider(
        *(0.0, 10.0, 0.1), value=start.penalty, label="ridge penalty", show_value=True
    )
    w1, w2 = (
        mo.ui.slider(*(-2.0, 2.0, 0.1), value=_value, label=_name, show_value=True)
        for _value, _name in ((start.w1, "w₁"), (start.w2, "w₂"))
    )
    latest = [start]  # a list, so that what is kept in it sets nothing in motion
    page.complaints(_said)
    return latest, model, penalty, space, start, w1, w2


@app.cell
def _(latest, mo, view, space, widgets):
    import dataclasses

    _here = dataclasses.replace(latest[0], space=space.value)
    _line = space.value == "line"
    _answers = _here.answers()
    _charts = (
        [view.line_chart(_here, _answers)]
        if _line
        else view.plane_charts(_here, _answers)
    )
    prompt = mo.ui.anywidget(
        widgets.board(
            _charts[0],
            _here.points(),
            adds=True,
            counts=True,
            flips="y" if _line else "mark",
            fresh=view.FRESH,
            most=view.MOST_POINTS,
        )
    )
    fields = [mo.ui.anywidget(widgets.board(_one)) for _one in _charts[1:]]
    return dataclasses, fields, prompt


@app.cell
def _(mo, view, start, widgets):
    filter_view = mo.ui.anywidget(widgets.board(view.filter_chart(start, None)))
    ask = mo.ui.run_button(label="measure the model's filter (seconds)")
    foot = mo.ui.anywidget(widgets.Foot())
    return ask, filter_view, foot


@app.cell
def _(ask, fields, filter_view, foot, mo, model, penalty, prompt, space, w1, w2):
    _line = space.value == "line"
    _help = (
        "Points are examples, numbered in the order in which the model sees them. Drag"
        " one; choose *add* (or double-click), *mislabel* or *remove* and click. Keys:"
        " arrows move, f mislabels, Delete removes."
    )
    if not _line:
        _help += (
            " Labels are w₁x₁ + w₂x₂, of the other sign where a point is hollow. Orange"
            " is positive, purple negative."
        )
    mo.vstack(
        [
            mo.hstack(
                [model, space, penalty, *([] if _line else [w1, w2])],
                justify="start",
                gap=2,
                wrap=True,
            ),
            mo.md(_help),
            mo.hstack(
                [
                    prompt,
                    mo.vstack([mo.hstack(fields[:2], justify="start"), *fields[2:]]),
                ],
                justify="start",
                wrap=True,
            ),
            mo.hstack([ask], justify="start"),
            filter_view,
            foot,
        ]
    )
    return


@app.cell
def _(
    dataclasses, fields, foot, latest, model, page, penalty, prompt, view, space, w1, w2
):
    settings = dataclasses.replace(
        latest[0],
        model=model.value,
        space=space.value,
        penalty=penalty.value,
        w1=w1.value,
        w2=w2.value,
    ).moved(prompt.value["points"])
    latest[0] = settings
    _answers = settings.answers()
    if settings.space == "line":
        prompt.widget.show(view.line_chart(settings, _answers))
    else:
        _charts = view.plane_charts(settings, _answers)
        for _widget, _chart in zip([prompt, *fields], _charts, strict=True):
            _widget.widget.show(_chart)
    foot.widget.show(settings, "gpt2", settings.code())
    page.keep(settings)
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
