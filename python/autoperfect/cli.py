"""The ``autoperfect`` command: the program that lies beside this file."""

import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).parent / "autoperfect"
    if not program.is_file():
        sys.exit(f"autoperfect: {program} is missing: build the target autoperfect-cli")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
