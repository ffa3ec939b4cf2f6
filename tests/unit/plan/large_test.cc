// Programs of many statements: the time to plan and to print them grows with their number, and not
// with its square, which takes minutes here.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "coconet/plan/from_schedule.h"
#include "coconet/schedule/apply.h"
#include "coconet/schedule/file.h"
#include "coconet/source/cpp/from_plan.h"

namespace coconet::plan {
namespace {

constexpr int kStatements = 20000;
constexpr double kSeconds = 30;  // of the processor; a tenth of it is used, without sanitizers

double processor_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec);
}

std::string numbered(const std::string& text, int number) {
  std::string out;
  for (char c : text) out += c == '?' ? std::to_string(number) : std::string(1, c);
  return out;
}

// A program of these parameters and statements, each `count` times with ? as its number.
std::string program_of(const std::string& parameters, const std::string& statements,
                       const std::string& result, int count) {
  std::string inputs, body, outputs;
  for (int i = 1; i <= count; ++i) {
    inputs += numbered(parameters, i);
    body += numbered(statements, i);
    if (result.find('?') != std::string::npos) {
      outputs += (i > 1 ? ", " : "") + numbered(result, i);
    }
  }
  if (outputs.empty()) outputs = result + std::to_string(count);
  return "mesh world(dp)\ndim N\nprogram large(x: f32[N], g: f32[N] local" + inputs + ") {\n" +
         body + "  return " + outputs + "\n}\n";
}

void expect_quick(const std::string& program, const std::string& steps = "") {
  const double start = processor_seconds();
  const Graph graph = parse_program(program);
  const Schedule schedule = parse_schedule("schedule s for large {" + steps + "}");
  const Plan plan = from_schedule(apply(graph, schedule).graph);
  const std::string text = print(plan) + source::cpp::from_plan(plan);
  EXPECT_GT(text.size(), std::size_t{100000});
  EXPECT_LT(processor_seconds() - start, kSeconds);
}

TEST(LargePrograms, OfOneInput) {
  std::string body = "  v0 = x + x\n";
  for (int i = 1; i < kStatements; ++i) {
    body += "  v" + std::to_string(i) + " = v" + std::to_string(i - 1) + " + x\n";
  }
  const std::string program = "mesh world(dp)\ndim N\nprogram large(x: f32[N]) {\n" + body +
                              "  return v" + std::to_string(kStatements - 1) + "\n}\n";
  expect_quick(program);
  std::string fused = "f = fuse(v0";
  for (int i = 1; i < 1000; ++i) fused += ", v" + std::to_string(i);
  expect_quick(program, fused + ")");
}

TEST(LargePrograms, OfManyInputsStatesAndOutputs) {
  expect_quick(program_of(", p?: f32[N], state m?: f32[N]",
                          "  a? = p? + m?\n  b? = a? * x\n  u? = update(m?, b?)\n  c? = u? + x\n",
                          "c?", kStatements / 4));
}

TEST(LargePrograms, OfManyCollectives) {
  expect_quick(program_of("", "  a? = g * x\n  r? = all_reduce(a?, +)\n", "r", kStatements / 2));
}

}  // namespace
}  // namespace coconet::plan
