"""Arguments are read by their annotations: name, rule and value of what is refused.

This stands below every folder and loads nothing. Here are words, numbers, paths, lists,
dictionaries, functions and objects; `core` adds arrays, keys and matrices. `checked`
makes a function read its arguments before it sees them.
"""

from iclab._reading._functions import (
    FunctionT as FunctionT,
    checked as checked,
    from_outside as from_outside,
    read_methods as read_methods,
    reading as reading,
    reads_by_itself as reads_by_itself,
    spoken as spoken,
)
from iclab._reading._values import (
    LARGEST_INTEGER as LARGEST_INTEGER,
    Amount as Amount,
    Argument as Argument,
    Json as Json,
    Listed as Listed,
    Numbers as Numbers,
    Positive as Positive,
    Rule as Rule,
    Seconds as Seconds,
    Seed as Seed,
    Whole as Whole,
    flat as flat,
    in_words as in_words,
    is_json as is_json,
    is_one as is_one,
    require as require,
    short as short,
)
