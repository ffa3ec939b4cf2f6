#include "coconet/tune/calibrate.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "coconet/base/error.h"
#include "coconet/runtime/launch.h"
#include "coconet/runtime/matmul.h"
#include "coconet/runtime/shared_bytes.h"
#include "coconet/tune/machine.h"

namespace coconet::tune {
namespace {

constexpr int kVersion = 1;  // of the file
constexpr std::array<std::size_t, 2> kBytes = {std::size_t{128} << 10, std::size_t{8} << 20};
constexpr int kRepeats = 5;
constexpr int kBarriers = 200;
constexpr std::int64_t kSide = 320;  // of a product
constexpr std::array kProducts = {std::pair(DTypeKind::f32, kernel::MatmulType::f32),
                                  std::pair(DTypeKind::bf16, kernel::MatmulType::bf16),
                                  std::pair(DTypeKind::f16, kernel::MatmulType::f16),
                                  std::pair(DTypeKind::f64, kernel::MatmulType::f64)};

// What a rank measures, in microseconds, in memory that the parent sees.
struct Times {
  std::array<double, 2> own, from_peer, to_peer;
  double barrier;
  std::array<double, kProducts.size()> products;  // 0: not to be had here
};

// The shortest of some. All ranks begin together.
double shortest(runtime::Communicator& communicator, const std::function<void()>& before,
                const std::function<void()>& work) {
  double out = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    before();
    communicator.barrier("rates");
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    out = std::min(out, took.count());
    communicator.barrier("rates");
  }
  return out;
}

void measure_memory(runtime::Communicator& communicator, Times& times) {
  const int rank = communicator.rank(), next = (rank + 1) % communicator.ranks();
  std::byte* const own = communicator.segment(rank).data();
  std::byte* const peer = communicator.segment(next).data();
  std::vector<std::byte> here(kBytes[1]), there(kBytes[1]);
  const auto nothing = [] {};
  for (std::size_t level = 0; level < kBytes.size(); ++level) {
    const std::size_t bytes = kBytes[level];
    times.own[level] =
        shortest(communicator, nothing, [&] { std::memcpy(there.data(), here.data(), bytes); });
    times.from_peer[level] = shortest(
        communicator, [&] { std::memset(own, rank + 1, bytes); },
        [&] { std::memcpy(there.data(), peer, bytes); });
    times.to_peer[level] = shortest(
        communicator, [&] { std::memcpy(there.data(), own, bytes); },
        [&] { std::memcpy(peer, here.data(), bytes); });
  }
}

void measure_waits(runtime::Communicator& communicator, Times& times) {
  times.barrier = shortest(
                      communicator, [] {},
                      [&] {
                        for (int i = 0; i < kBarriers; ++i) communicator.barrier("rates");
                      }) /
                  kBarriers;
}

void measure_products(runtime::Communicator& communicator, Times& times) {
  // Zeros: as quick as other values.
  std::vector<double> a(kSide * kSide), b(kSide * kSide), out(kSide * kSide);
  for (std::size_t i = 0; i < kProducts.size(); ++i) {
    kernel::MatmulCall call{.m = kSide, .n = kSide, .k = kSide};
    call.a = a.data();
    call.b = b.data();
    call.out = out.data();
    call.a_stride = call.b_stride = call.out_stride = kSide;
    call.type = call.out_type = kProducts[i].second;
    try {
      runtime::matmul(call);
    } catch (const UserError&) {
      continue;  // no library of products: programs without one need none
    }
    times.products[i] = shortest(
        communicator, [] {}, [&] { runtime::matmul(call); });
  }
}

plan::Rates rates_of(std::span<const Times> all) {
  Times slowest = all[0];
  const auto take = [](double& slowest, double time) { slowest = std::max(slowest, time); };
  for (const Times& times : all) {
    for (int level = 0; level < 2; ++level) {
      take(slowest.own[level], times.own[level]);
      take(slowest.from_peer[level], times.from_peer[level]);
      take(slowest.to_peer[level], times.to_peer[level]);
    }
    take(slowest.barrier, times.barrier);
    for (std::size_t i = 0; i < kProducts.size(); ++i) take(slowest.products[i], times.products[i]);
  }
  plan::Rates out;
  for (int level = 0; level < 2; ++level) {
    const double bytes = static_cast<double>(kBytes[level]);
    out.own[level] = 2 * bytes / slowest.own[level];  // read and written
    // Each also moves as many bytes of its own.
    const auto peers = [&](double time) {
      return bytes / std::max(time - bytes / out.own[level], time / 4);
    };
    out.from_peer[level] = peers(slowest.from_peer[level]);
    out.to_peer[level] = peers(slowest.to_peer[level]);
  }
  out.wait_us = slowest.barrier;
  for (std::size_t i = 0; i < kProducts.size(); ++i) {
    if (slowest.products[i] == 0) continue;
    out.products[kProducts[i].first] = 2.0 * kSide * kSide * kSide / slowest.products[i];
  }
  return out;
}

std::filesystem::path file_of(int ranks) {
  return store_directory() / ("rates-" + std::to_string(ranks) + ".json");
}

nlohmann::json json_of(const plan::Rates& rates) {
  nlohmann::json products = nlohmann::json::object();
  for (const auto& [kind, rate] : rates.products) products[std::string(name_of(kind))] = rate;
  return {{"version", kVersion},          {"machine", machine_text()}, {"own", rates.own},
          {"from_peer", rates.from_peer}, {"to_peer", rates.to_peer},  {"wait_us", rates.wait_us},
          {"products", products}};
}

bool are_rates(const plan::Rates& rates) {
  constexpr double kMost = 1e12;
  const auto is_rate = [](double rate) { return rate > 0 && rate < kMost; };
  return std::ranges::all_of(rates.own, is_rate) && std::ranges::all_of(rates.from_peer, is_rate) &&
         std::ranges::all_of(rates.to_peer, is_rate) && is_rate(rates.wait_us) &&
         std::ranges::all_of(rates.products,
                             [&](const auto& product) { return is_rate(product.second); });
}

// Nothing of a file that is not all there, or another machine's.
std::optional<plan::Rates> rates_in(const nlohmann::json& json) {
  try {
    if (json.at("version") != kVersion || json.at("machine") != machine_text()) return std::nullopt;
    plan::Rates out;
    out.own = json.at("own").get<std::array<double, 2>>();
    out.from_peer = json.at("from_peer").get<std::array<double, 2>>();
    out.to_peer = json.at("to_peer").get<std::array<double, 2>>();
    out.wait_us = json.at("wait_us");
    for (const auto& [kind, type] : kProducts) {
      const std::string name(name_of(kind));
      if (json.at("products").contains(name)) out.products[kind] = json.at("products").at(name);
    }
    return are_rates(out) ? std::optional(out) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

plan::Rates measure_rates(int ranks, std::chrono::milliseconds timeout) {
  const runtime::SharedBytes memory(static_cast<std::size_t>(ranks) * sizeof(Times));
  runtime::LaunchOptions options;
  options.ranks = ranks;
  options.data_bytes = kBytes[1];
  options.communicator.timeout = timeout;
  options.join_timeout = std::min<std::chrono::milliseconds>(timeout, options.join_timeout);
  runtime::run_ranks(options, [&](runtime::Communicator& communicator) {
    Times& times = memory.as<Times>()[static_cast<std::size_t>(communicator.rank())];
    measure_waits(communicator, times);
    measure_memory(communicator, times);
    measure_products(communicator, times);
  });
  return rates_of(memory.as<Times>());
}

plan::Rates rates_of_machine(int ranks, std::chrono::milliseconds timeout) {
  if (store_directory().empty()) return measure_rates(ranks, timeout);
  const std::filesystem::path file = file_of(ranks);
  if (std::optional<plan::Rates> rates = rates_in(stored(file))) return *rates;
  const plan::Rates rates = measure_rates(ranks, timeout);
  store(file, json_of(rates));
  return rates;
}

}  // namespace coconet::tune
