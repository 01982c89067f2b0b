#!/usr/bin/env python3
"""Golden tests: one file a test, its command, its input and what must come out.

    ; RUN: autoperfect canonicalize | autoperfect fuse
    autoperfect.graph 1
    ...
    ; EXPECT
    ...

The text between the two comments is standard input; what follows EXPECT is standard output, of `bad_*.ap` files standard
error, and those must exit with status 1. `--bless` rewrites what is expected.
"""

import argparse
import difflib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

RUN = "; RUN:"
EXPECT = "; EXPECT"
SECONDS = 60


class MalformedTest(Exception):
    """A test file without its RUN or EXPECT line."""


def split(text):
    """Returns (command line, input, expected output)."""
    first, _, rest = text.partition("\n")
    if not first.startswith(RUN):
        raise MalformedTest(f"the first line does not begin with '{RUN}'")
    lines = rest.split("\n")
    if EXPECT not in lines:
        raise MalformedTest(f"no line is '{EXPECT}'")
    at = lines.index(EXPECT)
    # Diagnostics count lines of the file: the RUN line is a comment, so it is part of the input.
    return first[len(RUN) :].strip(), "\n".join([first, *lines[:at]]) + "\n", "\n".join(lines[at + 1 :])


def stages(command):
    """The pipeline as argument lists; quotes protect a '|'."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    found = [[]]
    for word in lexer:
        if word == "|":
            found.append([])
        else:
            found[-1].append(word)
    for stage in found:
        if not stage or stage[0] != "autoperfect":
            raise MalformedTest("every stage of RUN begins with 'autoperfect'")
    return found


def run(cli, command, text):
    """Runs the pipeline; returns (status of the first stage that failed or 0, stdout, stderr)."""
    data, errors = text.encode(), b""
    for stage in stages(command):
        done = subprocess.run([cli, *stage[1:]], input=data, capture_output=True, timeout=SECONDS)
        data, errors = done.stdout, errors + done.stderr
        if done.returncode != 0:
            return done.returncode, data.decode(errors="replace"), errors.decode(errors="replace")
    return 0, data.decode(errors="replace"), errors.decode(errors="replace")


def check(path, cli, bless):
    """Returns a report of what is wrong with one test, empty when nothing is."""
    try:
        text = path.read_text(encoding="utf-8")
        command, source, expected = split(text)
        status, output, errors = run(cli, command, source)
    except (MalformedTest, OSError, UnicodeDecodeError, subprocess.TimeoutExpired) as error:
        return f"{path}: {error}\n"
    is_bad = path.name.startswith("bad_")
    wanted_status = 1 if is_bad else 0
    if status != wanted_status:
        return f"{path}: exit status {status}, not {wanted_status}\n{errors}"
    actual = errors if is_bad else output
    if actual == expected:
        return ""
    if bless:
        path.write_text(source + EXPECT + "\n" + actual, encoding="utf-8")
        print(f"blessed {path}")
        return ""
    difference = difflib.unified_diff(
        expected.splitlines(keepends=True), actual.splitlines(keepends=True), f"{path} (expected)", f"{path} (actual)"
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in difference)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cli", required=True, help="path of the autoperfect program")
    parser.add_argument("--bless", action="store_true", help="rewrite what the tests expect")
    parser.add_argument("tests", nargs="*", type=Path, help="files or folders; default: all beside this script")
    arguments = parser.parse_args()
    folders = arguments.tests or [Path(__file__).parent]
    tests = sorted(test for folder in folders for test in (folder.rglob("*.ap") if folder.is_dir() else [folder]))
    if not tests:
        sys.exit("no tests found")
    with ThreadPoolExecutor() as pool:
        reports = list(pool.map(lambda test: check(test, arguments.cli, arguments.bless), tests))
    failed = [report for report in reports if report]
    for report in failed:
        print(report)
    print(f"{len(tests) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
