"""``forerun completions``: scripts that complete the command's words, made from its parser."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from forerun._command.parser import FILE, parser


class Option(NamedTuple):
    """An option of a command."""

    names: tuple[str, ...]
    help: str
    value: bool
    """Whether a value follows."""
    choices: tuple[str, ...]
    file: bool
    """Whether the value is a file."""


class Command(NamedTuple):
    """A command, its options, and what its other arguments may be."""

    name: str
    help: str
    options: list[Option]
    words: tuple[str, ...]
    files: bool


def main(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    print({"bash": bash, "zsh": zsh, "fish": fish}[options.shell](), end="")
    return 0


def commands() -> list[Command]:
    """Return all commands, from the parser."""
    (subparsers,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in subparsers._choices_actions}
    return [_command(name, helps[name], each) for name, each in subparsers.choices.items()]


def _command(name: str, help: str, parser: argparse.ArgumentParser) -> Command:
    options: list[Option] = []
    words: list[str] = []
    files = False
    for action in parser._actions:
        choices = tuple(str(choice) for choice in action.choices or ())
        if action.option_strings:
            text = "show this help" if action.dest == "help" else action.help or ""
            value = action.nargs != 0
            options.append(Option(tuple(action.option_strings), text, value, choices, action.metavar == FILE))
        else:
            words += choices
            files = files or action.metavar == FILE
    if name == "bench":
        from forerun._command.workloads import BENCH

        words += list(BENCH)
    return Command(name, help, options, tuple(words), files)


def bash() -> str:
    """Return the script for bash."""
    every = commands()
    names = " ".join(command.name for command in every)
    cases = []
    for command in every:
        values = []
        for option in command.options:
            reply = f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$word"))'
            if option.file:
                reply = 'COMPREPLY=($(compgen -f -- "$word"))'
            if option.choices or option.file:
                values.append(f"                {'|'.join(option.names)}) {reply}; return ;;")
        words = " ".join([*(name for option in command.options for name in option.names), *command.words])
        files = ' $(compgen -f -- "$word")' if command.files else ""
        cases.append(
            f"        {command.name})\n"
            '            case "$previous" in\n'
            + "".join(f"{value}\n" for value in values)
            + "            esac\n"
            + f'            COMPREPLY=($(compgen -W "{words}" -- "$word"){files})\n'
            "            ;;\n"
        )
    return (
        "# Completions of the command forerun for bash.\n"
        "_forerun() {\n"
        '    local word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"\n'
        '    if [ "$COMP_CWORD" -eq 1 ]; then\n'
        f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$word"))\n'
        "        return\n"
        "    fi\n"
        '    case "${COMP_WORDS[1]}" in\n' + "".join(cases) + "    esac\n"
        "}\n"
        "complete -o filenames -F _forerun forerun\n"
    )


def zsh() -> str:
    """Return the script for zsh."""

    def quoted(text: str) -> str:
        return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")

    every = commands()
    lines = [
        "#compdef forerun",
        "# Completions of the command forerun for zsh.",
        "_forerun() {",
        "    local -a commands",
    ]
    lines += ["    commands=("]
    lines += [f"        '{command.name}:{quoted(command.help)}'" for command in every]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
    ]
    lines += ['    local name="$words[2]"', "    shift words", "    (( CURRENT-- ))", '    case "$name" in']
    for command in every:
        lines += [f"        {command.name})", "            _arguments \\"]
        for option in command.options:
            values = f"({' '.join(option.choices)})" if option.choices else "_files" if option.file else ""
            value = f":value:{values}" if option.value else ""
            lines += [f"                '{name}[{quoted(option.help)}]{value}' \\" for name in option.names]
        rest = "_files" if command.files else f"({' '.join(command.words)})"
        lines += [f"                '*:argument:{rest}'", "            ;;"]
    lines += ["    esac", "}", '_forerun "$@"']
    return "\n".join(lines) + "\n"


def fish() -> str:
    """Return the script for fish."""

    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = ["# Completions of the command forerun for fish.", "complete -c forerun -f"]
    for command in commands():
        lines.append(f"complete -c forerun -n __fish_use_subcommand -a {command.name} -d {quoted(command.help)}")
        here = f"complete -c forerun -n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            flags = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            values = f" -xa '{' '.join(option.choices)}'" if option.choices else " -rF" if option.file else " -x"
            lines.append(f"{here} {flags} -d {quoted(option.help)}{values if option.value else ''}")
        if command.words:
            lines.append(f"{here} -a '{' '.join(command.words)}'")
        if command.files:
            lines.append(f"{here} -F")
    return "\n".join(lines) + "\n"
