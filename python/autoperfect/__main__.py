"""``python -m autoperfect``: the command line."""

from .cli import main

main()
