#include "coconet/io/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coconet/base/error.h"

namespace coconet {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file, std::uint64_t offset)
      : text_(text), file_(file), offset_(offset) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      item();
      if (accept('}')) break;
      expect(',');
    }
    skip_spaces();
    if (at_ < text_.size()) fail("only spaces are allowed after the closing '}'");
    if (!seen_descr_ || !seen_order_ || !seen_shape_) {
      fail("the keys 'descr', 'fortran_order' and 'shape' are all needed");
    }
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& needed) const {
    const std::string found =
        at_ < text_.size() ? fmt::format("{:?}", text_.substr(at_, 12)) : std::string("its end");
    throw UserError(ErrorKind::data, fmt::format("{}: bad .npy header at byte {}: found {}; {}",
                                                 file_, offset_ + at_, found, needed));
  }

  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  char next() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' is needed", c));
  }

  void item() {
    skip_spaces();
    const std::size_t start = at_;
    const std::string key = quoted();
    const bool again = (key == "descr" && seen_descr_) || (key == "fortran_order" && seen_order_) ||
                       (key == "shape" && seen_shape_);
    if (again) {
      at_ = start;
      fail("each key may stand once");
    }
    if (key != "descr" && key != "fortran_order" && key != "shape") {
      at_ = start;
      fail("the keys are 'descr', 'fortran_order' and 'shape'");
    }
    expect(':');
    if (key == "descr") {
      seen_descr_ = true;
      if (next() == '[') fail("a structured dtype has no meaning here; one plain dtype is needed");
      header_.descr = quoted();
    } else if (key == "fortran_order") {
      seen_order_ = true;
      header_.fortran_order = boolean();
    } else {
      seen_shape_ = true;
      header_.shape = tuple();
    }
  }

  std::string quoted() {
    const char quote = next();
    if (quote != '\'' && quote != '"') fail("a quoted string is needed");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("the string is not closed");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos) fail("no escapes are allowed in a string");
    at_ = end + 1;
    return std::string(inside);
  }

  bool boolean() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail("True or False is needed");
  }

  // "()", "(3,)", "(3, 4)": a single dim without its comma is not a tuple.
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> dims;
    expect('(');
    bool comma = false;
    while (!accept(')')) {
      if (!dims.empty() && !comma) fail("',' or ')' is needed");
      dims.push_back(dim());
      comma = accept(',');
    }
    if (dims.size() == 1 && !comma) {
      --at_;
      fail("a tuple of one dim is written (n,)");
    }
    return dims;
  }

  std::int64_t dim() {
    if (!is_digit(next())) fail("a dim, a whole number of 0 or more, is needed");
    std::int64_t value = 0;
    const std::size_t start = at_;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      const int digit = text_[at_] - '0';
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, digit, &value)) {
        at_ = start;
        fail("a dim is at most 2^63 - 1");
      }
    }
    if (text_[start] == '0' && at_ - start > 1) {
      at_ = start;
      fail("a dim without leading zeros is needed");
    }
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote long integers
    return value;
  }

  std::string_view text_;
  const std::string& file_;
  std::uint64_t offset_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool seen_descr_ = false;
  bool seen_order_ = false;
  bool seen_shape_ = false;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& file, std::uint64_t offset) {
  return HeaderParser(text, file, offset).parse();
}

std::string print_npy_header(const NpyHeader& header) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", header.descr,
                     header.fortran_order ? "True" : "False", fmt::join(header.shape, ", "),
                     header.shape.size() == 1 ? "," : "");
}

}  // namespace coconet
