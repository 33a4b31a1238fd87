# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: one layer")


@app.cell
def _():
    import marimo as mo

    from iclab.explore import _board as widgets, _one_layer as view, _page as page

    page.head("one-layer")
    return mo, page, view, widgets


@app.cell
def _(mo, page, view):
    start, _said = view.OneLayer.from_query(page.query())
    dimension = mo.ui.slider(
        *(1, view.MOST_DIMENSIONS),
        value=len(start.spectra()[0]),
        label="dimension d",
        show_value=True,
    )
    context_length = mo.ui.slider(
        *view.OneLayer.limits("context_length"),
        value=start.context_length,
        label="training length N",
        show_value=True,
    )
    noise_std = mo.ui.slider(
        *(0.0, 2.0, 0.05),
        value=start.noise_std,
        label="label noise σ",
        show_value=True,
    )
    shifts = mo.ui.array(
        [
            mo.ui.switch(value=bool(_values), label=_label)
            for _values, _label in (
                (start.test, "other test inputs"),
                (start.query_spectrum, "other query"),
                (start.task, "other task"),
            )
        ]
    )
    page.complaints(_said)
    return context_length, dimension, noise_std, shifts, start


@app.cell
def _(mo, view, start, widgets):
    risk = mo.ui.anywidget(widgets.board(view.risk_chart(start.parts(), None)))
    foot = mo.ui.anywidget(widgets.Foot())
    latest = [start]  # a list, so that what is kept in it sets nothing in motion
    return foot, latest, risk


@app.cell
def _(dimension, latest, mo, view, shifts, widgets):
    # The board starts anew with another dimension, or another spectrum to drag, from
    # where the points were.
    spectra = mo.ui.anywidget(
        widgets.board(
            view.spectrum_chart(dimension.value, shifts.value),
            view.spectrum_points(latest[0].resized(dimension.value), shifts.value),
        )
    )
    return (spectra,)


@app.cell
def _(context_length, dimension, foot, mo, noise_std, risk, shifts, spectra):
    mo.vstack(
        [
            mo.hstack([dimension, context_length, noise_std], justify="start", gap=2),
            mo.hstack(shifts.elements, justify="start", gap=2),
            mo.hstack([spectra, risk], justify="start", wrap=True),
            foot,
        ]
    )
    return


@app.cell
def _(context_length, foot, latest, noise_std, page, risk, view, spectra):
    settings = view.OneLayer.from_points(
        spectra.value["points"], context_length.value, noise_std.value
    )
    latest[0], parts = settings, settings.parts()
    risk.widget.show(view.risk_chart(parts, None))  # at once; the simulation follows
    foot.widget.show(settings, "one-layer", settings.code())
    page.keep(settings)
    return parts, settings


@app.cell
def _(parts, risk, view, settings):
    curve = settings.simulated()
    risk.widget.show(view.risk_chart(parts, curve))
    return


if __name__ == "__main__":
    app.run()
