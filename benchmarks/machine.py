"""What a run was measured on: stated with every result."""

import os
import pathlib
import platform

import mlx.core as mx
import product


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if pathlib.Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def describe():
    return {
        "processor": processor(),
        "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "mlx": mx.__version__,
        "autoperfect": product.version(),
        "device": str(mx.default_device()),
        "copy_limit": product.copy_limit(),
    }


def line(machine):
    return (
        f"{machine['processor']}, {machine['threads']} threads, {machine['device']}, {machine['system']}, "
        f"MLX {machine['mlx']}, Auto-Perfect {machine['autoperfect']}, copy limit {machine['copy_limit'] / 1e9:.1f} GB/s"
    )
