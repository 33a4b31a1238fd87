# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="full", app_title="iclab: one layer")


@app.cell
def _():
    import marimo as mo

    from iclab.explore import _one_layer as view, _page as page

    page.head(view.OneLayer)
    return mo, page, view


@app.cell
def _(mo, page, view):
    start, _said = page.read(view.OneLayer)
    dimension = page.slider(
        "dimension d", len(start.spectra()[0]), 1, view.MOST_DIMENSIONS
    )
    prompts = mo.ui.dictionary(
        page.sliders(
            start,
            context_length="training length N",
            noise_std=("label noise σ", 0.05),
        )
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
    return dimension, prompts, shifts, start


@app.cell
def _(page, view, start):
    risk = page.board(view.risk_chart(start.parts(), None))
    foot = page.foot()
    latest = [start]  # a list, so that what is kept in it sets nothing in motion
    return foot, latest, risk


@app.cell
def _(dimension, latest, page, view, shifts):
    # The board starts anew with another dimension, or another spectrum to drag, from
    # where the points were.
    spectra = page.board(
        view.spectrum_chart(dimension.value, shifts.value),
        view.spectrum_points(latest[0].resized(dimension.value), shifts.value),
    )
    return (spectra,)


@app.cell
def _(dimension, foot, mo, page, prompts, risk, shifts, spectra):
    mo.vstack(
        [
            page.row(dimension, *prompts.elements.values()),
            page.row(*shifts.elements),
            page.row(spectra, risk, gap=0.5),
            foot,
        ]
    )
    return


@app.cell
def _(foot, latest, page, prompts, risk, view, spectra):
    settings = view.OneLayer.from_points(spectra.value["points"], **prompts.value)
    latest[0], parts = settings, settings.parts()
    risk.widget.show(view.risk_chart(parts, None))  # at once; the simulation follows
    page.keep(settings, foot)
    return parts, settings


@app.cell
def _(parts, risk, view, settings):
    curve = settings.simulated()
    risk.widget.show(view.risk_chart(parts, curve))
    return


if __name__ == "__main__":
    app.run()
