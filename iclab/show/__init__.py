"""How things are shown, each once: numbers, colours, tables, progress, terminals.

Imports nothing of iclab and nothing that takes long.
"""

from iclab.show import palette as palette
from iclab.show._chart import (
    STYLES as STYLES,
    Axis as Axis,
    Chart as Chart,
    Style as Style,
    around as around,
    curves as curves,
    diverging as diverging,
    heat_map as heat_map,
)
from iclab.show._numbers import (
    counted as counted,
    duration as duration,
    number as number,
    of as of,
    share as share,
    size as size,
    typeset as typeset,
    with_error as with_error,
    with_interval as with_interval,
)
from iclab.show._progress import (
    Display as Display,
    Lines as Lines,
    Notebook as Notebook,
    Terminal as Terminal,
    display as display,
)
from iclab.show._table import panel as panel, svg as svg, table as table
from iclab.show._terminal import (
    CONTROL as CONTROL,
    CannotWrite as CannotWrite,
    columns as columns,
    flush as flush,
    in_ascii as in_ascii,
    is_unicode as is_unicode,
    open_streams as open_streams,
    say_of_writing as say_of_writing,
    tell as tell,
    visible as visible,
)

# What is shown decides nothing that a job computes.
__computes__ = False
