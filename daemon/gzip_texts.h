// Answers of the API, compressed for those who take it: JSON shrinks to a tenth, and the page is
// looked at over slow links.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace jetmem {

class GzipTexts {
 public:
  // Shorter ones gain nothing; for longer ones the web thread has no time.
  static constexpr std::size_t kLeast = 1'024;
  static constexpr std::size_t kMost = 1U << 20;

  // Compressed once for as long as the text is there, however many ask for it. Null: outside of
  // these sizes, or no memory.
  std::shared_ptr<const std::string> of(const std::shared_ptr<const std::string>& text);

 private:
  struct Kept {
    std::weak_ptr<const std::string> text;
    std::shared_ptr<const std::string> gzip;
  };
  std::array<Kept, 8> kept_;
  std::size_t next_ = 0;
};

// The text in one gzip member, `size` bytes long. Nothing: no memory, or it is no such member.
std::optional<std::string> gunzip(std::string_view gzip, std::size_t size);

}  // namespace jetmem
