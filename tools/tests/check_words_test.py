import unittest

import check_words
from planted import PlantedTree


class CheckWords(PlantedTree):
    def errors(self) -> list[str]:
        return check_words.check(self.root)

    def test_plain_text_is_fine(self):
        self.plant("coconet/base/a.h", "// todos(x) are fine; f(x) computes y = 2 x.\nint f(int);\n"
                                       "int g();  // g() >= 0\n")
        self.assertEqual(self.errors(), [])

    def test_marks_are_refused(self):
        for mark in ["TO" + "DO", "FIX" + "ME", "<" * 7 + " HEAD", "Not " + "implemented"]:
            self.plant("docs/a.md", f"first\n{mark}\n")
            self.assert_refused(self.errors(), "docs/a.md:2")

    def test_commented_out_code_is_refused(self):
        self.plant("coconet/base/a.cc", "int x;\n  // compute(x, 2);\n")
        self.assert_refused(self.errors(), "a.cc:2", "commented-out")


if __name__ == "__main__":
    unittest.main()
