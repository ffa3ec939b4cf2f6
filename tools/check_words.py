#!/usr/bin/env python3
"""No leftovers in text files: to-do marks, conflict marks, lines of commented-out C++.

usage: check_words.py [--root DIR]
"""
import argparse
import re
import sys
from pathlib import Path

import tree

# Written so that this file does not find itself.
MARKS = [
    (re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b"), "a to-do mark; do it, or file an issue"),
    (re.compile(r"^(?:<{7}|>{7}|={7})(?: |$)"), "a conflict mark"),
    (re.compile(r"(?i)\bnot (?:yet )?" r"implemented\b"), "a promise; say what is there instead"),
]
# `// f(x);`, `// T f(x);`, `// return x;`, `// y = x;`. More words before the bracket are prose;
# more spaces after the slashes show an example.
COMMENTED_CODE = re.compile(
    r"^\s*// ?(?:(?:[\w:<>*&]+ )?[\w:.>\[\]-]+\(.*\)|return\b.*|[\w.:\[\]]+ = .*);\s*$")
CODE = tree.CPP | {".py", ".sh", ".cmake", ".coco", ".md", ".txt", ".json"}
NAMES = {"Makefile", "run"}


def check_text(path: Path, text: str) -> list[str]:
    errors = []
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, meaning in MARKS:
            if match := pattern.search(line):
                errors.append(f"{path}:{number}: `{match.group()}` is {meaning}")
        if path.suffix in tree.CPP and COMMENTED_CODE.match(line):
            errors.append(f"{path}:{number}: commented-out code: {line.strip()}")
    return errors


def check(root: Path) -> list[str]:
    errors = []
    for path in tree.files(root):
        if path.suffix in CODE or path.name in NAMES:
            errors += check_text(path, tree.text_of(root / path) or "")
    return errors


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    errors = check(parser.parse_args().root)
    print("\n".join(errors) if errors else "words: fine")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
