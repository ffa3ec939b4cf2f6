#!/usr/bin/env python3
"""Runs the programs of examples/ on real data with the coconet tool and checks what comes out.

usage: demo.py [--commands] TOOL

Each row of the table is one `coconet run` by TOOL; --commands prints these instead of running them.
A row is good if

- every result is within its bound of the values given in examples/data (README.md there),
- every result has the bits of the unscheduled program's,
- every operation gave what the interpreter says (coconet run --verify),
- and, with dropout, the same elements were dropped as in every other run of the program.

Exit status: 0 if all rows are good, else 1.
"""
import argparse
import concurrent.futures
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = "examples/data"
CALLS = "20"  # timed calls of a run; the table shows their median
TIMEOUT_S = 300

UNSCHEDULED = ""
TAIL_SCHEDULES = [UNSCHEDULED, "reordered", "fused", "overlapped"]
SCHEDULES = {
    "attention": TAIL_SCHEDULES,
    "attention_norm": TAIL_SCHEDULES,
    "mlp": TAIL_SCHEDULES,
    "mlp_norm": TAIL_SCHEDULES,
    "adam": [UNSCHEDULED, "reordered", "sharded"],
    "lamb": [UNSCHEDULED, "reordered", "sharded", "fused"],
}
TAILS = [program for program in SCHEDULES if SCHEDULES[program] is TAIL_SCHEDULES]
OPTIMIZERS = ["adam", "lamb"]
TAIL_BOUND = "5e-6,5e-6"  # |got - want| <= 5e-6 + 5e-6 |want|
OPTIMIZER_BOUNDS = {"p": "1e-7", "m": "1e-8", "v": "1e-10"}


@dataclass
class Row:
    """One run and what came of it."""
    program: str
    on: str  # the data's part, for the table
    schedule: str
    ranks: int
    arguments: list[str]  # after file, ranks and schedule
    report: dict = field(default_factory=dict)  # the tool's --json
    failure: str = ""
    same_mask: bool | None = None  # None: the output does not show what was dropped

    def command(self, tool: str) -> list[str]:
        schedule = ["--schedule", self.schedule] if self.schedule else []
        return [tool, "run", f"examples/{self.program}.coco", "--ranks", str(self.ranks),
                *schedule, *self.arguments, "--repeat", CALLS, "--verify"]

    def outputs(self) -> list[dict]:
        return self.report.get("outputs", [])

    def wants(self) -> list[dict]:
        return [output["want"] for output in self.outputs() if output["want"]]

    def within_bound(self) -> bool:
        return all(want["within_bound"] for want in self.wants())

    def bit_equal(self) -> bool:
        return all(output["bit_equal_to_unscheduled"] for output in self.outputs())

    def good(self) -> bool:
        return (not self.failure and self.within_bound() and self.bit_equal()
                and all(output["within_bound"] for output in self.outputs())
                and self.same_mask is not False)


def tail_data(program: str) -> str:
    return f"{DATA}/{program.removesuffix('_norm')}.safetensors"


def tail_arguments(program: str, rate: str) -> list[str]:
    return ["--dtype", "T=f32", "--in", tail_data(program), "--scalar", f"rate={rate}"]


def tail_rows(program: str) -> list[Row]:
    value = "want_norm" if program.endswith("_norm") else "want_out"
    arguments = [*tail_arguments(program, "0"), "--want", f"out={tail_data(program)}:{value}",
                 "--bound", TAIL_BOUND]
    return [Row(program, "no dropout", schedule, ranks, arguments)
            for ranks in (2, 4) for schedule in SCHEDULES[program]]


def dropout_rows(program: str) -> list[Row]:
    ranks_of = (2, 3) if program.endswith("_norm") else (1, 2, 3, 4)
    return [Row(program, "dropout 0.1", schedule, ranks, tail_arguments(program, "0.1"))
            for ranks in ranks_of for schedule in SCHEDULES[program]]


def optimizer_rows(program: str) -> list[Row]:
    data = f"{DATA}/optimizer.safetensors"
    rows = []
    for ranks in (2, 4):
        for name in ("w", "b", "gamma", "beta"):
            arguments = ["--scalar", "t=11", "--in", f"g={data}:{name}.g[0:{ranks}]"]
            for tensor in ("p", "m", "v"):
                arguments += ["--in", f"{tensor}={data}:{name}.{tensor}"]
            for tensor, value in (("p", f"{program}_p"), ("m", "m"), ("v", "v")):
                arguments += ["--want", f"{tensor}={data}:{name}.want_{value}.{ranks}",
                              "--bound", OPTIMIZER_BOUNDS[tensor]]
            rows += [Row(program, f"parameter {name}", schedule, ranks, arguments)
                     for schedule in SCHEDULES[program]]
    return rows


