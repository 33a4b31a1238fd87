"""`iclab explore`: the playground in the browser."""

import argparse
from typing import Any

from iclab.lab import Mistake

_PORTS = 65535


def add_explore(commands: Any) -> None:
    """Add the command to the others."""
    text = "Open the playground in the browser: sliders that move exact formulas."
    end = "Needs `pip install 'iclab[explore]'`. The page is served to this machine"
    end += " alone, opens with a token, and fetches nothing from elsewhere. Ctrl-C ends"
    end += " it."
    parser = commands.add_parser("explore", help=text, description=text, epilog=end)
    parser.set_defaults(run=explore)
    add = parser.add_argument
    text = "one-layer, depth, representation, gpt2 or claims, or the link of a view"
    text += " (default: the choice of pages)"
    add("place", nargs="?", default="", metavar="PAGE", help=text)
    text = "(2771, or another if that is taken)"
    add("--port", type=int, metavar="N", help=text)
    text = "print the address and open nothing"
    add("--no-browser", action="store_true", help=text)


def explore(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from iclab import explore

    port = options.port
    if port is not None and not 0 <= port <= _PORTS:
        raise Mistake(f"--port must be between 0 and {_PORTS}, got {port}")
    try:
        page, settings = explore.find_page(options.place)
        explore.serve(page, settings, port=port, browser=not options.no_browser)
    except (explore.UnknownPage, explore.CannotServe) as mistake:
        raise Mistake(str(mistake)) from None
    return 0
