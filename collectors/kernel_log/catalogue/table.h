// SPDX-License-Identifier: Apache-2.0
// What the tables of messages point with. A pointer in a table is filled in by the loader when a
// program starts, in memory of its own; a distance from the place where such tables begin is not,
// so that the 700 messages stay in the file's pages, which all programs share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace jetmem::kernel_log {

// The shipped T of all messages, one behind the other: generated from messages/*.yaml.
template <class T>
struct Shipped {
  static const T* const first;
};
template <>
const char* const Shipped<char>::first;

// Some of those, or of a user's own, which must outlive it.
template <class T>
class Slice {
 public:
  constexpr Slice() = default;
  constexpr Slice(std::uint32_t first, std::uint32_t size)
      : from_(static_cast<std::uintptr_t>(first) * sizeof(T)), size_(size) {}
  Slice(std::span<const T> own)  // NOLINT: as a span is made of a vector
      : from_(reinterpret_cast<std::uintptr_t>(own.data()) - origin()), size_(own.size()) {}

  const T* begin() const { return reinterpret_cast<const T*>(origin() + from_); }
  const T* end() const { return begin() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return begin()[i]; }

 private:
  static std::uintptr_t origin() { return reinterpret_cast<std::uintptr_t>(Shipped<T>::first); }

  std::uintptr_t from_ = 0;  // bytes from the first shipped one; before it, it wraps
  std::size_t size_ = 0;
};

class Text : public Slice<char> {
 public:
  using Slice::Slice;
  Text(std::string_view own) : Slice(std::span(own)) {}   // NOLINT: likewise
  Text(const char* own) : Text(std::string_view(own)) {}  // NOLINT: likewise

  std::string_view view() const { return {begin(), size()}; }
  operator std::string_view() const { return view(); }  // NOLINT
  friend bool operator==(const Text& one, std::string_view other) { return one.view() == other; }
  friend bool operator==(const Text& one, const Text& other) { return one.view() == other.view(); }
};

template <>
const Text* const Shipped<Text>::first;

}  // namespace jetmem::kernel_log
