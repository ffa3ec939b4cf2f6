import unittest

import check_words
from planted import PlantedTree


class CheckWords(PlantedTree):
    def errors(self) -> list[str]:
        return check_words.check(self.root)

    def test_plain_text_is_fine(self):
        self.plant("coconet/base/a.h", "// todos(x) are fine; f(x) computes y = 2 x.\nint f(int);\n"
                                       "int g();  // g() >= 0\n"
                                       "//   Program p{x};\n//   p.returns({out});\n"
                                       "// Orders units: a unit is a node (its index);\n")
        self.assertEqual(self.errors(), [])

    def test_marks_are_refused(self):
        for mark in ["TO" + "DO", "FIX" + "ME", "<" * 7 + " HEAD", "Not " + "implemented"]:
            self.plant("docs/a.md", f"first\n{mark}\n")
            self.assert_refused(self.errors(), "docs/a.md:2")

    def test_commented_out_code_is_refused(self):
        for code in ["compute(x, 2);", "auto compute(int x);", "return x + 2;", "a.nodes[2] = x;"]:
            self.plant("coconet/base/a.cc", f"int x;\n  // {code}\n")
            self.assert_refused(self.errors(), "a.cc:2", "commented-out")


if __name__ == "__main__":
    unittest.main()
