// Several errors in one file; no errors that only follow from others.
#include "coconet/program/report.h"
#include "tests/error/parse_fixture.h"

namespace coconet {
namespace {

using fixture::expect_errors;

TEST(ParseRecovery, EveryErrorOnce) {
  expect_errors(R"(mesh world(tp)
dim B, S, H
program bad(x: f32[B,S,H] sliced(2), w: f32[H,H] sliced(0), b: f32[H], r: f32[B,S,K]) {
  layer = matmul(x, w)
  early = layer + b
  total = all_reduce(early, +)
  drop  = dropout(totl + b, 0.1)
  v = matmul(x w)
  u = v + drop + r
  q = sqrt(layer)
  out = u + q
  return out, missing
}
schedule overlapped for bda {
  rs, ag = split(total
  overlap(layer, ar)
}
)",
                {{"3:83", "`K` is not a dim"},
                 {"5:11", "add after the reduce"},
                 {"7:19", "did you mean `total`?"},
                 {"8:16", "`)` is needed"},
                 {"10:7", "sqrt"},
                 {"12:15", "`missing` is not a value"},
                 {"14:25", "did you mean `bad`?"},
                 {"15:23", "`)` is needed"}});
}

TEST(ParseRecovery, AfterAnItem) {
  expect_errors(
      "mesh world(tp)\ndim N\nprogram a(x f32[N]) {\n  y = ( }\n}\n"
      "program b(x: f32[N]) {\n  y = q\n  return y\n}\nschedule s for a { }\n",
      {{"3:13", "`:` is needed"}, {"7:7", "`q` is not a value"}});
}

TEST(ParseRecovery, AFailedDeclarationIsNoSecondError) {
  expect_errors("mesh world(tp)\ndim N,\nprogram p(x: f32[N]) { return x }\n",
                {{"3:1", "the name of a dim is needed"}});
  expect_errors("mesh world tp\ndim N\nprogram p(x: f32[N]) { return x }\n",
                {{"1:12", "`(` is needed"}});
  expect_errors("mesh w(tp)\ndim N\ndef f(x) = x +\nprogram p(x: f32[N]) { y = f(x) return y }\n",
                {{"3:15", "an expression"}});
}

TEST(ParseRecovery, AStatementThatFailsBeforeItsNameIsNoSecondError) {
  expect_errors("mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  3 = x\n  y = z + 1\n  return y\n}\n",
                {{"4:3", "a statement"}});
}

TEST(ParseRecovery, ThereIsAnEnd) {
  std::string text = "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n";
  for (int i = 0; i < 1000; ++i) text += "  y" + std::to_string(i) + " = q\n";
  try {
    parse_file(text + "}");
    FAIL();
  } catch (const UserErrors& errors) {
    EXPECT_EQ(errors.errors().size(), ErrorList::kMost);
  }
}

TEST(ParseRecovery, NestingHasALimitAndNoOverflow) {
  const std::string head = "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  y = ";
  const std::string tail = "\n  return y\n}\n";
  const std::string open(100000, '('), close(100000, ')'), minus(100000, '-');
  expect_errors(head + open + "x" + close + tail,
                {{"4:208", "nested at most 200 deep; give its parts names, as `part = a + b`"}});
  expect_errors(head + minus + "x" + tail, {{"4:207", "nested at most 200 deep"}});
  std::string chain = "x";
  for (int i = 0; i < 100000; ++i) chain += "+x";
  expect_errors(
      head + chain + tail,
      {{"4:7", "at most 200 operations in a chain; give its parts names, as `part = a + b`"}});
  std::string calls, end;
  for (int i = 0; i < 50000; ++i) calls += "exp(";
  expect_errors(head + calls + "x" + std::string(50000, ')') + tail,
                {{"4:811", "nested at most 200 deep"}});
  std::string groups;
  for (int i = 0; i < 1000; ++i) groups += "overlapped o" + std::to_string(i) + " {\n";
  EXPECT_THROW(parse_file("mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n" + groups), UserErrors);
}

TEST(ParseRecovery, TheLimitsAreThoseThatTheErrorsName) {
  const auto file = [](const std::string& value) {
    return "mesh w(tp)\ndim N\nprogram p(x: f32[N]) {\n  y = " + value + "\n  return y\n}\n";
  };
  const auto repeated = [](int count, const std::string& text) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  };
  const auto chain = [&](int count) { return file("x" + repeated(count, " + x")); };
  const auto parentheses = [&](int count) {
    return file(repeated(count, "(") + "x" + repeated(count, ")"));
  };
  const auto calls = [&](int count) {
    return file(repeated(count, "exp(") + "x" + repeated(count, ")"));
  };
  for (const std::string& fits : {chain(200), parentheses(200), calls(200)}) {
    EXPECT_NO_THROW(parse_file(fits));
  }
  for (const std::string& longer : {chain(201), parentheses(201), calls(201)}) {
    EXPECT_THROW(parse_file(longer), UserErrors);
  }
}

TEST(ParseRecovery, FunctionsDoNotExplode) {
  std::string text = "mesh w(tp)\ndim N\ndef f0(x) = x + x\n";
  for (int i = 1; i < 29; ++i) {
    const std::string f = "f" + std::to_string(i - 1) + "(x)";
    text += "def f" + std::to_string(i) + "(x) = " + f + " + " + f + "\n";
  }
  expect_errors(text + "program p(x: f32[N]) {\n  y = f28(x)\n  return y\n}\n",
                {{"33:7", "at most 100000 operations"}});
}

TEST(ParseRecovery, AnyBytesAreSafe) {
  std::uint32_t state = 12345;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 24; };
  const std::string source =
      "mesh world(tp)\ndim N\nprogram p(x: f32[N] sliced(0), scalar a: f32 = "
      "1e-3) {\n  y = fused f { y = x * (a + 1.5) }\n  z = all_gather(y)@tp\n "
      " return z\n}\nschedule s for p {\n  a, b = split(z, (0..1), [x])\n}\n";
  for (int round = 0; round < 3000; ++round) {
    std::string text = source;
    if (round % 10 == 0) {
      for (char& c : text) c = static_cast<char>(next());
    }
    for (int edit = 0; edit < 1 + round % 4; ++edit) {
      const std::size_t at = (next() * 256 + next()) % text.size();
      switch (next() % 4) {
        case 0: text[at] = static_cast<char>(next()); break;
        case 1: text.erase(at, 1 + next() % 20); break;
        case 2:
          text.insert(at, text.substr((next() * 256 + next()) % text.size(), next() % 30));
          break;
        default: text[at] = "()[]{},;:=+-*/@.#'\n"[next() % 19]; break;
      }
    }
    try {
      parse_file(text, "t");
    } catch (const UserErrors& errors) {
      for (const UserError& error : errors.errors()) {
        EXPECT_FALSE(render(error, text).empty());
      }
    }
  }
}

// A few lines that would stand for 2^29 calls, or a literal of 2^29 operations.
TEST(ParseBounds, FunctionsOfFunctionsOfLiterals) {
  const auto doubling = [](const std::string& first, const std::string& argument) {
    std::string text = "mesh w(tp)\ndim N\ndef f0(x) = " + first + "\n";
    for (int i = 1; i < 29; ++i) {
      const std::string f = "f" + std::to_string(i - 1);
      text += "def f" + std::to_string(i) + "(x) = " + f + "(" + f + "(x))\n";
    }
    return text + "program p(x: f32[N]) {\n  y = x * f28(" + argument + ")\n  return y\n}\n";
  };
  fixture::expect_errors(doubling("x * 1", "2"), {{"33:11", "more than 300000 times"}});
  fixture::expect_errors(doubling("x + x", "size(tp)"), {{"33:11", "at most 1000 operations"}});
}

}  // namespace
}  // namespace coconet
