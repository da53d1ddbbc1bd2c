"""Statistics of a profile: counts, times and sizes by category and name."""

from __future__ import annotations

from typing import Any

from forerun._trace import Trace

_Stats = dict[str, float]


def _noted(stats: dict[str, dict[str, list[float]]], category: str, name: str, value: float) -> None:
    stats.setdefault(category, {}).setdefault(name, []).append(value)


class Aggregates:
    """Times in milliseconds, and sizes in kilobytes, by category and name."""

    def __init__(self) -> None:
        self._times: dict[str, dict[str, list[float]]] = {}
        self._sizes: dict[str, dict[str, list[float]]] = {}

    def add_time(self, category: str, name: str, milliseconds: float) -> None:
        """Note that something took a time."""
        _noted(self._times, category, name, milliseconds)

    def add_trace(self, trace: Trace) -> None:
        """Note what ran and what was waited for, and the sizes of the results."""
        for event in trace.events:
            if event.kind == "ran":
                self.add_time("operator", event.op, (event.end - event.start) * 1e3)
            elif event.kind == "waited":
                self.add_time("wait", event.call, (event.end - event.start) * 1e3)
            elif event.kind == "submitted":
                _noted(self._sizes, "results", event.op, event.bytes / 1e3)

    def sections(self, sort_by: str, ascending: bool) -> dict[str, Any]:
        """Return the statistics, sorted within each category."""
        times = {key: _summary(rows, sort_by, ascending, True) for key, rows in self._times.items()}
        sizes = {key: _summary(rows, sort_by, ascending, False) for key, rows in self._sizes.items()}
        return {"Time": times, "Memory": sizes, "Unit": {"Time": "ms", "Memory": "kB"}}

    @staticmethod
    def table(sections: dict[str, Any]) -> str:
        """Write the statistics as a table."""
        lines = ["Profile statistics"]
        for section in ("Time", "Memory"):
            unit = sections["Unit"][section]
            for category, rows in sections[section].items():
                columns = list(next(iter(rows.values()), {}))
                head = "".join(f"{f'{name} ({unit})' if name != 'Count' else name:>16}" for name in columns)
                lines += ["", f"{category} ({section.lower()})", f"{'Name':<32}{head}"]
                for name, row in rows.items():
                    values = "".join(
                        f"{row[column]:>16d}" if column == "Count" else f"{row[column]:>16.4f}" for column in columns
                    )
                    lines.append(f"{name:<32}{values}")
        return "\n".join(lines) + "\n"


def _summary(rows: dict[str, list[float]], sort_by: str, ascending: bool, total: bool) -> dict[str, _Stats]:
    made: dict[str, _Stats] = {}
    for name, values in rows.items():
        stats: _Stats = {"Count": len(values)}
        if total:
            stats["Total"] = sum(values)
        made[name] = stats | {"Min": min(values), "Max": max(values), "Avg": sum(values) / len(values)}
    key = sort_by if total or sort_by != "Total" else "Count"
    return dict(sorted(made.items(), key=lambda item: item[1][key], reverse=not ascending))
