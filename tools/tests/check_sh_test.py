"""The checks that are not Python: formatting, and headers that compile alone."""
import shutil
import subprocess
import unittest
from pathlib import Path

from planted import PlantedTree

REPOSITORY = Path(__file__).resolve().parent.parent.parent

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(planted LANGUAGES CXX)
foreach(name coconet coconet_warnings coconet_paths gmock)
  add_library(${name} INTERFACE)
endforeach()
add_library(GTest::gmock ALIAS gmock)
target_include_directories(coconet INTERFACE ${CMAKE_SOURCE_DIR})
include(cmake/headers.cmake)
"""


class CheckSh(PlantedTree):
    def setUp(self) -> None:
        super().setUp()
        for name in ["tools/check.sh", "tools/tree.py", ".clang-format", "cmake/headers.cmake"]:
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(REPOSITORY / name, self.root / name)

    def check(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run([self.root / "tools/check.sh", *arguments], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_an_unknown_check_is_refused(self):
        code, said = self.check("spelling")
        self.assertEqual(code, 2)
        self.assertIn("there are: format layers", said)

    def test_badly_formatted_code_is_refused_and_mended(self):
        self.plant("coconet/base/a.h", "int   x ;\n")
        code, said = self.check("format")
        if "skipped" in said:
            self.skipTest(said.strip())
        self.assertNotEqual(code, 0)
        self.assertIn("coconet/base/a.h:1", said)
        self.assertEqual(self.check("format", "--fix")[0], 0)
        self.assertEqual((self.root / "coconet/base/a.h").read_text(), "int x;\n")
        self.assertEqual(self.check("format")[0], 0)

    def test_a_header_that_needs_another_first_is_refused(self):
        self.plant("CMakeLists.txt", PROJECT)
        self.plant("coconet/base/a.h", "#include <string>\ninline std::string a;\n")
        self.configure()
        self.assertEqual(self.check("headers")[0], 0)
        self.plant("coconet/base/b.h", "inline std::string b;\n")
        code, said = self.check("headers")
        self.assertNotEqual(code, 0)
        self.assertIn("coconet/base/b.h:1", said)

    def configure(self) -> None:
        done = subprocess.run(["cmake", "-S", self.root, "-B", self.root / "build"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
