#include "coconet/runtime/toolchain.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "coconet/base/error.h"
#include "coconet/runtime/module.h"

namespace coconet::runtime {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A module whose plan hash is 1 and whose text holds `remark`.
std::string module_text(const std::string& remark, const std::string& version = "kAbiVersion") {
  return "// " + remark + R"(
#include "coconet/kernel/call.h"
namespace kernel = coconet::kernel;
static kernel::Status run(const kernel::Call&, std::int64_t* ticks) {
  *ticks = 0;
  return kernel::kOk;
}
extern "C" const kernel::Module coconet_module = {kernel::)" +
         version + R"(, 1, 0, run};
)";
}

class ToolchainTest : public testing::Test {
 protected:
  fs::path cache() const { return directory_.path() / "cache"; }
  Toolchain toolchain() const {
    return Toolchain({.compiler = "", .include_dir = "", .cache_dir = cache()});
  }
  int files() const {
    int out = 0;
    for (const auto& entry : fs::directory_iterator(cache())) out += entry.exists() ? 1 : 0;
    return out;
  }

  TemporaryDirectory directory_{fs::temp_directory_path()};
};

TEST_F(ToolchainTest, CompilesOnceAndLeavesOneFile) {
  const CompiledLibrary first = toolchain().compile(module_text("one"));
  EXPECT_FALSE(first.from_cache);
  const CompiledLibrary second = toolchain().compile(module_text("one"));
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(first.path, second.path);
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(LoadedModule(second.path, 1).module().plan_hash, 1u);
}

TEST_F(ToolchainTest, ADamagedFileIsMadeAgain) {
  const CompiledLibrary first = toolchain().compile(module_text("two"));
  {
    std::fstream file(first.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('\x5a');
  }
  EXPECT_FALSE(toolchain().compile(module_text("two")).from_cache);
  fs::resize_file(first.path, 10);
  EXPECT_FALSE(toolchain().compile(module_text("two")).from_cache);
  EXPECT_TRUE(toolchain().compile(module_text("two")).from_cache);
  EXPECT_EQ(LoadedModule(first.path, 1).module().plan_hash, 1u);
}

TEST_F(ToolchainTest, AnotherSourcesLibraryIsMadeAgain) {
  const CompiledLibrary first = toolchain().compile(module_text("one"));
  const fs::path second = toolchain().compile(module_text("two")).path;
  fs::copy_file(first.path, second, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(toolchain().compile(module_text("two")).from_cache);
  EXPECT_TRUE(toolchain().compile(module_text("two")).from_cache);
  EXPECT_TRUE(toolchain().compile(module_text("one")).from_cache);
}

TEST_F(ToolchainTest, AFileThatOthersMayWriteIsNotTrusted) {
  const CompiledLibrary first = toolchain().compile(module_text("trust"));
  chmod(first.path.c_str(), 0777);
  EXPECT_FALSE(toolchain().compile(module_text("trust")).from_cache);
}

TEST_F(ToolchainTest, ACacheThatCannotBeWritten) {
  std::ofstream(cache()) << "a file stands where the directory should be";
  CompiledLibrary library = toolchain().compile(module_text("three"));
  const fs::path path = library.path;
  EXPECT_THAT(library.note, HasSubstr("(COCONET_CACHE) cannot be written: Not a directory"));
  EXPECT_EQ(LoadedModule(path, 1).module().plan_hash, 1u);
  library = {};
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ToolchainTest, FlagsAreTheContracts) {
  const std::string command = toolchain().command_text();
  EXPECT_THAT(command, HasSubstr("-ffp-contract=off"));
  EXPECT_THAT(command, testing::Not(HasSubstr("fast-math")));
}

TEST_F(ToolchainTest, TextThatDoesNotCompileIsKeptAndShown) {
  try {
    toolchain().compile("int main() { return missing_name; }");
    FAIL() << "compiled";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_THAT(text, HasSubstr("missing_name"));
    const std::size_t at = text.find(cache().string());
    ASSERT_NE(at, std::string::npos);
    EXPECT_TRUE(fs::exists(text.substr(at, text.find('\n', at) - at)));
  }
}

TEST_F(ToolchainTest, ACompilerThatIsKilledOrDoesNotWorkIsNoFaultOfOurs) {
  const auto refused = [&](const std::string& says, const char* words, int status = 1) {
    std::ofstream(directory_.path() / "c++")
        << "#!/bin/sh\ncase \"$*\" in *-dM*) echo '#define A 1'; exit;; esac\necho '" << says
        << "' >&2; exit " << status << "\n";
    const std::string compiler = (directory_.path() / "c++").string();
    chmod(compiler.c_str(), 0755);
    try {
      Toolchain({.compiler = compiler, .include_dir = "", .cache_dir = cache()}).compile("int x;");
      FAIL() << "compiled";
    } catch (const UserError& error) {
      EXPECT_THAT(error.message(), HasSubstr(words));
    }
    EXPECT_EQ(files(), 0);
  };
  refused("g++: fatal error: Killed signal terminated program cc1plus",
          "the compiler was killed, as the kernel does");
  refused("collect2: fatal error: ld terminated with signal 9 [Killed]", "the compiler was killed");
  refused("module.cc:9:1: fatal error: error writing to /tmp/x.s: No space left on device",
          "the compiler had too little memory or disk: module.cc:9:1: fatal error: error writing");
  refused("cc1plus: out of memory allocating 65536 bytes", "too little memory or disk");
  refused("c++: fatal error: cannot execute as", "the C++ compiler does not work on this machine");
  refused("all is well", "the C++ compiler gave no library and no error", 0);
}

TEST_F(ToolchainTest, NoCompilerAndNoHeadersAreUserErrors) {
  try {
    Toolchain({.compiler = "no-such-compiler -x", .include_dir = "", .cache_dir = cache()});
    FAIL() << "found";
  } catch (const UserError& error) {
    EXPECT_THAT(error.message(), HasSubstr("no-such-compiler"));
  }
  EXPECT_THROW(Toolchain({.compiler = "", .include_dir = "/", .cache_dir = cache()}), UserError);
}

TEST_F(ToolchainTest, AModuleOfAnotherPlanOrVersionIsRefused) {
  const fs::path path = toolchain().compile(module_text("four")).path;
  EXPECT_THROW(LoadedModule(path, 2), UserError);
  const fs::path other = toolchain().compile(module_text("five", "kAbiVersion + 1")).path;
  EXPECT_THROW(LoadedModule(other, 1), UserError);
  const fs::path none = toolchain().compile("int x;").path;
  EXPECT_THROW(LoadedModule(none, 1), UserError);
  EXPECT_THROW(LoadedModule(cache() / "missing.so", 1), UserError);
}

TEST_F(ToolchainTest, AModuleIsUnloaded) {
  const fs::path path = toolchain().compile(module_text("six")).path;
  {
    const LoadedModule module(path, 1);
    void* again = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(again, nullptr);
    dlclose(again);
  }
  EXPECT_EQ(dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

}  // namespace
}  // namespace coconet::runtime
