// A generated module, loaded; and one call of it by one rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "coconet/kernel/call.h"
#include "coconet/runtime/communicator.h"

namespace coconet::runtime {

// Unloads the library when the last copy goes. Ranks that are threads share one; processes may
// load it before or after the fork.
class LoadedModule {
 public:
  // UserError(runtime) if it is no module, or one of another version or of another plan.
  LoadedModule(const std::filesystem::path& library, std::uint64_t plan_hash);
  // One that is part of this program, or of a library that stays loaded.
  LoadedModule(const kernel::Module& module, std::uint64_t plan_hash);

  const kernel::Module& module() const { return *module_; }

 private:
  void need_match(const std::string& name, std::uint64_t plan_hash) const;

  std::shared_ptr<void> library_;
  const kernel::Module* module_ = nullptr;
};

// What a Call needs beyond the communicator's part; see kernel::Call.
struct CallArguments {
  std::span<const int> mesh_sizes;
  std::span<const std::int64_t> dims;
  std::span<const kernel::ListTable> lists = {};
  std::span<const std::int64_t> knobs;
  std::uint64_t seed = 0;
  std::uint64_t inputs_hash = 0;
  std::span<void* const> address;                // module.buffers * ranks
  std::span<const std::uint64_t> constant = {};  // as kernel::Call, one a buffer; or none
  bool one_shot = false;                         // as kernel::Call; the module must allow it
  int threads = 0;                               // of the rank's so many at most; 0: all
  Exchange* exchange = nullptr;                  // see Communicator::enter_call
};

// Enters the call, performs the module's ticks and leaves. Throws what stopped it.
void run_call(Communicator& communicator, const kernel::Module& module,
              const CallArguments& arguments);

}  // namespace coconet::runtime
