# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: attention over a representation")


@app.cell
def _():
    import marimo as mo

    from iclab.explore import _page as page, _representation as view

    page.head(view.Attention)
    return mo, page, view


@app.cell
def _(mo, page, view):
    start, _said = page.read(view.Attention)
    _sliders = page.sliders(
        start,
        tokens="tokens K",
        shown="shown N",
        features="features m",
        heads="heads H",
        tau=("noise τ", 0.01),
        rate=("rate", 0.001),
        steps=("steps", 50),
        seed="seed",
    )
    _by = mo.ui.dropdown(view.OPTIMISERS, value=start.optimiser, label="by")
    controls = mo.ui.dictionary({**_sliders, "optimiser": _by})
    train = mo.ui.run_button(label="train")
    page.complaints(_said)
    return controls, start, train


@app.cell
def _(page, view, start):
    _ridge, _frame = start.ridge(), start.first()
    gap = page.board(view.gap_chart(start, _frame, _ridge))
    own, target = map(page.picture, view.matrix_pictures(_frame, _ridge))
    foot = page.foot()
    return foot, gap, own, target


@app.cell
def _(controls, foot, gap, mo, own, page, target, train):
    mo.vstack(
        [
            page.row(*controls.elements.values()),
            page.row(train),
            page.row(own, target, gap=0.5),
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
    page.keep(settings, foot)
    return settings, show


@app.cell
def _(mo, settings, show, train):
    mo.stop(not train.value and mo.app_meta().mode != "script")
    show(settings.train(show))
    return


if __name__ == "__main__":
    app.run()
