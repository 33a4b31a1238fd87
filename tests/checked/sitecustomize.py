"""Type checks at run time in every process that has this folder on its path."""

from jaxtyping import install_import_hook

install_import_hook(
    "iclab",
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)
