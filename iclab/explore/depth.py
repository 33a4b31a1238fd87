# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: depth and loops")


@app.cell
def _():
    import marimo as mo

    from iclab.explore import _board as widgets, _depth as view, _page as page

    page.head("depth")
    return mo, page, view, widgets


@app.cell
def _(mo, page, view):
    start, _said = view.Depth.from_query(page.query())
    _sliders = {
        "dimension": "dimension d",
        "samples": "examples n",
        "layers": "layers k",
        "trained_loops": "loops in training",
    }
    sliders = mo.ui.dictionary(
        {
            _name: mo.ui.slider(
                *view.Depth.limits(_name),
                value=getattr(start, _name),
                label=_label,
                show_value=True,
            )
            for _name, _label in _sliders.items()
        }
        | {
            "noise_std": mo.ui.slider(
                *(0.0, 2.0, 0.05),
                value=start.noise_std,
                label="label noise σ",
                show_value=True,
            )
        }
    )
    page.complaints(_said)
    return sliders, start


@app.cell
def _(mo, view, start, widgets):
    residuals, depth, loops = (
        mo.ui.anywidget(widgets.board(_draw(start)))
        for _draw in (view.residual_chart, view.depth_chart, view.loops_chart)
    )
    foot = mo.ui.anywidget(widgets.Foot())
    return depth, foot, loops, residuals


@app.cell
def _(depth, foot, loops, mo, residuals, sliders):
    mo.vstack(
        [
            mo.hstack(sliders.elements.values(), justify="start", gap=2, wrap=True),
            mo.hstack([residuals, depth, loops], justify="start", wrap=True),
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
    foot.widget.show(settings, "depth", settings.code())
    page.keep(settings)
    return


if __name__ == "__main__":
    app.run()