def perform(tool: str, row: Row, *more: str) -> None:
    """Fills in the row's report or failure."""
    try:
        done = subprocess.run([*row.command(tool), "--json", *more], cwd=ROOT, timeout=TIMEOUT_S,
                              capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        row.failure = f"no end after {TIMEOUT_S} s"
        return
    try:
        row.report = json.loads(done.stdout)
    except json.JSONDecodeError:
        pass
    if not row.outputs() or (done.returncode != 0 and row.good()):
        row.failure = done.stderr.strip() or f"exit status {done.returncode}"


class Masks:
    """Which elements the dropout of a tail dropped. Its output is dropout(...) + r, so a dropped
    element is r itself, which a rate of 1 gives for all of them."""

    def __init__(self, tool: str, folder: Path) -> None:
        self.tool, self.folder = tool, folder
        self.residual: dict[str, bytes] = {}
        self.first: dict[str, bytes] = {}

    def output(self, row: Row) -> bytes:
        perform(self.tool, row, "--out", str(self.folder))
        return b"" if row.failure else (self.folder / "out.npy").read_bytes()

    def perform(self, row: Row) -> None:
        program = row.program
        if program not in self.residual:
            all_dropped = Row(program, "", UNSCHEDULED, 1, tail_arguments(program, "1"))
            self.residual[program] = self.output(all_dropped)
        out, residual = self.output(row), self.residual[program]
        if row.failure or len(out) != len(residual):
            row.failure = row.failure or "no output of rate 1"
            return
        # Both files have the same header, of whole 4-byte words.
        mask = bytes(out[i:i + 4] == residual[i:i + 4] for i in range(0, len(out), 4))
        dropped = sum(mask) / len(mask)
        first = self.first.setdefault(program, mask)
        row.same_mask = mask == first and 0.09 < dropped < 0.11


class Progress:
    """One line on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()

    def show(self, text: str) -> None:
        if self.shown:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            print(f"\r\033[K{text[:max(1, width - 1)]}", end="", file=sys.stderr, flush=True)


def compile_all(tool: str, progress: Progress) -> None:
    """Fills the tool's cache of compiled kernels, with one compiler for each core."""
    rows = []
    for program, schedules in SCHEDULES.items():
        small = (["--dim", "N=1", "--scalar", "t=1"] if program in OPTIMIZERS
                 else ["--dim", "B=1,S=1,H=1", "--dtype", "T=f32"])
        rows += [Row(program, "", schedule, 1, small) for schedule in schedules]
    # The unscheduled program, which --verify compiles for every row, comes first.
    rows.sort(key=lambda row: row.schedule != UNSCHEDULED)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for count, _ in enumerate(pool.map(lambda row: perform(tool, row), rows), 1):
            progress.show(f"compiling: {count} of {len(rows)}")


HEADER = (
    "row  program         on               schedule     ranks"
    "     largest   within  bit-equal to  same     time of\n"
    "                                                        "
    "  difference   bound   unscheduled   mask      a call\n"
)


def yes_no(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "NO"


def line_of(index: int, row: Row) -> str:
    out = (f"{index:<4} {row.program:<15} {row.on:<16} {row.schedule or 'unscheduled':<12}"
           f" {row.ranks:>5}  ")
    if row.failure:
        return out + f"failed: {row.failure.splitlines()[0]}"
    wants = row.wants()
    # JSON has no infinity: the difference of a NaN from a number is null.
    differences = [want["max_difference"] for want in wants]
    worst = f"{max(inf if d is None else d for d in differences):.1e}" if wants else "-"
    milliseconds = row.report["time_us"]["median"] / 1e3
    return out + (f"{worst:>10}   {yes_no(row.within_bound() if wants else None):<7} "
                  f"{yes_no(row.bit_equal()):<13} {yes_no(row.same_mask):<5} "
                  f"{milliseconds:>8.2f} ms" + ("" if row.good() else "  <- bad"))


def run_all(tool: str, rows: list[Row]) -> int:
    begin = time.monotonic()
    progress = Progress()
    compile_all(tool, progress)
    with tempfile.TemporaryDirectory() as folder:
        masks = Masks(tool, Path(folder))
        for count, row in enumerate(rows, 1):
            progress.show(f"running: {count} of {len(rows)}, {row.program} "
                          f"{row.schedule or 'unscheduled'} on {row.ranks} ranks")
            # After layer_norm no element shows whether it was dropped.
            if row.on.startswith("dropout") and not row.program.endswith("_norm"):
                masks.perform(row)
            else:
                perform(tool, row)
    progress.show("")
    print(HEADER, end="")
    for index, row in enumerate(rows, 1):
        print(line_of(index, row))
    bad = [row for row in rows if not row.good()]
    print(f"\n{len(rows)} runs, {len(bad)} bad, in {time.monotonic() - begin:.0f} s on "
          f"{os.cpu_count()} cores. Row 1 again:\n  {shlex.join(rows[0].command(tool))}\n"
          f"All commands: examples/demo.py --commands {tool}")
    for row in bad:
        print(f"\nbad: {shlex.join(row.command(tool))}\n{row.failure}")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", action="store_true",
                        help="print the command of each row instead of running it")
    parser.add_argument("tool")
    options = parser.parse_args()
    tool = options.tool
    rows = [row for program in TAILS for row in tail_rows(program)]
    rows += [row for program in OPTIMIZERS for row in optimizer_rows(program)]
    rows += [row for program in TAILS for row in dropout_rows(program)]
    if options.commands:
        print("\n".join(shlex.join(row.command(tool)) for row in rows))
        return 0
    if not os.access(ROOT / tool, os.X_OK):
        sys.exit(f"demo.py: there is no tool {tool}; `make build` makes build/coconet")
    return run_all(tool, rows)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` has enough: end without a traceback
    sys.exit(main())
