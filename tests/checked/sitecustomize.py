"""Type checks at run time in every process that has this folder on its path.

Of folders that know arrays: shapes are what no other tool sees. Elsewhere `pyright`
and the reading of arguments do it, and these checks would take half of a test's time.
"""

from jaxtyping import install_import_hook

_FOLDERS = (
    "core",
    "tasks",
    "algorithms",
    "models",
    "theory",
    "evaluation",
    "training",
    "probes",
    "papers",
    "explore",
)

install_import_hook(
    [f"iclab.{folder}" for folder in _FOLDERS],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)
