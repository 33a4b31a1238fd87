# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: depth and loops")


@app.cell
def _():
    import marimo as mo

    from iclab.explore import _depth as view, _page as page

    page.head(view.Depth)
    return mo, page, view


@app.cell
def _(mo, page, view):
    start, _said = page.read(view.Depth)
    sliders = mo.ui.dictionary(
        page.sliders(
            start,
            dimension="dimension d",
            samples="examples n",
            layers="layers k",
            trained_loops="loops in training",
            noise_std=("label noise σ", 0.05),
        )
    )
    page.complaints(_said)
    return sliders, start


@app.cell
def _(page, view, start):
    residuals = page.board(view.residual_chart(start))
    depth = page.board(view.depth_chart(start))
    loops = page.board(view.loops_chart(start))
    foot = page.foot()
    return depth, foot, loops, residuals


@app.cell
def _(depth, foot, loops, mo, page, residuals, sliders):
    mo.vstack(
        [
            page.row(*sliders.elements.values()),
            page.row(residuals, depth, loops, gap=0.5),
            foot,
        ]
    )
    return


@app.cell
def _(depth, foot, loops, page, residuals, view, sliders):
    settings = view.Depth(**sliders.value)
    residuals.widget.show(view.residual_chart(settings))
    loops.widget.show(view.loops_chart(settings))
    depth.widget.show(view.depth_chart(settings))
    page.keep(settings, foot)
    return


if __name__ == "__main__":
    app.run()
