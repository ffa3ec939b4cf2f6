import unittest

import check_size
from planted import PlantedTree


def body(lines: int) -> str:
    return "".join("  f();\n" for _ in range(lines))


class CheckSize(PlantedTree):
    def setUp(self) -> None:
        super().setUp()
        self.plant("tools/line_budget.txt", "# comment\nlibrary 1000 coconet\n")

    def errors(self) -> list[str]:
        return check_size.check(self.root)

    def refused(self, text: str, *words: str) -> None:
        self.plant("coconet/base/a.cc", text)
        self.assert_refused(self.errors(), *words)

    def fine(self, text: str) -> None:
        self.plant("coconet/base/a.cc", text)
        self.assertEqual(self.errors(), [])

    def test_a_long_file_is_refused(self):
        self.fine("int x;\n" * 400)
        self.refused("int x;\n" * 401, "a.cc: 401 lines")

    def test_a_long_line_is_refused_in_characters(self):
        self.fine("// " + "é" * 97 + "\n")
        self.refused("\n// " + "x" * 98 + "\n", "a.cc:2: 101 columns")

    def test_given_files_stay_as_they_came(self):
        self.plant("examples/data/make.py", "x = 1\n" * 500)
        self.assertEqual(self.errors(), [])
        self.plant("examples/make.py", "x = 1\n" * 500)
        self.assert_refused(self.errors(), "examples/make.py: 500 lines")

    def test_the_budget_is_a_limit(self):
        self.plant("tools/line_budget.txt", "library 3 coconet\n")
        self.fine("int x;\n" * 3)
        self.refused("int x;\n" * 4, "library has 4 lines", "budget is 3")

    def test_a_missing_budget_is_refused(self):
        (self.root / "tools/line_budget.txt").unlink()
        self.assert_refused(self.errors(), "line_budget.txt")

    def test_a_long_function_is_refused(self):
        self.fine("void g() {\n" + body(58) + "}\n")
        self.refused("void g() {\n" + body(59) + "}\n", "a.cc:1: 61 lines", "void g()")

    def test_forms_of_long_functions(self):
        for head in ["TEST(Suite, Case)", "Foo::Foo(int x)\n    : a_{x}, b_(x)", "void g() const",
                     "template <class T>\nT* g(T x = {}) noexcept", "static auto g() -> int",
                     "bool operator==(const A& a, const A& b)", "[[nodiscard]] int g(char c = '{')",
                     "const auto g = [](int x)"]:
            self.refused(f"namespace n {{\n{head} {{\n{body(60)}}}\n}}\n", "at most 60")
            self.fine(f"namespace n {{\n{head} {{\n{body(50)}}}\n}}\n")

    def test_a_long_function_in_a_class_is_refused(self):
        self.refused("class A : public B {\n public:\n  int g() {\n" + body(60) + "  }\n};\n",
                     "a.cc:3: 62 lines")

    def test_containers_and_tables_may_be_long(self):
        members = "".join(f"  int f{i}() {{ return {i}; }}\n" for i in range(70))
        self.fine("template <class T>\nstruct alignas(64) A {\n" + members + "};\n")
        self.fine("namespace {\n" + members + "}\n")
        self.fine('extern "C" {\n' + members + "}\n")
        self.fine("const int kTable[] = {\n" + "  f(1),\n" * 70 + "};\n")

    def test_braces_in_text_do_not_count(self):
        many = 'const char* k = "{"; char c = \'}\'; // {\n#define X {\n'
        self.fine("void g() {\n" + many * 10 + "}\nvoid h() {\n" + body(50) + "}\n")

    def test_a_long_python_function_is_refused(self):
        self.plant("tools/a.py", "def g():\n" + "    f()\n" * 60)
        self.assert_refused(self.errors(), "tools/a.py:1: 61 lines", "`g`")


if __name__ == "__main__":
    unittest.main()
