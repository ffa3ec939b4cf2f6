"""A tree in a temporary folder, into which a test plants files and sees what a check says."""
import tempfile
import unittest
from pathlib import Path


class PlantedTree(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def plant(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_refused(self, errors: list[str], *words: str) -> None:
        """One error, and it has all the words."""
        self.assertEqual(len(errors), 1, errors)
        for word in words:
            self.assertIn(word, errors[0])
