#include "bench/harness/floor.h"

#include <algorithm>

namespace coconet::bench {

double floor_of(const Traffic& traffic, const Rates& rates, double round_trip_nanoseconds) {
  if (rates.read <= 0 || rates.write <= 0 || rates.copy <= 0 || rates.exchange <= 0) return 0;
  // Bytes by GB/s are nanoseconds.
  return std::max({traffic.reads / rates.read, traffic.writes / rates.write,
                   (traffic.reads + traffic.writes) / rates.copy,
                   traffic.exchanged / rates.exchange, round_trip_nanoseconds / 2}) *
         1e-3;
}

}  // namespace coconet::bench
