"""Public names that changed: the old ones work for one version, with a warning.

```python
__getattr__ = renamed(__name__, {"Record": "Recorder"})
```

A folder of `names_on_use` hands its own `__getattr__` on, for all other names:

```python
__getattr__, __dir__ = names_on_use(__name__, __file__)
__getattr__ = renamed(__name__, {"Old": "New"}, __getattr__)
```
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

# Gives names to what is in the folders: no part of the names of jobs.
__computes__ = False


def renamed(
    module: str,
    names: Mapping[str, str],
    otherwise: Callable[[str], Any] | None = None,
) -> Callable[[str], Any]:
    """`__getattr__` of a module in which `names`, old to new, have changed."""

    def __getattr__(name: str) -> Any:
        if name in names:
            new = names[name]
            text = f"{module}.{name} is now {new}; the next version drops the old name"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return getattr(sys.modules[module], new)
        if otherwise is not None:
            return otherwise(name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__
