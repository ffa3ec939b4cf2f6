"""examples/demo.py sees every kind of bad row; a made-up tool stands for coconet."""
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import demo  # noqa: E402

# Prints $REPORT; writes out.npy into --out: zeros for rate=1, else one kept word in ten, or none
# dropped at all with $MASK.
TOOL = """#!/usr/bin/env python3
import os, sys
arguments = sys.argv
if "--out" in arguments:
    folder = arguments[arguments.index("--out") + 1]
    words = [0] * 1000
    if "rate=1" not in arguments:
        step = int(os.environ.get("MASK", "10"))
        words = [0 if i % step == step - 1 else 1 for i in range(1000)]
    with open(os.path.join(folder, "out.npy"), "wb") as file:
        file.write(b"".join(word.to_bytes(4, "little") for word in words))
print(os.environ["REPORT"])
sys.exit(int(os.environ.get("STATUS", "0")))
"""


def report(**changed) -> str:
    output = {"bit_equal_to_unscheduled": True, "within_bound": True,
              "want": {"max_difference": 1e-7, "within_bound": True}}
    output.update(changed)
    return json.dumps({"outputs": [output], "time_us": {"median": 5.0}})


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tool = str(Path(self.folder.name) / "tool")
        Path(self.tool).write_text(TOOL)
        os.chmod(self.tool, 0o755)

    def status_of(self, row: demo.Row, **environment: str) -> int:
        schedules, demo.SCHEDULES = demo.SCHEDULES, {}  # nothing to compile
        saved = dict(os.environ)
        os.environ.update({"REPORT": report(), **environment})
        self.printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(self.printed):
                return demo.run_all(self.tool, [row])
        finally:
            demo.SCHEDULES = schedules
            os.environ.clear()
            os.environ.update(saved)

    def adam(self) -> demo.Row:
        return demo.optimizer_rows("adam")[0]

    def dropout(self) -> demo.Row:
        return demo.dropout_rows("attention")[0]

    def test_good_rows(self):
        self.assertEqual(self.status_of(self.adam()), 0)
        self.assertEqual(self.status_of(self.dropout(), REPORT=report(want=None)), 0)
        self.assertIn("yes", self.printed.getvalue())

    def test_each_kind_of_bad_row(self):
        beyond = {"max_difference": 1.0, "within_bound": False}
        nan = {"max_difference": None, "within_bound": False}
        for changed in ({"want": beyond}, {"want": nan}, {"bit_equal_to_unscheduled": False},
                        {"within_bound": False}):
            self.assertEqual(self.status_of(self.adam(), REPORT=report(**changed), STATUS="1"), 1)
            self.assertIn("<- bad", self.printed.getvalue())

    def test_a_run_that_fails(self):
        error = json.dumps({"error": {"kind": "data", "message": "no", "exit_code": 1}})
        self.assertEqual(self.status_of(self.adam(), REPORT=error, STATUS="1"), 1)
        self.assertEqual(self.status_of(self.adam(), REPORT="", STATUS="3"), 1)
        self.assertEqual(self.status_of(self.adam(), STATUS="3"), 1)  # a good report, a bad end

    def test_a_mask_that_drops_too_much(self):
        self.assertEqual(self.status_of(self.dropout(), REPORT=report(want=None), MASK="2"), 1)

    def test_whoever_reads_may_leave(self):
        read, write = os.pipe()
        os.close(read)
        command = [sys.executable, demo.__file__, "--commands", self.tool]
        done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
        os.close(write)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))

    def test_every_program_schedule_and_rank_count_has_a_row(self):
        rows = [row for tail in demo.TAILS for row in demo.tail_rows(tail)]
        rows += [row for program in demo.OPTIMIZERS for row in demo.optimizer_rows(program)]
        for program, schedules in demo.SCHEDULES.items():
            text = (demo.ROOT / f"examples/{program}.coco").read_text()
            named = [line.split()[1] for line in text.splitlines()
                     if line.startswith("schedule ")]
            self.assertEqual([demo.UNSCHEDULED, *named], schedules)
            for schedule in schedules:
                ranks = {r.ranks for r in rows if (r.program, r.schedule) == (program, schedule)}
                self.assertEqual(ranks, {2, 4})


if __name__ == "__main__":
    unittest.main()
