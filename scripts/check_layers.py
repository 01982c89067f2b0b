#!/usr/bin/env python3
"""The include direction between the folders of src/, as the table in src/README.md states it."""

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
ROW = re.compile(r"^\| `(\w+)/` \| .+ \| (.+) \|$")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<](\w+)/')
EVERYWHERE = "support"


def read_table(text):
    """Returns {folder: set of folders it may include}, and what is wrong with the table."""
    allowed, problems = {}, []
    for line in text.splitlines():
        row = ROW.match(line)
        if not row:
            continue
        folder, cell = row.groups()
        names = set() if cell == "-" else {name.strip() for name in cell.split(",")}
        if "all" in names:
            names = names - {"all"} | set(allowed)
        for name in sorted(names - set(allowed) - {"mlx"}):
            problems.append(f"src/README.md: {folder} may include {name}, which is not above it")
        allowed[folder] = names | {folder, EVERYWHERE}
    return allowed, problems


def check_file(path, allowed, folders):
    """Yields a line for each include that the table does not allow."""
    folder = path.relative_to(SOURCE).parts[0]
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        include = INCLUDE.match(line)
        if include and include[1] in folders and include[1] not in allowed[folder]:
            yield f"src/{path.relative_to(SOURCE)}:{number}: {folder} may not include {include[1]}"


def main():
    allowed, problems = read_table((SOURCE / "README.md").read_text(encoding="utf-8"))
    on_disk = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    problems += [f"src/README.md: no row for {name}/" for name in sorted(on_disk - set(allowed))]
    problems += [f"src/README.md: {name}/ does not exist" for name in sorted(set(allowed) - on_disk)]
    folders = set(allowed) | {"mlx"}
    for path in sorted(SOURCE.rglob("*")):
        parts = path.relative_to(SOURCE).parts
        # Parts of the kernel prelude become text of kernels; they are not included by the library.
        if path.suffix in (".h", ".cpp") and parts[0] in allowed and "prelude" not in parts:
            problems += check_file(path, allowed, folders)
    print("\n".join(problems) if problems else f"{len(allowed)} folders, includes go one way")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
