#include "daemon/metrics_body.h"

namespace jetmem {
namespace {

// Stands for "no page": rounds begin at 1.
std::uint64_t round_of(const Page* page) { return page == nullptr ? 0 : page->round; }

}  // namespace

std::string& MetricsBody::Text::open(bool keep_head) {
  if (text.use_count() > 1) {
    text = keep_head ? std::make_shared<std::string>(*text, 0, head_size)
                     : std::make_shared<std::string>();
  } else {
    text->resize(keep_head ? head_size : 0);
  }
  return *text;
}

MetricsBody::Body MetricsBody::plain(const Page* page, std::string_view tail) {
  const std::uint64_t round = round_of(page);
  std::string& out = plain_.open(plain_.round == round);
  if (plain_.round != round) {
    if (page != nullptr) render_text(*page, out);
    plain_.head_size = out.size();
    plain_.round = round;
  }
  out.append(tail);
  return plain_.text;
}

MetricsBody::Body MetricsBody::gzip(const Page* page, std::string_view tail) {
  // Its 270 kB are for those who use them.
  if (!halves_) halves_ = std::make_unique<GzipHalves>();
  if (!halves_->usable()) return nullptr;
  const std::uint64_t round = round_of(page);
  std::string& out = gzip_.open(gzip_.round == round);
  if (gzip_.round != round) {
    scratch_.clear();
    if (page != nullptr) render_text(*page, scratch_);
    halves_->set_head(scratch_, out);
    gzip_.head_size = out.size();
    gzip_.round = round;
  }
  halves_->append_tail(tail, out);
  return gzip_.text;
}

}  // namespace jetmem
