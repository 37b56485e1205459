#pragma once

#include "storage/type.h"

// The polymorphic types of routines' parameters and results, as types that no value has: anyelement is kUnknown,
// anyarray an array of it, and the others are told apart by SqlType::length.
namespace scyper::query {

constexpr int32_t kAnyRangeMark = 1, kAnyMultirangeMark = 2;

constexpr SqlType any_element() { return make_type(TypeId::kUnknown); }
constexpr SqlType any_array() { return make_array(any_element()); }
constexpr SqlType any_range() { return make_string(TypeId::kUnknown, kAnyRangeMark); }
constexpr SqlType any_multirange() { return make_string(TypeId::kUnknown, kAnyMultirangeMark); }

constexpr bool is_any_range(const SqlType& type) { return type.id == TypeId::kUnknown && type.length == kAnyRangeMark; }
constexpr bool is_any_multirange(const SqlType& type) {
  return type.id == TypeId::kUnknown && type.length == kAnyMultirangeMark;
}
constexpr bool is_any_array(const SqlType& type) {
  return type.id == TypeId::kArray && type.element == TypeId::kUnknown;
}
constexpr bool is_polymorphic(const SqlType& type) { return type.id == TypeId::kUnknown || is_any_array(type); }
constexpr const char* polymorphic_name(const SqlType& type) {
  return is_any_array(type)        ? "anyarray"
         : is_any_range(type)      ? "anyrange"
         : is_any_multirange(type) ? "anymultirange"
                                   : "anyelement";
}

}  // namespace scyper::query
