"""tools/install.sh against a machine made of small scripts: which packages it has is a file."""
import os
import subprocess
import unittest
from pathlib import Path

from planted import PlantedTree

SCRIPT = Path(__file__).resolve().parent.parent / "install.sh"

FAKES = {
    "id": 'cat "$MACHINE/uid"',
    "dpkg-query": 'grep -qx "${@: -1}" "$MACHINE/installed" && printf "install ok installed"',
    "apt-cache": 'grep -qx "$2" "$MACHINE/available"',
    "apt-get": '''echo "apt-get $*" >>"$MACHINE/log"
for word; do grep -x "$word" "$MACHINE/available" >>"$MACHINE/installed"; done; true''',
    "sudo": 'echo sudo >>"$MACHINE/log"; "$@"',
}
REQUIRED = ["g++", "make", "cmake", "ninja-build", "python3", "python3-dev",
            "python3-venv", "libfmt-dev", "nlohmann-json3-dev", "libcli11-dev", "libgtest-dev",
            "libgmock-dev", "libdnnl-dev", "librandom123-dev"]
OPTIONAL = ["ccache", "clang-format-14"]


class Install(PlantedTree):
    def setUp(self) -> None:
        super().setUp()
        for name in ["env", "grep", "cat"]:
            self.link(name)
        for name, script in FAKES.items():
            self.fake(name, script)
        self.machine(installed=[], available=REQUIRED + OPTIONAL)

    def link(self, name: str) -> None:
        (self.root / "bin").mkdir(exist_ok=True)
        for folder in ["/usr/bin", "/bin"]:
            if os.path.exists(f"{folder}/{name}"):
                (self.root / "bin" / name).symlink_to(f"{folder}/{name}")
                return
        self.fail(f"there is no {name}")

    def fake(self, name: str, script: str) -> None:
        self.plant(f"bin/{name}", f"#!/bin/bash\n{script}\n")
        os.chmod(self.root / "bin" / name, 0o755)

    def machine(self, installed: list[str], available: list[str], uid: int = 0) -> None:
        self.plant("installed", "".join(f"{name}\n" for name in installed))
        self.plant("available", "".join(f"{name}\n" for name in available))
        self.plant("uid", f"{uid}\n")
        self.plant("log", "")

    def run_script(self) -> tuple[int, str, list[str]]:
        """(exit code, all output, the calls of apt-get and sudo)"""
        done = subprocess.run(
            ["/bin/bash", SCRIPT], capture_output=True, text=True, check=False,
            env={"PATH": str(self.root / "bin"), "MACHINE": str(self.root)})
        log = (self.root / "log").read_text().splitlines()
        return done.returncode, done.stdout + done.stderr, log

    def test_a_fresh_machine_gets_everything_once(self):
        code, said, log = self.run_script()
        self.assertEqual(code, 0, said)
        self.assertIn("installed " + " ".join(REQUIRED + OPTIONAL), said)
        self.assertEqual(len(log), 2, log)
        self.assertIn("--no-install-recommends", log[1])
        self.plant("log", "")
        self.assertEqual(self.run_script()[2], [])

    def test_nothing_is_asked_when_all_is_there(self):
        self.machine(installed=REQUIRED, available=[], uid=1000)
        code, said, log = self.run_script()
        self.assertEqual((code, log), (0, []))
        self.assertIn("everything needed is installed", said)

    def test_only_what_is_missing_is_installed(self):
        self.machine(installed=REQUIRED[1:] + OPTIONAL, available=REQUIRED)
        code, said, log = self.run_script()
        self.assertEqual(code, 0, said)
        self.assertTrue(log[1].endswith("--no-install-recommends g++"), log)

    def test_an_optional_package_may_be_absent(self):
        self.machine(installed=[], available=REQUIRED)
        code, said, _ = self.run_script()
        self.assertEqual(code, 0, said)
        self.assertIn("clang-format-14 is not in this distribution", said)

    def test_a_required_package_may_not(self):
        self.machine(installed=[], available=REQUIRED[:-1])
        code, said, log = self.run_script()
        self.assertEqual(code, 1)
        self.assertIn("librandom123-dev", said)
        self.assertEqual(len(log), 1, log)

    def test_a_user_goes_through_sudo_or_is_told(self):
        self.machine(installed=[], available=REQUIRED, uid=1000)
        self.assertIn("sudo", self.run_script()[2])
        self.machine(installed=[], available=REQUIRED, uid=1000)
        (self.root / "bin/sudo").unlink()
        code, said, log = self.run_script()
        self.assertEqual((code, log), (1, []))
        self.assertIn("install sudo", said)


if __name__ == "__main__":
    unittest.main()
