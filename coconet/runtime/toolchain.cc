#include "coconet/runtime/toolchain.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "coconet/base/error.h"
#include "coconet/runtime/content_hash.h"
#include "coconet/runtime/subprocess.h"
#include "coconet_paths.h"

namespace coconet::runtime {

namespace fs = std::filesystem;

namespace {

// None of these changes a value. -fno-math-errno: sqrt is the instruction, without a call that sets
// errno. -fno-trapping-math: floating-point exceptions are not observed, so that branches may
// become selections. -ffp-contract=off: no fused multiply-add but where the text has one.
constexpr const char* kFlags =
    "-std=c++20 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC "
    "-shared -pthread";
// Else a library with a static variable of an inline function could never be unloaded.
constexpr const char* kGccFlag = "-fno-gnu-unique";
constexpr int kMostTries = 3;  // to compile, where others remove the place

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::string text_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct Compiler {
  std::vector<std::string> words;
  std::string macros;  // its predefined ones: version and CPU features
};

// Predefined macros under -march=native; "" if it does not work, with the reason in `failure`.
std::string macros_of(std::vector<std::string> command, std::string& failure) {
  const std::string name = command[0];
  for (const char* word : {"-march=native", "-dM", "-E", "-x", "c++", "/dev/null"}) {
    command.emplace_back(word);
  }
  try {
    const ProcessResult result = run_process(command);
    if (result.succeeded() && !result.output.empty()) return result.output;
    failure += "\n  " + name + ": " + result.output;
    if (result.signal != 0) failure += "killed by signal " + std::to_string(result.signal);
  } catch (const UserError& error) {
    failure += "\n  " + error.message();
  }
  return "";
}

Compiler find_compiler(const std::string& chosen) {
  std::vector<std::string> candidates;
  if (!chosen.empty()) {
    candidates = {chosen};
  } else if (const std::string cxx = variable("CXX"); !cxx.empty()) {
    candidates = {cxx};
  } else {
    candidates = {kHostCompiler, "g++", "clang++"};
  }
  std::string failure;
  for (const std::string& candidate : candidates) {
    const std::vector<std::string> words = words_of(candidate);
    if (words.empty()) continue;
    const std::string macros = macros_of(words, failure);
    if (!macros.empty()) return {words, macros};
  }
  throw UserError(
      ErrorKind::runtime,
      "there is no C++ compiler that works; needed is g++ or clang++ with C++20 in PATH, "
      "or CXX set to one. Tried:" +
          failure);
}

fs::path find_include_dir(fs::path chosen) {
  if (chosen.empty()) chosen = variable("COCONET_INCLUDE");
  if (chosen.empty()) chosen = kSourceDir;
  if (fs::exists(chosen / "coconet" / "kernel" / "call.h")) return chosen;
  throw UserError(ErrorKind::runtime,
                  "the kernel headers are not in " + chosen.string() +
                      "; COCONET_INCLUDE must name the directory that holds coconet/kernel");
}

void add_headers(ContentHash& hash, const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().extension() == ".h") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    hash.add(fs::relative(file, directory).string()).add(read_file(file));
  }
}

// The compiler itself, or a part of it, as its driver tells.
bool was_killed(const ProcessResult& result) {
  const auto says = [&](const char* words) {
    return result.output.find(words) != std::string::npos;
  };
  return result.signal != 0 || says("signal terminated program") || says("failed due to signal") ||
         says("terminated with signal") || says("unable to execute command: Killed");
}

// The line in which it, or a part of it, says that it had no room on the disk or in memory; "" if
// it says no such thing. Room that it has freed since is no proof that there was some.
std::string lack_told_by(const ProcessResult& result) {
  std::vector<std::string> words = {"memory exhausted", "out of memory", "bad_alloc",
                                    "failed to map segment"};
  for (const int error : {ENOSPC, EFBIG, EDQUOT, ENOMEM, EAGAIN, EMFILE, ENFILE}) {
    words.emplace_back(std::generic_category().message(error));
  }
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& word : words) {
      if (line.find(word) != std::string::npos) return line;
    }
  }
  return "";
}

// What the command says of the shortest source; "" if it compiles that.
std::string failure_of(const std::vector<std::string>& command, TemporaryDirectory& work) {
  const fs::path source = work.path() / "shortest.cc";
  write_file(source, "int coconet_shortest;\n");
  std::vector<std::string> words = command;
  words.insert(words.end(), {"-o", (work.path() / "shortest.so").string(), source.string()});
  const ProcessResult result = work.run(words);
  return result.succeeded() ? "" : text_of(words) + "\n" + result.output;
}

