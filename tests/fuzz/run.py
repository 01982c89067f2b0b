#!/usr/bin/env python3
"""Runs the libFuzzer targets on seeds from the golden tests and of answers, with a dictionary of the ops.

    run.py --build build/fuzz --seconds 60

New inputs are kept in BUILD/corpus/<target>, so that the next run goes on from there; an input that crashes, hangs or
breaks what a target expects is left as BUILD/<target>-crash-*, and the run fails.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.python import model_server  # noqa: E402

WORDS = """
    autoperfect.graph autoperfect.kernel graph kernel abi math numerics axes in out row iota else inf nan true false
    return accumulate reassociate yes no budget ulp= abs= rel= const captured= inclusive= reverse= axes=[ axis=
    keepdims=true temp strides=[ strides=[?,1] offset= align=64 alias=%x
    f16 bf16 f32 f64 c64 bool u8 u16 u32 u64 i8 i16 i32 i64 -0.0 9223372036854775807
    -9223372036854775808 144115188075855872 => ?i (j) %x[i,j] "choices" "message" "delta" "content" "finish_reason" "text_delta" "error" data: [DONE] ``` ~~~ <think> </think>
""".split()


def op_names():
    definitions = (ROOT / "src/ir/ops.def").read_text()
    return re.findall(r'^(?:OP|BARRIER)\(\w+, "(\w+)"', definitions, re.MULTILINE)


def write_dictionary(path):
    path.write_text("".join(json.dumps(word) + "\n" for word in [*WORDS, *op_names()]))


def golden_texts(kind):
    """Every program in the golden tests, what goes in and what comes out."""
    for test in sorted((ROOT / "tests/golden").rglob("*.ap")):
        for text in re.split(r"^(?=autoperfect\.)", test.read_text(), flags=re.MULTILINE)[1:]:
            if text.startswith(f"autoperfect.{kind} "):
                yield re.split(r"^; (?:EXPECT|region)", text, maxsplit=1, flags=re.MULTILINE)[0]


def answers():
    """Answers of each form, whole and streamed, behind two bytes that say how they are read."""
    text = model_server.ANSWER
    for form, whole, events in [
            (0, model_server.chat(text), model_server.chat_events(text)),
            (1, model_server.message(text), model_server.message_events(text))]:
        yield chr(form) + "\5" + json.dumps(whole)
        yield chr(form + 2) + "\5" + "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    yield "\0\0" + text


TARGETS = {
    "graph_text": lambda: golden_texts("graph"), "kernel_text": lambda: golden_texts("kernel"), "model_answer": answers}


def fuzz(target, build, seconds):
    corpus, seeds = build / "corpus" / target, build / "seeds" / target
    for folder in (corpus, seeds):
        folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(TARGETS[target]()):
        (seeds / f"seed-{number}").write_text(text)
    dictionary = build / "words.dict"
    write_dictionary(dictionary)
    program = next(build.rglob(f"fuzz_{target}"))
    return subprocess.run([
        program, corpus, seeds, f"-dict={dictionary}", f"-max_total_time={seconds}", "-timeout=10", "-max_len=4096",
        "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={build}/{target}-",
    ], capture_output=True, text=True, errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=Path, help="the build folder of the preset `fuzz`")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="default: all")
    arguments = parser.parse_args()
    failed = 0
    for target in arguments.targets or TARGETS:
        done = fuzz(target, arguments.build.resolve(), arguments.seconds)
        runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
        covered = re.findall(r"cov: (\d+)", done.stderr)
        verdict = "ok" if done.returncode == 0 else "FAILED"
        print(f"{target}: {verdict}, {runs.group(1) if runs else 0} inputs, {covered[-1] if covered else 0} edges")
        if done.returncode != 0:
            failed += 1
            print(done.stderr[-4000:])
    print(f"{len(arguments.targets or TARGETS) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
