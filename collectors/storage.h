// SPDX-License-Identifier: Apache-2.0
// Lists for parsers of large or frequent tables, which keep their storage from reading to reading.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace jetmem {

// At most `N` items, on the stack.
template <class Item, std::size_t N>
class BoundedList {
 public:
  bool full() const { return size_ == N; }
  // A new item at the end; only while not full.
  Item& add() { return items_[size_++] = Item{}; }
  // The item whose `key` has this value, made if need be; null at the bound. Items are asked for in
  // runs.
  template <class Key, class Value>
  Item* find_or_add(Key Item::*key, const Value& value) {
    for (std::size_t i = size_; i-- > 0;) {
      if (items_[i].*key == value) return &items_[i];
    }
    if (full()) return nullptr;
    Item& item = add();
    item.*key = value;
    return &item;
  }
  template <class Key>
  void sort_by(Key Item::*key) {
    std::sort(begin(), end(), [&](const Item& a, const Item& b) { return a.*key < b.*key; });
  }

  Item* begin() { return items_.data(); }
  Item* end() { return items_.data() + size_; }
  const Item* begin() const { return items_.data(); }
  const Item* end() const { return items_.data() + size_; }

 private:
  std::array<Item, N> items_{};
  std::size_t size_ = 0;
};

// Makes `item` as a new one. The members named (strings, lists) are emptied and keep their storage.
template <class Item, class... Members>
void reset_keeping(Item& item, Members Item::*... kept) {
  Item fresh;
  ((fresh.*kept = std::move(item.*kept), (fresh.*kept).clear()), ...);
  item = std::move(fresh);
}

// Fills a vector from its front again. An item that was there keeps its storage (a string's, a
// vector's) and nothing else: its clear() leaves it as a new one.
template <class Item>
class Refill {
 public:
  explicit Refill(std::vector<Item>& items) : items_(items) {}
  Refill(const Refill&) = delete;
  Refill& operator=(const Refill&) = delete;
  // Items of the reading before that were not filled again go.
  ~Refill() { items_.resize(count_); }

  // Of what was filled so far.
  std::size_t size() const { return count_; }
  // The item whose `key` has this value; null.
  template <class Key, class Value>
  Item* find(Key Item::*key, const Value& value) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (items_[i].*key == value) return &items_[i];
    }
    return nullptr;
  }

  Item& add() {
    if (count_ == items_.size()) items_.emplace_back();
    Item& item = items_[count_++];
    item.clear();
    return item;
  }

 private:
  std::vector<Item>& items_;
  std::size_t count_ = 0;
};

// The first of `items` whose key an earlier one has too.
template <class Items, class Key>
std::optional<std::size_t> find_twin(const Items& items, Key key) {
  for (std::size_t i = 1; i < items.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (std::invoke(key, items[i]) == std::invoke(key, items[j])) return i;
    }
  }
  return std::nullopt;
}

}  // namespace jetmem
