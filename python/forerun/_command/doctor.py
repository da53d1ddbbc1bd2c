"""``forerun doctor``: what the package finds on this machine, and whether its results are right."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import platform
import sys
from collections.abc import Iterator
from typing import NamedTuple

import forerun
from forerun import _forerun, npx
from forerun._command.bench import processor
from forerun._command.selftest import SECONDS, Outcome, checks, run
from forerun._command.terminal import paint, progress

#: Packages that are used where they are installed, with their use.
OPTIONAL = {
    "ml_dtypes": "NumPy arrays of bfloat16",
    "tqdm": "progress bars",
    "IPython": "the magic %%forerun_profile and the names of cells",
}
#: What each library of NVIDIA is for, and how to install it.
LIBRARIES = {
    "libcuda": ("the driver", "install NVIDIA's driver; in a container, pass the GPU through"),
    "libnvrtc": ("compiles kernels", "pip install 'forerun[cuda{release}]'"),
    "libcublasLt": ("matrix products", "pip install 'forerun[cuda{release}]'"),
    "libcufft": ("Fourier transforms; without it the host computes them", "pip install nvidia-cufft{suffix}"),
    "libnvJitLink": ("assembles kernels where the driver cannot", "pip install nvidia-nvjitlink{suffix}"),
    "libnvidia-ptxjitcompiler": ("the driver's assembler", "it is part of the driver; nvJitLink replaces it"),
}
#: How the states look, and in which colour.
MARKS = {"ok": ("ok", "green"), "note": ("--", "dim"), "warning": ("!!", "yellow"), "broken": ("XX", "red")}


class Finding(NamedTuple):
    """One line of the report."""

    section: str
    name: str
    value: str
    state: str
    """``ok``, ``note``, ``warning`` or ``broken``."""
    advice: str = ""


def main(options: argparse.Namespace) -> int:
    """Print the report; return 1 if something is broken."""
    findings: list[Finding] = []
    section = ""
    for finding in report(bar=options.json):
        findings.append(finding)
        if options.json:
            continue
        if finding.section != section:
            section = finding.section
            print(("\n" if len(findings) > 1 else "") + paint(section, "bold"))
        mark, style = MARKS[finding.state]
        print(f"  {paint(mark, style)}  {finding.name:<24}  {finding.value}", flush=True)
        if finding.advice:
            print(f"      {'':<24}  -> {finding.advice}")
    broken = [finding for finding in findings if finding.state == "broken"]
    if options.json:
        print(json.dumps({"ok": not broken, "findings": [finding._asdict() for finding in findings]}, indent=1))
        return 1 if broken else 0
    warnings = sum(finding.state == "warning" for finding in findings)
    noun = "warning" if warnings == 1 else "warnings"
    verdict = f"{len(broken)} broken: {', '.join(f.name for f in broken)}" if broken else "nothing is broken"
    print(f"\n{paint(verdict, 'red' if broken else 'green')}; {warnings} {noun}")
    return 1 if broken else 0


def report(bar: bool) -> Iterator[Finding]:
    """Yield everything that is looked at. Where nothing else is printed meanwhile, a bar shows the progress."""
    machine = _forerun.machine()
    yield from _versions()
    yield from _processor(machine["isa"], machine["available"])
    yield from _limits()
    yield from _devices(machine["driver"], machine["libraries"])
    yield from _settings()
    yield from _self_test(bar)


def _versions() -> Iterator[Finding]:
    section = "versions"
    yield Finding(section, "forerun", f"{forerun.__version__}, {os.path.dirname(forerun.__file__)}", "ok")
    yield Finding(section, "python", f"{platform.python_version()}, {sys.executable}", "ok")
    if getattr(sys, "_is_gil_enabled", lambda: True)() is False:
        advice = "start Python with PYTHON_GIL=1: the package relies on the lock"
        yield Finding(section, "interpreter lock", "off", "broken", advice)
    try:
        import numpy
    except ImportError as error:
        yield Finding(section, "numpy", str(error), "broken", "pip install 'numpy>=2'")
    else:
        old = int(numpy.__version__.split(".")[0]) < 2
        advice = "pip install 'numpy>=2'" if old else ""
        yield Finding(section, "numpy", numpy.__version__, "broken" if old else "ok", advice)
    yield Finding(section, "system", platform.platform(), "ok")
    yield Finding(section, "C library", " ".join(platform.libc_ver()).strip() or "unknown", "ok")
    for name, use in OPTIONAL.items():
        try:
            yield Finding(section, name, importlib.metadata.version(name), "ok")
        except importlib.metadata.PackageNotFoundError:
            yield Finding(section, name, f"not installed: {use}", "note", f"pip install {name}")


def _processor(used: str, available: list[str]) -> Iterator[Finding]:
    section = "processor"
    yield Finding(section, "model", processor(), "ok")
    best = available[-1]
    if used == best:
        yield Finding(section, "instruction set", f"{used} (it has {', '.join(available)})", "ok")
    else:
        advice = f"unset FORERUN_ISA to use {best}"
        yield Finding(section, "instruction set", f"{used}, though it has {best}", "warning", advice)
    compiled = platform.machine() in ("x86_64", "AMD64") and sys.platform == "linux"
    state = "ok" if compiled else "note"
    yield Finding(
        section, "fused chains", "machine code" if compiled else "interpreted: x86-64 Linux has machine code", state
    )


def _limits() -> Iterator[Finding]:
    section = "limits"
    threads, cores = forerun.num_threads(), os.cpu_count() or 1
    source = next((name for name in ("FORERUN_NUM_THREADS", "OMP_NUM_THREADS") if os.environ.get(name)), "")
    if hasattr(os, "sched_getaffinity"):
        affinity = len(os.sched_getaffinity(0))
        source = source or ("affinity" if affinity < cores and threads == affinity else "")
    source = source or ("control group" if threads < cores else "all cores")
    many = threads > cores
    advice = f"more threads than cores: unset {source}" if many else ""
    state = "warning" if many else "ok"
    yield Finding(section, "threads", f"{threads} of {cores} cores ({source})", state, advice)
    budget = forerun.memory_stats()["budget"]
    yield Finding(section, "memory for arrays", f"{_size(budget)} (of {_size(_physical())})", "ok")
    try:
        import resource
    except ImportError:
        return
    for name, limit in (("address space", resource.RLIMIT_AS), ("stack", resource.RLIMIT_STACK)):
        soft, _ = resource.getrlimit(limit)
        if soft == resource.RLIM_INFINITY:
            yield Finding(section, name, "unlimited", "ok")
        elif limit == resource.RLIMIT_AS and soft < 4 << 30:
            yield Finding(section, name, _size(soft), "warning", "arrays may not fit: raise `ulimit -v`")
        else:
            yield Finding(section, name, _size(soft), "ok")


def _physical() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def _size(size: float) -> str:
    if size <= 0 or not math.isfinite(size):
        return "unknown"
    power = min(int(math.log2(size) // 10), 4)
    return f"{size / 1024**power:.{0 if power == 0 else 1}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _devices(
    driver: tuple[int | None, str | None], libraries: list[tuple[str, str | None, str | None]]
) -> Iterator[Finding]:
    section = "devices"
    count = npx.num_gpus()
    usable = 0
    for number in range(count):
        try:
            stats = _forerun.gpu_stats(npx.gpu(number))
            free, total = npx.gpu_memory_info(number)
        except RuntimeError as error:
            yield Finding(section, f"gpu({number})", str(error).splitlines()[0], "broken")
            continue
        usable += 1
        text = f"{stats['description']}; {_size(free)} of {_size(total)} free"
        yield Finding(section, f"gpu({number})", text, "ok")
    if count == 0:
        yield Finding(section, "GPUs", "none; the host computes", "note")
    version, reason = driver
    found = {name: path for name, path, _ in libraries if path is not None}
    real = version is not None and not os.environ.get("FORERUN_SIM_GPUS")
    if version is not None:
        yield Finding(section, "CUDA driver", f"{version // 1000}.{version % 1000 // 10}", "ok")
    else:
        # A machine with the driver's device files has a GPU that cannot be used.
        present = os.path.exists("/dev/nvidiactl")
        advice = LIBRARIES["libcuda"][1] if present else ""
        yield Finding(
            section,
            "CUDA driver",
            (reason or "none").removeprefix("no CUDA driver: "),
            "broken" if present else "note",
            advice,
        )
    release = 13 if version is None or version >= 13000 else 12
    for name, path, missing in libraries:
        use, install = LIBRARIES[name]
        if name == "libcuda":
            continue
        if path is not None:
            yield Finding(section, name, path, "ok")
            continue
        assembler = {"libnvJitLink", "libnvidia-ptxjitcompiler"}
        replaced = name in assembler and assembler & found.keys()
        needed = real and name != "libcufft" and not replaced
        advice = install.format(release=release, suffix="" if release == 13 else "-cu12") if real else ""
        state = "broken" if needed else "note"
        yield Finding(section, name, f"{missing or 'not found'} ({use})", state, advice)
    if real and usable:
        yield _cache(section)


def _cache(section: str) -> Finding:
    """Return whether compiled kernels can be kept."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.environ.get("FORERUN_CACHE_DIR") or os.path.join(home, "forerun")
    existing = folder
    while not os.path.isdir(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    if os.access(existing, os.W_OK):
        return Finding(section, "kernel cache", folder, "ok")
    advice = "set FORERUN_CACHE_DIR to a folder that can be written; else every process compiles its kernels"
    return Finding(section, "kernel cache", f"{folder} cannot be written", "warning", advice)


def _settings() -> Iterator[Finding]:
    section = "settings"
    names = sorted(name for name in os.environ if name.startswith("FORERUN_"))
    for name in names:
        yield Finding(section, name, os.environ[name], "note")
    if not names:
        yield Finding(section, "environment", "no variable FORERUN_... is set", "ok")


def _self_test(bar: bool) -> Iterator[Finding]:
    device = npx.gpu(0) if npx.num_gpus() else None
    section = f"self-test: {device or 'host'} against {'the host' if device else 'NumPy'}"
    every = checks()
    skipped = 0
    outcomes = run(every, device)
    for outcome in progress(outcomes, len(every), "self-test") if bar else outcomes:
        if outcome.error is None and outcome.off is None:
            skipped += 1
            continue
        yield _judged(section, outcome)
    if skipped:
        yield Finding(section, "not run", f"{skipped} checks, after {SECONDS:.0f} s", "warning")


def _judged(section: str, outcome: Outcome) -> Finding:
    if outcome.error is not None:
        return Finding(section, outcome.name, outcome.error, "broken")
    assert outcome.off is not None
    text = "equal bit for bit" if outcome.off == 0 else f"relative error {outcome.off:.1e}"
    if outcome.off <= outcome.allowed:
        return Finding(section, outcome.name, text, "ok")
    return Finding(section, outcome.name, f"{text}, more than {outcome.allowed:.0e}", "broken")
