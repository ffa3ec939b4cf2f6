#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "bench/peers/operations.h"
#include "bench/peers/step_loops.h"
#include "bench/worker/expected.h"
#include "bench/worker/half.h"
#include "bench/worker/use.h"

namespace coconet::bench {
namespace {

class Optimizers : public Operations {
 public:
  Optimizers(Library& library, const Arguments& arguments)
      : library_(library),
        problem_(problem_of(arguments)),
        listed_(!problem_.members.empty()),
        each_((problem_.elements + library.ranks() - 1) / library.ranks()),
        begin_(std::min(problem_.elements, each_ * library.rank())),
        end_(std::min(problem_.elements, begin_ + each_)),
        constants_(StepScalars(), library.ranks()),
        arrays_(arguments.text("pages") == "huge") {
    const std::int64_t whole = each_ * library.ranks();
    flat_g_ = arrays_.make<float>(whole);
    flat_p_ = arrays_.make<float>(whole);
    total_ = arrays_.make<float>(whole);
    m_ = arrays_.make<float>(whole);
    v_ = arrays_.make<float>(whole);
    flat_half_ = arrays_.make<Half>(whole);
    halves_ = arrays_.make<Half>(whole);
    const std::vector<std::int64_t> one = {problem_.elements};
    for (const std::int64_t count : listed_ ? problem_.members : one) {
      const std::int64_t at = offsets_.back();
      g_.push_back(listed_ ? arrays_.make<float>(count) : flat_g_);
      p_.push_back(listed_ ? arrays_.make<float>(count) : flat_p_);
      half_.push_back(listed_ ? arrays_.make<Half>(count) : flat_half_);
      offsets_.push_back(at + count);
    }
  }

  std::function<void()> operation(const std::string& text) override {
    const OperationName name(text);
    // Never filled arrays would be read from one page of zeros.
    if (!filled_[name.dtype]) fill(name);
    if (name.workload == "all_reduce") {
      return [this] { library_.all_reduce(flat_g_, total_, problem_.elements, Number::f32); };
    }
    const bool lamb = name.workload.starts_with("lamb"), half = name.dtype == "f16";
    if (name.form == "all_reduce") return [=, this] { after_all_reduce(lamb, half); };
    if (name.form == "scatter") return [=, this] { after_reduce_scatter(lamb, half); };
    if (name.form == "all_to_all") return [=, this] { after_all_to_all(lamb); };
    if (name.form == "per_tensor") return [=, this] { after_all_reduces(lamb, half); };
    throw std::runtime_error("no operation " + text);
  }

  void use_buffers(const std::string& text) override {
    const OperationName name(text);
    if (name.workload == "all_reduce") {
      return use(total_, problem_.elements, flat_g_, problem_.elements);
    }
    for (std::size_t k = 0; k < p_.size(); ++k) {
      if (name.dtype == "f16") {
        use(p_[k], count(k), half_[k], count(k));
      } else {
        use(p_[k], count(k), g_[k], count(k));
      }
    }
  }

  double check(const std::string& text) override {
    const OperationName name(text);
    fill(name);
    std::fill_n(total_, problem_.elements, -1.0f);
    operation(text)();
    const std::int64_t step = compared_step(problem_.elements);
    double out = 0;
    if (name.workload == "all_reduce") {
      for (std::int64_t i = 0; i < problem_.elements; i += step) {
        out = worse(out, total_[i], bench::total(library_.ranks(), i));
      }
      return out;
    }
    const ExpectedStep& expected = expected_of(name);
    const bool slices = name.form == "scatter" || name.form == "all_to_all";
    for (std::size_t k = 0; k < p_.size(); ++k) {
      for (std::int64_t i = offsets_[k]; i < offsets_[k + 1]; i += step) {
        const StepValues want = expected.at(k, i);
        out = worse(out, p_[k][i - offsets_[k]], want.p);
        if (slices && (i < begin_ || i >= end_)) continue;
        out = worse(worse(out, m_[i], want.m), v_[i], want.v);
      }
    }
    return out;
  }

 private:
  std::int64_t count(std::size_t member) const { return offsets_[member + 1] - offsets_[member]; }

  void fill(const OperationName& name) {
    const bool half = name.dtype == "f16";
    for (std::size_t k = 0; k < p_.size(); ++k) {
      for (std::int64_t i = offsets_[k]; i < offsets_[k + 1]; ++i) {
        const std::int64_t at = i - offsets_[k];
        p_[k][at] = parameter(i);
        m_[i] = first_moment(i);
        v_[i] = second_moment(i);
        if (half) half_[k][at] = half_of(short_gradient(library_.rank(), i));
        if (!half) g_[k][at] = flat_g_[i] = gradient(library_.rank(), i);
      }
    }
    const std::int64_t whole = each_ * library_.ranks();
    for (float* array : {flat_g_, flat_p_, total_, m_, v_}) {
      std::fill(array + problem_.elements, array + whole, 0.0f);
    }
    filled_.clear();  // of f16, flat_g_ is a place to widen to
    filled_[name.dtype] = true;
  }

  const ExpectedStep& expected_of(const OperationName& name) {
    const bool lamb = name.workload.starts_with("lamb");
    const std::string key = (lamb ? "lamb " : "adam ") + name.dtype;
    const auto found = expected_.find(key);
    if (found != expected_.end()) return found->second;
    auto& of = name.dtype == "f16" ? short_gradient : gradient;
    return expected_.emplace(key, ExpectedStep(lamb, problem_, library_.ranks(), of)).first->second;
  }

  // All gradients in f32, in one array.
  const float* flat_gradients(bool half) {
    for (std::size_t k = 0; k < g_.size(); ++k) {
      float* const to = flat_g_ + offsets_[k];
      if (half) widen(half_[k], to, count(k), false);
      if (!half && listed_) std::copy_n(g_[k], count(k), to);
    }
    return flat_g_;
  }

