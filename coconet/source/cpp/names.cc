#include "coconet/source/cpp/names.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace coconet::source::cpp {
namespace {

constexpr std::string_view kKeywords[] = {"alignas",       "alignof",     "and",
                                          "and_eq",        "asm",         "auto",
                                          "bitand",        "bitor",       "bool",
                                          "break",         "case",        "catch",
                                          "char",          "char16_t",    "char32_t",
                                          "char8_t",       "class",       "co_await",
                                          "co_return",     "co_yield",    "compl",
                                          "concept",       "const",       "const_cast",
                                          "consteval",     "constexpr",   "constinit",
                                          "continue",      "decltype",    "default",
                                          "delete",        "do",          "double",
                                          "dynamic_cast",  "else",        "enum",
                                          "explicit",      "export",      "extern",
                                          "false",         "float",       "for",
                                          "friend",        "goto",        "if",
                                          "inline",        "int",         "long",
                                          "mutable",       "namespace",   "new",
                                          "noexcept",      "not",         "not_eq",
                                          "nullptr",       "operator",    "or",
                                          "or_eq",         "private",     "protected",
                                          "public",        "register",    "reinterpret_cast",
                                          "requires",      "return",      "short",
                                          "signed",        "sizeof",      "static",
                                          "static_assert", "static_cast", "struct",
                                          "switch",        "template",    "this",
                                          "thread_local",  "throw",       "true",
                                          "try",           "typedef",     "typeid",
                                          "typename",      "union",       "unsigned",
                                          "using",         "virtual",     "void",
                                          "volatile",      "wchar_t",     "while",
                                          "xor",           "xor_eq"};

// Macros of the system's headers without an underscore among capitals.
constexpr std::string_view kMacros[] = {
    "BUFSIZ",   "EOF",      "INFINITY", "L_ctermid", "L_cuserid", "L_tmpnam", "NAN",
    "NULL",     "P_tmpdir", "alloca",   "assert",    "errno",     "linux",    "math_errhandling",
    "offsetof", "stderr",   "stdin",    "stdout",    "strdupa",   "strndupa", "unix",
    "va_arg",   "va_copy",  "va_end",   "va_start"};

// What generated functions use unqualified, but for the parameters and variables of their own.
constexpr std::string_view kUsed[] = {"f16",
                                      "bf16",
                                      "call",
                                      "ranks",
                                      "space",
                                      "run",
                                      "offset",
                                      "count",
                                      "i",
                                      "peer",
                                      "std",
                                      "coconet",
                                      "buffer",
                                      "dim",
                                      "exp",
                                      "log",
                                      "tanh",
                                      "erf",
                                      "pow",
                                      "sqrt",
                                      "rsqrt",
                                      "abs",
                                      "min",
                                      "max",
                                      "relu",
                                      "gelu",
                                      "silu",
                                      "sigmoid",
                                      "add",
                                      "sub",
                                      "mul",
                                      "div",
                                      "neg",
                                      "lt",
                                      "le",
                                      "gt",
                                      "ge",
                                      "eq",
                                      "ne",
                                      "where",
                                      "cast",
                                      "widen",
                                      "widen_each",
                                      "Widened",
                                      "narrowed",
                                      "rounded",
                                      "round_each",
                                      "round_to",
                                      "wait",
                                      "signal",
                                      "pointer",
                                      "cut",
                                      "Sum",
                                      "Max",
                                      "Min",
                                      "Prod",
                                      "Space",
                                      "Run",
                                      "Call",
                                      "Ranks",
                                      "Peers",
                                      "Scratch",
                                      "HeapScratch",
                                      "HeapWidened",
                                      "Status",
                                      "main",
                                      "Chunks",
                                      "Cut",
                                      "Dropout",
                                      "MatmulType",
                                      "Reads",
                                      "Stream",
                                      "apply",
                                      "blocks_of",
                                      "check_rate",
                                      "constant_of",
                                      "conv2d_piece",
                                      "copy_space",
                                      "cut_space",
                                      "fold_across",
                                      "fold_blocks",
                                      "fold_member",
                                      "fold_peers",
                                      "for_each_row",
                                      "for_each_row_tile",
                                      "for_each_tile",
                                      "index_in",
                                      "kBlockElements",
                                      "kMaxDims",
                                      "kOk",
                                      "kTile",
                                      "list",
                                      "mark_reduced",
                                      "matmul_piece",
                                      "merged",
                                      "reduce_groups",
                                      "reduce_held",
                                      "reduce_row",
                                      "row_elements",
                                      "rows_of",
                                      "store_all",
                                      "store_held",
                                      "stored_identity",
                                      "slot",
                                      "store_tile",
                                      "stream_copy",
                                      "turn",
                                      "part",
                                      "of",
                                      "valid",
                                      "valid_in",
                                      "wait_for",
                                      "whole_space"};

bool is_among(std::string_view word, const auto& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// As macros of headers are written: INT_MAX.
bool may_be_macro(std::string_view word) {
  const auto small = [](unsigned char c) { return std::islower(c) != 0; };
  return is_among(word, kMacros) || (word.find('_') != std::string_view::npos &&
                                     std::none_of(word.begin(), word.end(), small));
}

}  // namespace

Names::Names() {
  for (std::string_view word : kUsed) taken_.emplace(word);
}

std::string Names::fresh(const std::string& wanted) {
  std::string base;
  for (char c : wanted) {
    if (c == '\'') {
      base += "_p";
    } else {
      base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    }
  }
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0])) || base[0] == '_') {
    base = "v" + base;
  }
  // Two underscores in a row are the compiler's.
  for (std::size_t at; (at = base.find("__")) != std::string::npos;) base.erase(at, 1);
  std::string name = base;
  const bool reserved = is_among(base, kKeywords) || may_be_macro(base);
  for (int n = 2; (n == 2 && reserved && name == base) || !insert(name); ++n) {
    name = base + "_" + std::to_string(n);
  }
  return name;
}

std::string Names::fresh_buffer(const std::string& wanted) {
  for (;;) {
    const std::string name = fresh(wanted);
    const std::vector<std::string> derived = derived_names(name);
    const bool free = std::none_of(derived.begin(), derived.end(), [&](const std::string& other) {
      return taken_.contains(other);
    });
    if (!free) continue;
    taken_.insert(derived.begin(), derived.end());
    return name;
  }
}

std::vector<std::string> derived_names(const std::string& buffer) {
  return {buffer + "_i",    "at_" + buffer,           "to_" + buffer,  "held_" + buffer,
          buffer + "_wide", "to_" + buffer + "_wide", "ring_" + buffer};
}

// Escaped names end in _x, and so are those escaped that do already: no two dims meet.
std::string dim_name(const std::string& name) {
  const bool plain = name.find_first_of("'") == std::string::npos && name[0] != '_' &&
                     name.find("__") == std::string::npos && !name.ends_with("_x") &&
                     !is_among(name, kKeywords) && !may_be_macro(name) && name != "Call" &&
                     name != "std";
  if (plain) return name;
  std::string out;
  for (char c : name) {
    if (c == '_') {
      out += "_u";
    } else if (c == '\'') {
      out += "_q";
    } else {
      out += c;
    }
  }
  return (out[0] == '_' ? "d" : "") + out + "_x";
}

}  // namespace coconet::source::cpp