// `compiler`: the command without its files.
[[noreturn]] void report(const ProcessResult& result, const std::vector<std::string>& compiler,
                         const std::string& command, TemporaryDirectory& work,
                         const fs::path& source) {
  if (const std::string lack = lack_of_room(work.path()); !lack.empty()) {
    throw UserError(ErrorKind::runtime, "cannot compile in " + work.path().string() + ": " + lack);
  }
  if (const std::string lack = lack_told_by(result); !lack.empty()) {
    throw UserError(ErrorKind::runtime,
                    "the compiler had too little memory or disk: " + lack + "\n" + command);
  }
  if (was_killed(result)) {
    throw UserError(ErrorKind::runtime,
                    "the compiler was killed" +
                        (result.signal ? " by signal " + std::to_string(result.signal) : "") +
                        ", as the kernel does when memory runs out: " + command + "\n" +
                        result.output);
  }
  if (const std::string failure = failure_of(compiler, work); !failure.empty()) {
    throw UserError(ErrorKind::runtime,
                    "the C++ compiler does not work on this machine: " + failure);
  }
  work.keep();
  throw InternalError("the generated source does not compile; it is kept as " + source.string() +
                      "\n" + command + "\n" + result.output);
}

// A compiler that says that all is well may have written nothing: that is not to be kept.
void need_library(const fs::path& library, const std::string& command) {
  std::ifstream in(library, std::ios::binary);
  std::string magic(4, ' ');
  in.read(magic.data(), 4);
  if (magic.substr(1) == "ELF") return;
  throw UserError(ErrorKind::runtime, "the C++ compiler gave no library and no error: " + command);
}

}  // namespace

Toolchain::Toolchain(const ToolchainOptions& options)
    : cache_(options.cache_dir.empty() ? LibraryCache::default_directory() : options.cache_dir,
             options.cache_limits) {
  const fs::path include_dir = find_include_dir(options.include_dir);
  const Compiler compiler = find_compiler(options.compiler);
  command_ = compiler.words;
  const auto add = [&](const std::string& flags) {
    for (const std::string& flag : words_of(flags)) command_.push_back(flag);
  };
  add(kFlags);
  if (compiler.macros.find("#define __clang__ ") == std::string::npos) add(kGccFlag);
  add(kSanitizerFlags);
  ContentHash hash;
  hash.add(command_text()).add(compiler.macros);
  add_headers(hash, include_dir / "coconet" / "kernel");
  identity_ = hash.hex();
  command_.push_back("-I" + include_dir.string());
}

std::string Toolchain::command_text() const { return text_of(command_); }

CompiledLibrary Toolchain::compile(const std::string& source) const {
  const auto start = std::chrono::steady_clock::now();
  CompiledLibrary out;
  const std::string key = ContentHash().add(identity_).add(source).hex();
  StoredLibrary stored = cache_.find(key);
  out.from_cache = !stored.path.empty();
  for (int tried = 1; stored.path.empty(); ++tried) {
    const std::shared_ptr<TemporaryDirectory> work = cache_.work_directory(out.note);
    try {
      stored = cache_.store(key, compile_in(*work, source), work);
    } catch (const std::runtime_error&) {
      // Whoever empties the cache may take the place where it is compiled.
      if (tried == kMostTries || fs::exists(work->path())) throw;
    }
  }
  out.path = stored.path;
  out.owner = stored.owner;
  out.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return out;
}

fs::path Toolchain::compile_in(TemporaryDirectory& work, const std::string& source) const {
  const fs::path text = work.path() / "module.cc";
  fs::path library = work.path() / "module.so";
  write_file(text, source);
  std::vector<std::string> command = command_;
  command.insert(command.end(), {"-o", library.string(), text.string()});
  const ProcessResult result = work.run(command);
  if (!result.succeeded()) report(result, command_, text_of(command), work, text);
  need_library(library, text_of(command));
  return library;
}

void Toolchain::build_library(const std::vector<std::string>& sources, const fs::path& path) const {
  const fs::path ours = fs::path(kLibraryDir) / "library" / "libcoconet.a";
  if (!fs::exists(ours)) {
    throw UserError(ErrorKind::runtime,
                    "a library needs " + ours.string() + ", which is not there");
  }
  TemporaryDirectory work(fs::temp_directory_path());
  const fs::path library = work.path() / "library.so";
  std::vector<std::string> command = command_;
  command.insert(command.end(), {"-fvisibility=hidden", "-o", library.string()});
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const fs::path text = work.path() / ("source_" + std::to_string(i) + ".cc");
    write_file(text, sources[i]);
    command.push_back(text.string());
  }
  command.insert(command.end(), {ours.string(), "-Wl,--exclude-libs,ALL", "-lfmt", "-ldl"});
  const ProcessResult result = work.run(command);
  if (!result.succeeded()) report(result, command_, text_of(command), work, work.path());
  need_library(library, text_of(command));
  // Whole or not at all: a process may run with the file that is there now.
  const fs::path beside = path.string() + "." + std::to_string(getpid()) + ".new";
  std::error_code error;
  fs::copy_file(library, beside, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(beside, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    throw UserError(ErrorKind::data, "cannot write " + path.string() + ": " + error.message());
  }
}

}  // namespace coconet::runtime