  void after_all_reduce(bool lamb, bool half) {
    library_.all_reduce(flat_gradients(half), total_, problem_.elements, Number::f32);
    first_loops(lamb, total_, 0, problem_.elements);
    if (lamb) second_loops(total_, 0, problem_.elements);
  }

  void after_all_reduces(bool lamb, bool half) {
    for (std::size_t k = 0; k < g_.size(); ++k) {
      if (half) widen(half_[k], g_[k], count(k), false);
      library_.all_reduce(g_[k], total_ + offsets_[k], count(k), Number::f32);
    }
    first_loops(lamb, total_, 0, problem_.elements);
    if (lamb) second_loops(total_, 0, problem_.elements);
  }

  void after_reduce_scatter(bool lamb, bool half) {
    library_.reduce_scatter(flat_gradients(half), total_, each_, Number::f32);
    first_loops(lamb, total_, begin_, end_);
    finish_slice(lamb);
  }

  // Sums block by block, each block's step while it is in the cache.
  void after_all_to_all(bool lamb) {
    if (listed_) {
      for (std::size_t k = 0; k < half_.size(); ++k) {
        std::copy_n(half_[k], count(k), flat_half_ + offsets_[k]);
      }
    }
    library_.all_to_all(flat_half_, halves_, each_, Number::half);
    constexpr std::int64_t kBlock = 1024;
    for (std::int64_t at = begin_; at < end_; at += kBlock) {
      const std::int64_t length = std::min(kBlock, end_ - at);
      float* const sum = total_ + (at - begin_);
      for (int r = 0; r < library_.ranks(); ++r) {
        widen(halves_ + r * each_ + (at - begin_), sum, length, r > 0);
      }
      first_loops(lamb, sum, at, at + length);
    }
    finish_slice(lamb);
  }

  // f(member, first element of it, how many), of what is in [begin, end) of the flat index.
  template <class F>
  void each_part(std::int64_t begin, std::int64_t end, F&& f) {
    const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), begin);
    for (auto k = static_cast<std::size_t>(after - offsets_.begin()) - 1;
         k < p_.size() && offsets_[k] < end; ++k) {
      const std::int64_t from = std::max(begin, offsets_[k]);
      const std::int64_t to = std::min(end, offsets_[k + 1]);
      if (from < to) f(k, from - offsets_[k], to - from);
    }
  }

  // total[0] is the sum of element `begin`.
  void first_loops(bool lamb, float* total, std::int64_t begin, std::int64_t end) {
    squares_.resize(p_.size());
    each_part(begin, end, [&](std::size_t k, std::int64_t at, std::int64_t length) {
      const std::int64_t i = offsets_[k] + at;
      const StepState state = {p_[k] + at, m_ + i, v_ + i};
      if (lamb) {
        lamb_first_loop(constants_, total + (i - begin), state, length, &squares_[k]);
      } else {
        adam_loop(constants_, total + (i - begin), state, length);
      }
    });
  }

  void second_loops(const float* u, std::int64_t begin, std::int64_t end) {
    each_part(begin, end, [&](std::size_t k, std::int64_t at, std::int64_t length) {
      const std::int64_t i = offsets_[k] + at;
      lamb_second_loop(constants_, u + (i - begin), p_[k] + at, length, squares_[k]);
    });
    squares_.clear();
  }

  void finish_slice(bool lamb) {
    if (lamb) {
      sum_squares();
      second_loops(total_, begin_, end_);
    }
    if (listed_) {
      each_part(begin_, end_, [&](std::size_t k, std::int64_t at, std::int64_t length) {
        std::copy_n(p_[k] + at, length, flat_p_ + offsets_[k] + at);
      });
    }
    library_.all_gather(flat_p_ + each_ * library_.rank(), flat_p_, each_, Number::f32);
    if (!listed_) return;
    const auto back = [&](std::size_t k, std::int64_t at, std::int64_t length) {
      std::copy_n(flat_p_ + offsets_[k] + at, length, p_[k] + at);
    };
    each_part(0, begin_, back);
    each_part(end_, problem_.elements, back);
  }

  // Of each member over all ranks.
  void sum_squares() {
    own_.clear();
    squares_.resize(p_.size());
    for (const Squares& of : squares_) {
      own_.push_back(static_cast<float>(of.p));
      own_.push_back(static_cast<float>(of.u));
    }
    sums_.resize(own_.size());
    library_.all_reduce(own_.data(), sums_.data(), std::ssize(own_), Number::f32);
    for (std::size_t k = 0; k < squares_.size(); ++k)
      squares_[k] = {sums_[2 * k], sums_[2 * k + 1]};
  }

  Library& library_;
  Problem problem_;
  bool listed_;
  std::int64_t each_, begin_, end_;  // of the slices of the flat index; this rank's
  StepConstants constants_;
  Arrays arrays_;
  float *flat_g_, *flat_p_, *total_, *m_, *v_;
  Half *flat_half_, *halves_;
  std::vector<float*> g_, p_;  // of members; of a flat tensor the flat arrays
  std::vector<Half*> half_;
  std::vector<std::int64_t> offsets_ = {0};  // of members in the flat index, and the end
  std::vector<Squares> squares_;             // by member; empty between two steps
  std::vector<float> own_, sums_;
  std::map<std::string, bool> filled_;  // by dtype of gradients
  std::map<std::string, ExpectedStep> expected_;
};

}  // namespace

std::unique_ptr<Operations> optimizers(Library& library, const Arguments& arguments) {
  return std::make_unique<Optimizers>(library, arguments);
}

}  // namespace coconet::bench
