"""The reference executor by way of the command line, on arrays of NumPy (bf16 as the uint16 of its bits)."""

import importlib.util
import pathlib
import subprocess

import numpy as np

CLI = pathlib.Path(importlib.util.find_spec("autoperfect").origin).parent / "autoperfect"


def run_reference(text, inputs, outputs, folder, exact=True):
    """The arrays of so many outputs."""
    (folder / "kernel.ap").write_text(text)
    names = []
    for number, array in enumerate(inputs):
        names.append(str(folder / f"input{number}.npy"))
        np.save(names[-1], array)
    results = [folder / f"output{number}.npy" for number in range(outputs)]
    command = [CLI, "run", folder / "kernel.ap", *(["--inputs", *names] if names else []), "--outputs", *results]
    done = subprocess.run(command + ([] if exact else ["--oracle"]), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + text
    arrays = [np.load(result) for result in results]
    return [array.view(np.uint16) if array.dtype.kind == "V" else array for array in arrays]
