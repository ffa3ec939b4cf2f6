#!/usr/bin/env python3
"""Files of at most 400 lines, functions of at most 60, lines of at most 100 columns; a line budget.

usage: check_size.py [--root DIR] [--report]

The budget is tools/line_budget.txt: one `AREA LINES FOLDER...` a line; C++ and Python lines in the
folders of an area may not exceed LINES. A change that needs more raises the number there, visibly.
A function is measured from its first line (after `template <...>`) to its closing brace; functions
inside classes count alone, lambdas count with the function around them.
"""
import argparse
import ast
import re
import sys
from pathlib import Path

import tree

FILE_LINES, FUNCTION_LINES, COLUMNS = 400, 60, 100
MEASURED = tree.CPP | {".py", ".sh", ".cmake", ".coco"}
BY_NAME = {"CMakeLists.txt", "Makefile"}
BUDGET = Path("tools/line_budget.txt")

_TEMPLATE = re.compile(r"^\s*template\s*<")
_SPECIFIERS = r"(?:\s|\b(?:inline|static|constexpr|export|typedef|extern)\b)*"
_CONTAINER = re.compile("^" + _SPECIFIERS + r"(?:(?:class|struct|union|enum|namespace)\b|$)")
_ACCESS = re.compile(r"^\s*(?:public|private|protected)\s*:(?!:)")


def _after_brackets(text: str, opening: str, closing: str) -> str:
    """What follows the bracket that opens first in `text`."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == opening) - (char == closing)
        if depth == 0 and char == closing:
            return text[at + 1:]
    return ""


def _declaration(head: str) -> str:
    """`head` without access labels, template parameters and attributes before it."""
    while True:
        head, before = head.lstrip(), head.lstrip()
        head = _ACCESS.sub("", head)
        if _TEMPLATE.match(head):
            head = _after_brackets(head, "<", ">")
        if head.lstrip().startswith("requires"):
            head = re.sub(r"^\s*requires\s*(\([^()]*\)|[\w:]+(<[^<>]*>)?)", "", head)
        if head.lstrip().startswith("[["):
            head = _after_brackets(head, "[", "]")
        head = re.sub(r"\balignas\s*\([^)]*\)|__attribute__\s*\(\(.*?\)\)", "", head)
        if head.lstrip() == before:
            return before


def _is_function(head: str) -> bool:
    """Whether a brace after `head`, in a namespace or class, opens the body of a function."""
    declaration = _declaration(head)
    if _CONTAINER.match(declaration) or "(" not in declaration:
        return "](" in declaration
    depth, plain = 0, []
    for char in declaration:
        depth += char in "(["
        if depth == 0:
            plain.append(char)
        depth -= char in ")]"
    outside = "".join(plain)
    assigned = "=" in re.sub(r"operator\s*[=!<>+\-*/%&|^]+", "", outside)
    return not assigned or "](" in re.sub(r"\s", "", declaration)


def cpp_functions(text: str) -> list[tuple[int, int, str]]:
    """(first line, lines, what it is) of each function of a C++ text."""
    bare = tree.without_literals(text)
    bare = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()), bare,
                  flags=re.MULTILINE)
    found, stack, start, parens = [], [], 0, 0
    body_of = None  # depth and beginning of the function being measured
    for at, char in enumerate(bare):
        if char in "()":
            parens += 1 if char == "(" else -1
        if char == "{":
            if body_of is None and parens == 0 and _is_function(bare[start:at]):
                body_of = (len(stack), start)
            stack.append(parens)
        elif char == "}" and stack:
            parens = stack.pop()
            if body_of is not None and len(stack) == body_of[0]:
                found.append(_measured(bare, body_of[1], at))
                body_of = None
        if body_of is None and parens == 0 and char in "{};":
            start = at + 1
    return found


def _measured(bare: str, start: int, end: int) -> tuple[int, int, str]:
    head = bare[start:end + 1]
    begin = end + 1 - len(_declaration(head))
    first = bare.count("\n", 0, begin) + 1
    last = bare.count("\n", 0, end) + 1
    name = " ".join(bare[begin:end].split("{")[0].split())
    return first, last - first + 1, name[:60]


def python_functions(text: str) -> list[tuple[int, int, str]]:
    nodes = [n for n in ast.walk(ast.parse(text))
             if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [(n.lineno, n.end_lineno - n.lineno + 1, n.name) for n in nodes]


def check_text(path: Path, text: str) -> list[str]:
    lines = text.splitlines()
    errors = []
    if len(lines) > FILE_LINES:
        errors.append(f"{path}: {len(lines)} lines; a file has at most {FILE_LINES}")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS and "http" not in line:
            errors.append(f"{path}:{number}: {len(line)} columns; a line has at most {COLUMNS}")
    functions = []
    if path.suffix in tree.CPP:
        functions = cpp_functions(text)
    elif path.suffix == ".py":
        functions = python_functions(text)
    for first, length, name in functions:
        if length > FUNCTION_LINES:
            errors.append(f"{path}:{first}: {length} lines in `{name}`; "
                          f"a function has at most {FUNCTION_LINES}")
    return errors


def check_budget(root: Path, lines: dict[Path, int], report: bool) -> list[str]:
    errors = []
    if not (root / BUDGET).exists():
        return [f"{BUDGET}: is missing"]
    for number, row in enumerate((root / BUDGET).read_text().splitlines(), 1):
        if not row.strip() or row.startswith("#"):
            continue
        area, limit, *folders = row.split()
        used = sum(n for path, n in lines.items() if path.parts[0] in folders)
        if report:
            print(f"{area}: {used} of {limit} lines")
        if used > int(limit):
            errors.append(f"{BUDGET}:{number}: {area} has {used} lines, its budget is {limit}; "
                          "take lines out, or raise the budget in the same change")
    return errors


def check(root: Path, report: bool = False) -> list[str]:
    errors, lines = [], {}
    for path in tree.files(root):
        if path.suffix not in MEASURED and path.name not in BY_NAME:
            continue
        text = tree.text_of(root / path)
        if text is None:
            errors.append(f"{path}: is not UTF-8")
            continue
        errors += check_text(path, text)
        if path.suffix in tree.CPP | {".py"}:
            lines[path] = len(text.splitlines())
    return errors + check_budget(root, lines, report)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--report", action="store_true", help="print the lines of each area")
    arguments = parser.parse_args()
    errors = check(arguments.root, arguments.report)
    print("\n".join(errors) if errors else "sizes: fine")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
