"""The site: Sphinx, because its domains know every name and its search needs no server;
MyST, because our docstrings and pages are Markdown; MyST-NB, because tutorials are run.

    python -m pip install -e '.[docs]'
    sphinx-build -W --keep-going -j auto docs docs/_build/site
"""

import hashlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import iclab  # noqa: E402

project = "iclab"
author = "The iclab authors"
copyright = "The iclab authors, MIT license"
version = release = iclab.__version__

extensions = ["myst_nb", "sphinx_copybutton", "docs._ext.site"]
exclude_patterns = ["_build", "_ext", "_generated/*.md"]
source_suffix = {".md": "myst-nb"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
html_math_renderer = "mathml"

# Tutorials are run when the site is built. What a run gave is kept for as long as
# neither the page nor the library changes: both are in the cache's name.
nb_execution_mode = "cache"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_render_image_options = {"class": "picture"}


def _sources() -> str:
    digest = hashlib.sha256()
    for path in sorted((HERE.parent / "iclab").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


nb_execution_cache_path = str(HERE / "_build" / f"executed-{_sources()}")
# Kernels find the tree that the site is built from, installed or not.
os.environ["PYTHONPATH"] = os.pathsep.join(
    part for part in (str(HERE.parent), os.environ.get("PYTHONPATH", "")) if part
)
# `!iclab` in a tutorial is the command of this environment.
os.environ["PATH"] = os.pathsep.join(
    (str(Path(sys.executable).parent), os.environ.get("PATH", ""))
)
# Pictures of tutorials: drawn as lines, on paper of one size.
_IPYTHON = HERE / "_build" / "ipython"
(_IPYTHON / "profile_default").mkdir(parents=True, exist_ok=True)
(_IPYTHON / "profile_default" / "ipython_kernel_config.py").write_text(
    "c.IPKernelApp.log_level = 40\n"
    'c.InlineBackend.figure_formats = {"svg"}\n'
    'c.InlineBackend.rc = {"figure.figsize": (6.4, 3.4), "axes.grid": True,'
    ' "grid.alpha": 0.25, "svg.hashsalt": "iclab"}\n'
)
os.environ["IPYTHONDIR"] = str(_IPYTHON)
# Warnings of the shutting down of debuggers are not for readers.
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")

python_maximum_signature_line_length = 72
add_module_names = False
toc_object_entries = True
toc_object_entries_show_parents = "hide"
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_title = "iclab"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {
        "color-brand-primary": "#7a3b00",
        "color-brand-content": "#9a4b00",
    },
    "dark_css_variables": {
        "color-brand-primary": "#f0b072",
        "color-brand-content": "#f0b072",
    },
}
copybutton_exclude = ".linenos, .gp, .go"
