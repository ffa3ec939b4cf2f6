import unittest

import check_layers
from planted import PlantedTree


class CheckLayers(PlantedTree):
    def errors(self) -> list[str]:
        return check_layers.check(self.root)

    def test_backward_includes_are_fine(self):
        self.plant("coconet/graph/graph.h", '#include <vector>\n\n#include "coconet/type/dim.h"\n')
        self.plant("coconet/runtime/heap.cc", '#include "coconet/kernel/call.h"\n')
        self.plant("cli/run.cc", '#include "coconet/tune/search.h"\n')
        self.assertEqual(self.errors(), [])

    def test_a_forward_include_is_refused(self):
        self.plant("coconet/type/dim.h", '#pragma once\n#include "coconet/graph/graph.h"\n')
        self.assert_refused(self.errors(), "coconet/type/dim.h:2", "base type")

    def test_runtime_never_includes_the_compiler(self):
        self.plant("coconet/runtime/heap.h", '#include "coconet/plan/plan.h"\n')
        self.assert_refused(self.errors(), "only: base kernel runtime")

    def test_kernel_includes_only_kernel(self):
        self.plant("coconet/kernel/cpu/fold.h", '#include "coconet/base/error.h"\n')
        self.assert_refused(self.errors(), "only: kernel")

    def test_io_includes_only_base_and_type(self):
        self.plant("coconet/io/npy.h", '#include "coconet/graph/graph.h"\n')
        self.assert_refused(self.errors(), "only: base type io")

    def test_angle_brackets_are_no_way_around(self):
        self.plant("coconet/base/text.h", "#  include <coconet/plan/plan.h>\n")
        self.assert_refused(self.errors(), "only: base")

    def test_relative_includes_are_refused(self):
        self.plant("coconet/base/text.h", '#include "../plan/plan.h"\n')
        self.assert_refused(self.errors(), "not a path from the root")

    def test_the_generated_header_is_for_sources_only(self):
        self.plant("coconet/runtime/paths.cc", '#include "coconet_paths.h"\n')
        self.assertEqual(self.errors(), [])
        self.plant("coconet/runtime/module.h", '#include "coconet_paths.h"\n')
        self.assert_refused(self.errors(), "module.h")

    def test_a_new_folder_needs_a_place_in_the_order(self):
        self.plant("coconet/helpers/all.h", "#pragma once\n")
        self.assert_refused(self.errors(), "coconet/helpers/all.h", "no folder of the pipeline")

    def test_a_source_includes_its_header_first(self):
        self.plant("coconet/base/text.h", "#pragma once\n")
        self.plant("coconet/base/text.cc", '#include <string>\n#include "coconet/base/text.h"\n')
        self.assert_refused(self.errors(), "text.cc", "first include")

    def test_text_that_is_no_include_is_left_alone(self):
        self.plant("coconet/source/emit.cc",
                   '// #include "coconet/tune/a.h"\n'
                   '/*\n#include "coconet/tune/b.h"\n*/\n'
                   'const char* k = R"(\n#include "coconet/kernel/call.h"\n)";\n'
                   'int n = 1\'000\'000;\n')
        self.assertEqual(self.errors(), [])

    def test_an_include_after_literals_is_still_seen(self):
        self.plant("coconet/base/emit.h",
                   'const char* k = "/*"; char q = \'"\'; int n = 1\'000;\n'
                   '#include "coconet/tune/b.h"  // why\n')
        self.assert_refused(self.errors(), "emit.h:2")

    def test_the_design_states_the_same_order(self):
        order = ("base type graph gradient program schedule plan source kernel runtime interp "
                 "simulate")
        self.plant("docs/design.md", f"# Design\n`{order} execute prebuilt tune cli`: backwards.\n")
        self.assertEqual(self.errors(), [])
        self.plant("docs/design.md", f"# Design\n`{order} tune execute cli`: backwards.\n")
        self.assert_refused(self.errors(), "docs/design.md")

    def test_a_cycle_is_refused(self):
        self.plant("coconet/base/a.h", '#include "coconet/base/b.h"\n')
        self.plant("coconet/base/b.h", '#include "coconet/base/a.h"\n')
        self.assert_refused(self.errors(), "cycle", "a.h -> coconet/base/b.h -> coconet/base/a.h")


if __name__ == "__main__":
    unittest.main()
