#pragma once

#include "bind/binder.h"

namespace scyper::query {

// While it lives, a query of WITH RECURSIVE is bound, and its own name is known to mean it.
class Binder::Recursion {
 public:
  Recursion(Binder* binder, const ast::CommonTable& table, RecursionPlace place, bool is_recursive = true)
      : binder_(is_recursive ? binder : nullptr) {
    if (binder_ == nullptr) return;
    common_tables_ = binder->common_tables_;
    binder->common_tables_[table.name] = {&table};
    binder->recursive_names_.push_back({&table, place});
  }
  ~Recursion() {
    if (binder_ == nullptr) return;
    binder_->recursive_names_.pop_back();
    binder_->common_tables_ = std::move(common_tables_);
  }
  Recursion(const Recursion&) = delete;
  Recursion& operator=(const Recursion&) = delete;

  void go_to(RecursionPlace place) { binder_->recursive_names_.back().place = place; }

 private:
  Binder* const binder_;
  CommonTables common_tables_;
};

// While it lives, a place is bound where the queries around it may not name themselves.
class Binder::RecursionAt {
 public:
  RecursionAt(Binder* binder, RecursionPlace place, bool applies = true)
      : binder_(binder), saved_(binder->recursive_names_) {
    if (!applies) return;
    for (RecursiveName& name : binder->recursive_names_)
      if (name.place < RecursionPlace::kNotUnion &&
          (place != RecursionPlace::kOuterJoin || name.place == RecursionPlace::kAllowed))
        name.place = place;
  }
  ~RecursionAt() { binder_->recursive_names_ = std::move(saved_); }
  RecursionAt(const RecursionAt&) = delete;
  RecursionAt& operator=(const RecursionAt&) = delete;

 private:
  Binder* const binder_;
  std::vector<RecursiveName> saved_;
};

}  // namespace scyper::query
