// SPDX-License-Identifier: Apache-2.0
// Messages, and the filter that spares ordinary lines the look at each of them.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "collectors/kernel_log/catalogue/form.h"
#include "collectors/kernel_log/catalogue/message.h"
#include "collectors/kernel_log/line/line.h"

namespace jetmem::kernel_log {

struct Match {
  const Message* message = nullptr;
  Piece piece;
  bool cut = false;  // the line ends before the message does
  explicit operator bool() const { return message != nullptr; }
};

class Catalogue {
 public:
  // The messages must outlive it, and every event that it decoded.
  explicit Catalogue(std::span<const Message> messages);

  // The message that the line is, with its fields in `event`; of several, the first that fits the
  // whole line, a generic one last; of a quiet line, none of the kernel's that are generic. Never
  // allocates.
  Match decode(std::string_view text, Voice voice, Event& event, bool quiet = false) const;
  // Each message that fits the line, for tests: there must not be two, generic ones aside.
  std::vector<Match> all(std::string_view text, Event& event) const;
  // The same without the filter, for tests: slower, never different.
  Match decode_unfiltered(std::string_view text, Voice voice, Event& event) const;

  // Whether a program's line may be a message: quick, and sometimes wrongly true.
  bool may_be_of_program(std::string_view text) const;

  std::span<const Message> messages() const { return messages_; }
  const Message* find(std::string_view id) const;

  static const Catalogue& shipped();

 private:
  static constexpr std::size_t kMaxCandidates = 64;
  // An anchor of a message: that of one of its forms, or of its hook. Known by two places in it.
  struct Anchor {
    std::uint32_t gram;   // four of its bytes
    std::uint16_t first;  // index of its entry for the first of the two places
    std::uint16_t next;   // index + 1 of the next anchor in the same bucket
    std::uint16_t message;
    std::uint8_t form;    // or which of the hook's
    std::uint8_t offset;  // of the four bytes in it
    std::uint8_t size;
    char last;  // byte: most lines with the four bytes lack it
  };
  // Indexes of anchors, in the order of messages and their forms.
  using Tried = std::span<const std::uint16_t>;
  std::string_view text_of(const Anchor& anchor) const;
  void fill_heads();
  // Those that stand in the text, each once.
  std::size_t candidates(std::string_view text, std::span<std::uint16_t> out) const;
  static bool is_believed(const Message& message, Voice voice);
  // Those of the message that the first is of.
  Tried of_one_message(Tried tried) const;
  Match try_message(Tried tried, std::string_view text, Event& event) const;
  Match first_of(Tried tried, std::string_view text, Voice voice, Event& event,
                 bool quiet = false) const;

  std::span<const Message> messages_;
  std::size_t size_ = 0;              // of anchors_, without the entries for the second places
  std::bitset<1 << 16> known_;        // hashes of the four bytes
  std::vector<std::uint16_t> heads_;  // index + 1 of an anchor, or 0
  std::vector<Anchor> anchors_;
};

// Where a line's message is looked for: the first's messages are tried before the second's.
struct Catalogues {
  const Catalogue* first = &Catalogue::shipped();
  const Catalogue* second = nullptr;  // a site's own
};

}  // namespace jetmem::kernel_log
