#include "python/bindings/interrupt.h"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <mutex>

#include "coconet/base/error.h"

namespace nb = nanobind;

namespace coconet::python {
namespace {

std::atomic<int> at_work{0};

void end_by_interrupts() {
  if (at_work > 0) std::signal(SIGINT, SIG_DFL);
}

}  // namespace

void interruptible(const std::function<void()>& work) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, end_by_interrupts); });
  ++at_work;
  try {
    const nb::gil_scoped_release release;
    work();
  } catch (...) {
    --at_work;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    throw;
  }
  --at_work;
}

}  // namespace coconet::python
