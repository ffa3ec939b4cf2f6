// Turns of matrix products and of reductions over any dims: a step is a row's worth of results.
#pragma once

#include "coconet/plan/visit.h"
#include "coconet/simulate/turn_work.h"

namespace coconet::simulate {

std::unique_ptr<TurnWork> matmul_turn(const Context& context, const plan::Turn& turn, int rank,
                                      const plan::MatmulLaunch& launch);
std::unique_ptr<TurnWork> conv2d_turn(const Context& context, const plan::Turn& turn, int rank,
                                      const plan::Conv2dLaunch& launch);
std::unique_ptr<TurnWork> reduce_turn(const Context& context, const plan::Turn& turn, int rank,
                                      const plan::ReduceLaunch& launch);
std::unique_ptr<TurnWork> move_turn(const Context& context, const plan::Turn& turn, int rank,
                                    const plan::MoveLaunch& launch);

}  // namespace coconet::simulate
