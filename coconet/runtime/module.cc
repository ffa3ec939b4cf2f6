#include "coconet/runtime/module.h"

#include <dlfcn.h>

#include <algorithm>

#include "coconet/base/error.h"

namespace coconet::runtime {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw UserError(ErrorKind::runtime, "cannot load the module " + name + ": " + why);
}

}  // namespace

LoadedModule::LoadedModule(const std::filesystem::path& library, std::uint64_t plan_hash) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) refuse(library.string(), dlerror());
  library_ = std::shared_ptr<void>(handle, [](void* open) { dlclose(open); });
  module_ = static_cast<const kernel::Module*>(dlsym(handle, "coconet_module"));
  if (module_ == nullptr) refuse(library.string(), "it does not export coconet_module");
  need_match(library.string(), plan_hash);
}

LoadedModule::LoadedModule(const kernel::Module& module, std::uint64_t plan_hash)
    : module_(&module) {
  need_match("that was built before", plan_hash);
}

void LoadedModule::need_match(const std::string& name, std::uint64_t plan_hash) const {
  if (module_->abi_version != kernel::kAbiVersion) {
    refuse(name, "it is of version " + std::to_string(module_->abi_version) +
                     ", needed is version " + std::to_string(kernel::kAbiVersion));
  }
  if (module_->plan_hash != plan_hash) {
    refuse(name, "it was made for plan " + std::to_string(module_->plan_hash) +
                     ", needed is plan " + std::to_string(plan_hash));
  }
}

void run_call(Communicator& communicator, const kernel::Module& module,
              const CallArguments& arguments) {
  check(arguments.address.size() == static_cast<std::size_t>(module.buffers) *
                                        static_cast<std::size_t>(communicator.ranks()),
        "a call has an address for each buffer of each rank");
  kernel::Call call =
      communicator.enter_call(module.plan_hash, arguments.inputs_hash, arguments.exchange);
  check(module.one_shot || !arguments.one_shot, "a module that allows it is performed one-shot");
  call.one_shot = arguments.one_shot;
  call.exchanged = arguments.exchange != nullptr;
  if (arguments.threads > 0) call.threads = std::min(call.threads, arguments.threads);
  call.mesh_sizes = arguments.mesh_sizes.data();
  call.dims = arguments.dims.data();
  call.lists = arguments.lists.data();
  call.knobs = arguments.knobs.data();
  call.seed = arguments.seed;
  call.address = arguments.address.data();
  if (!arguments.constant.empty()) call.constant = arguments.constant.data();
  std::int64_t ticks = 0;
  const kernel::Status status = module.run(call, &ticks);
  communicator.raise_failure();
  check(status == kernel::kOk, "a module fails only with an error of the communicator");
  communicator.leave_call(ticks);
}

}  // namespace coconet::runtime
