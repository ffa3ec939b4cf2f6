#include "coconet/simulate/turn_work.h"

#include "coconet/simulate/kernel_turn.h"
#include "coconet/simulate/tensor_turns.h"

namespace coconet::simulate {

std::unique_ptr<TurnWork> work_of(const Context& context, const plan::Turn& turn, int rank) {
  return std::visit(
      Overloaded{
          [&](const plan::Kernel& kernel) -> std::unique_ptr<TurnWork> {
            return std::make_unique<KernelTurn>(context, turn, rank, kernel);
          },
          [&](const plan::MatmulLaunch& m) { return matmul_turn(context, turn, rank, m); },
          [&](const plan::Conv2dLaunch& c) { return conv2d_turn(context, turn, rank, c); },
          [&](const plan::ReduceLaunch& r) { return reduce_turn(context, turn, rank, r); },
          [&](const plan::MoveLaunch& m) { return move_turn(context, turn, rank, m); },
      },
      context.bound.plan->launch(turn.launch).work);
}

}  // namespace coconet::simulate
