# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: attention over a representation")


@app.cell
def _():
    import marimo as mo

    from iclab.explore import _board as widgets, _page as page, _representation as view

    page.head("representation")
    return mo, page, view, widgets


@app.cell
def _(mo, page, view):
    start, _said = view.Attention.from_query(page.query())
    _labels = {
        "tokens": "tokens K",
        "shown": "shown N",
        "features": "features m",
        "heads": "heads H",
        "tau": "noise τ",
        "rate": "rate",
        "steps": "steps",
        "seed": "seed",
    }
    _steps = {"tau": 0.01, "rate": 0.001, "steps": 50}
    controls = mo.ui.dictionary(
        {
            _name: mo.ui.slider(
                *(*view.Attention.limits(_name), _steps.get(_name, 1)),
                value=getattr(start, _name),
                label=_label,
                show_value=True,
            )
            for _name, _label in _labels.items()
        }
        | {
            "optimiser": mo.ui.dropdown(
                view.OPTIMISERS, value=start.optimiser, label="by"
            )
        }
    )
    train = mo.ui.run_button(label="train")
    page.complaints(_said)
    return controls, start, train


@app.cell
def _(mo, view, start, widgets):
    _ridge, _frame = start.ridge(), start.first()
    gap = mo.ui.anywidget(widgets.board(view.gap_chart(start, _frame, _ridge)))
    own, target = (
        mo.ui.anywidget(widgets.Picture(svg=_one))
        for _one in view.matrix_pictures(_frame, _ridge)
    )
    foot = mo.ui.anywidget(widgets.Foot())
    return foot, gap, own, target


@app.cell
def _(controls, foot, gap, mo, own, target, train):
    mo.vstack(
        [
            mo.hstack(controls.elements.values(), justify="start", gap=2, wrap=True),
            mo.hstack([train], justify="start"),
            mo.hstack([own, target], justify="start", wrap=True),
            gap,
            mo.md(
                "Orange is positive, purple negative. Column k holds the weights with"
                " which token k's label is predicted from those shown."
            ),
            foot,
        ]
    )
    return


@app.cell
def _(controls, foot, gap, own, page, view, target):
    settings = view.Attention(**controls.value)
    ridge = settings.ridge()

    def show(frame):
        own.widget.svg, target.widget.svg = view.matrix_pictures(frame, ridge)
        gap.widget.show(view.gap_chart(settings, frame, ridge))

    show(settings.first())
    foot.widget.show(settings, "representation", settings.code())
    page.keep(settings)
    return settings, show


@app.cell
def _(mo, settings, show, train):
    mo.stop(not train.value and mo.app_meta().mode != "script")
    show(settings.train(show))
    return


if __name__ == "__main__":
    app.run()
