# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(width="medium", app_title="iclab explore")


@app.cell
def _():
    import marimo as mo

    from iclab.explore import PAGES

    mo.vstack(
        [
            mo.md("# iclab explore\nExact formulas, moved by sliders. Choose a page:"),
            *(
                mo.Html(
                    f'<a href="{one.name}/" style="display:block;padding:0.8em 1.1em;'
                    "margin:0.2em 0;border-radius:10px;text-decoration:none;"
                    'color:inherit;border:1px solid currentColor">'
                    f"<strong>{one.title}</strong><br>{one.text}</a>"
                )
                for one in PAGES
            ),
        ]
    )
    return


if __name__ == "__main__":
    app.run()
