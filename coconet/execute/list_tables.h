// What a call knows of the plan's lists (kernel::ListTable).
#pragma once

#include <list>
#include <span>
#include <vector>

#include "coconet/kernel/call.h"
#include "coconet/plan/plan.h"
#include "coconet/type/list.h"

namespace coconet::execute {

class ListTables {
 public:
  ListTables(const plan::Plan& plan, const Sizes& sizes) {
    for (const Dim& dim : plan.lists()) {
      const List& list = lists_.emplace_back(ListBlocks(dim.elements(), sizes));
      tables_.push_back({list.blocks.members(), list.blocks.blocks(), list.blocks.elements().data(),
                         list.blocks.first_block().data(), list.member_of.data()});
    }
  }
  ListTables(const ListTables&) = delete;
  ListTables& operator=(const ListTables&) = delete;

  std::span<const kernel::ListTable> tables() const { return tables_; }

 private:
  // What a ListTable points into.
  struct List {
    explicit List(const ListBlocks& from) : blocks(from) {
      for (std::int64_t member = 0; member < blocks.members(); ++member) {
        member_of.resize(blocks.first_block()[member + 1], member);
      }
    }
    ListBlocks blocks;
    std::vector<std::int64_t> member_of;
  };

  std::list<List> lists_;
  std::vector<kernel::ListTable> tables_;
};

}  // namespace coconet::execute
