// Everything a generated module is made of.
#pragma once

#include "coconet/kernel/call.h"
#include "coconet/kernel/cpu/chunks.h"
#include "coconet/kernel/cpu/conv2d.h"
#include "coconet/kernel/cpu/list.h"
#include "coconet/kernel/cpu/matmul.h"
#include "coconet/kernel/cpu/move.h"
#include "coconet/kernel/cpu/ranks.h"
#include "coconet/kernel/cpu/reduce.h"
#include "coconet/kernel/cpu/space.h"
#include "coconet/kernel/cpu/threads.h"
#include "coconet/kernel/cpu/tile.h"
#include "coconet/kernel/dropout.h"
#include "coconet/kernel/operators.h"

// Leaves the calling function with the status if it is not kOk.
#define COCONET_TRY(expression)                             \
  do {                                                      \
    const ::coconet::kernel::Status status_ = (expression); \
    if (status_ != ::coconet::kernel::kOk) return status_;  \
  } while (false)
