"""The words that the command understands. Help and completions come from this parser."""

from __future__ import annotations

import argparse

from forerun._forerun import __version__

DIALECTS = ("mxnet", "torch", "paddle")
SHELLS = ("bash", "zsh", "fish")
#: The name that help gives to an argument that is a file; completions offer files for it.
FILE = "FILE"

CODES = """\
exit codes:
  0    the command did what it was asked to do
  1    it found something broken, or failed
  2    the arguments are wrong
  130  it was interrupted by Ctrl-C
`forerun run` exits as Python would with the same program."""


def _examples(*lines: str) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    top = argparse.ArgumentParser(
        prog="forerun",
        description="Asynchronous arrays that run ahead: run programs, and see what happens on this machine.",
        epilog=f"{CODES}\n\n"
        + _examples("forerun tour", "forerun run --blockers train.py --epochs 3", "forerun run --help"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"forerun {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _run(commands)
    _tour(commands)
    _doctor(commands)
    _bench(commands)
    _completions(commands)
    return top


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str, about: str, *examples: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=about,
        epilog=_examples(*examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = _command(
        commands,
        "run",
        "run a Python program, unchanged",
        "Run a Python program as `python` would: its arguments, its module __main__, its exit code and its\n"
        "tracebacks are the same. Options of forerun stand before the program.",
        "forerun run train.py --epochs 3",
        "forerun run --as mxnet book_example.py",
        "forerun run --profile step.html --blockers train.py",
        "forerun run --no-sync warn -m package.train",
    )
    run.add_argument(
        "--as",
        dest="dialect",
        choices=DIALECTS,
        help="let the program's imports of this package find Forerun's modules of the same names",
    )
    run.add_argument("--profile", metavar=FILE, help="write a profile of the run to this HTML file")
    run.add_argument("--blockers", action="store_true", help="print at the end which lines waited (to stderr)")
    run.add_argument(
        "--no-sync", choices=("warn", "error"), help="warn or raise where the main thread reads a value of an array"
    )
    run.add_argument(
        "--detect-nonfinite",
        action="store_true",
        help="raise for the first op that makes a NaN or an infinity out of finite numbers",
    )
    run.usage = "forerun run [options] (FILE | -m MODULE | -c CODE) [arguments of the program]"
    run.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run the module of the next word as a program")
    run.add_argument("-c", dest="code", nargs=argparse.REMAINDER, help="run the text of the next word as a program")
    run.add_argument(
        "program", nargs=argparse.REMAINDER, metavar=FILE, help="the program's file or folder, and its arguments"
    )


def _tour(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    tour = _command(
        commands,
        "tour",
        "ten short examples that run",
        "Show in ten short examples what running ahead means. Each is run on this machine and prints its output.",
        "forerun tour",
        "forerun tour 4 --no-pause",
    )
    tour.add_argument("step", nargs="?", type=int, choices=range(1, 11), metavar="STEP", help="show this step alone")
    tour.add_argument("--no-pause", action="store_true", help="do not wait for Enter between steps")


def _doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = _command(
        commands,
        "doctor",
        "check this installation and machine",
        "Report versions, processor, limits, devices, libraries and settings, and compare results of the device with\n"
        "the host's, or of the host with NumPy's. Exits with 1 if something is broken.",
        "forerun doctor",
        "forerun doctor --json > report.json",
        "FORERUN_SIM_GPUS=1 forerun doctor",
    )
    doctor.add_argument("--json", action="store_true", help="print the report as JSON")


def _bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bench = _command(
        commands,
        "bench",
        "measure some workloads, against installed peers",
        "Measure small workloads with Forerun and with each of NumPy, PyTorch, JAX and TensorFlow that is installed.\n"
        "The peers take turns, each in a process of its own. Elimination of dead results is off. Times depend on what\n"
        "else the machine does; compare the ratios.",
        "forerun bench",
        "forerun bench chain sums --rounds 15 --html bench.html",
    )
    bench.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="the workloads to measure (default: all)")
    bench.add_argument("--list", action="store_true", help="list the workloads and the installed peers")
    bench.add_argument(
        "--rounds", type=_positive, metavar="N", help="the number of rounds (default: what fits in 20 s)"
    )
    bench.add_argument("--html", metavar=FILE, help="also write the tables to this HTML file")


def _completions(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    completions = _command(
        commands,
        "completions",
        "print the completions of a shell",
        "Print a script that completes the words of this command in a shell.",
        "forerun completions bash > ~/.local/share/bash-completion/completions/forerun",
        "forerun completions zsh > ~/.zfunc/_forerun",
        "forerun completions fish > ~/.config/fish/completions/forerun.fish",
    )
    completions.add_argument("shell", choices=SHELLS, help="the shell")


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, not {text!r}")
    return number
