"""Recordings of a model's answers for tests and benchmarks, see tests/recordings/README.md.

Writes the prompts of all regions to a folder, takes the answers that are there, runs the loop with them, and writes the
prompts of the repairs it asks for. Run it again until it says that nothing is waited for. With --name the answers are
kept as recordings.
"""

import argparse
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
os.environ.setdefault("AUTOPERFECT_CACHE", "off")

import mlx.core as mx  # noqa: E402
import recorded  # noqa: E402
from autoperfect import _core  # noqa: E402


def run(folder, language, settings):
    names = recorded.LANGUAGES[language]
    request = recorded.request(
        language, model=f"folder:{folder}", settings=settings, timed=False, schedules=False, progress=False)
    rows = _core.tune_kernels([recorded.kernel(name) for name in names], request)
    for name, row in zip(names, rows, strict=True):
        for attempt in row["attempts"]:
            end = "admitted" if attempt["admitted"] else f"{attempt['stage']}: {attempt['reason'].splitlines()[0]}"
            print(f"{name:16} {language:4} variant {attempt['variant']} repair {attempt['repair']}  {end}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="of prompts and answers")
    parser.add_argument("--name", help="of the model that answers; keeps the recordings")
    parser.add_argument("--date", default="", help="of the answers")
    chosen = parser.parse_args()
    mx.set_default_device(mx.cpu)
    settings = {"concurrency": "1"}
    if chosen.name:
        settings |= {"name": chosen.name, "record": str(recorded.ANSWERS), "date": chosen.date}
    for language in recorded.LANGUAGES:
        run(chosen.folder.resolve(), language, settings)
    waiting = [p for p in sorted(chosen.folder.glob("*.prompt.md")) if not p.with_name(p.name.replace(".prompt.", ".answer.")).exists()]
    for path in waiting:
        print(f"waits for its answer: {path}")
    print(f"{len(waiting)} answers are waited for")


if __name__ == "__main__":
    main()
