import os
import unittest

import check_readme
from planted import PlantedTree


class CheckReadme(PlantedTree):
    def setUp(self) -> None:
        super().setUp()
        self.plant("Makefile", "build test: x\nFLAG := y\nformat:\n")
        self.plant("cli/run.cc", "")
        self.plant("examples/adam.coco", "")
        self.plant("demo.sh", "")
        os.chmod(self.root / "demo.sh", 0o755)

    def errors_of(self, command: str) -> list[str]:
        self.plant("README.md", f"# Title\n```sh\n{command}\n```\n")
        return check_readme.check(self.root)

    def test_what_exists_is_fine(self):
        for command in ["./demo.sh  # the demo", "make format JOBS=2", "ls anything",
                        "build/coconet run examples/adam.coco --ranks 4 \\\n  --schedule sharded"]:
            self.assertEqual(self.errors_of(command), [])

    def test_what_does_not_exist_is_refused(self):
        self.assert_refused(self.errors_of("./setup.sh"), "./setup.sh")
        self.assert_refused(self.errors_of("make deploy"), "no target deploy")
        self.assert_refused(self.errors_of("coconet fly examples/adam.coco"), "fly")
        self.assert_refused(self.errors_of("coconet run examples/lamb.coco"), "examples/lamb.coco")

    def test_a_dead_link_is_refused(self):
        self.plant("docs/a.md", "[b](b.md) [c](https://example.org) [r](../README.md#title)\n")
        self.plant("README.md", "text\n")
        self.assert_refused(check_readme.check(self.root), "docs/a.md", "b.md")

    def test_the_tutorial_is_read_too(self):
        self.plant("README.md", "text\n")
        self.plant("tutorial/01.md", "```sh\nbuild/coconet run tutorial/01.coco\n```\n")
        self.assert_refused(check_readme.check(self.root), "tutorial/01.md", "tutorial/01.coco")

    def test_a_missing_readme_is_refused(self):
        self.assert_refused(check_readme.check(self.root), "README.md is missing")


if __name__ == "__main__":
    unittest.main()
