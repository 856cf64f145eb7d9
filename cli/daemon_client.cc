#include "cli/daemon_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Free {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
using Curl = std::unique_ptr<CURL, Free>;

struct Body {
  std::string text;
  bool too_long = false;
};

std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
  auto* body = static_cast<Body*>(to);
  if (body->text.size() + size * count > kMaxReply) {
    body->too_long = true;
    return 0;
  }
  body->text.append(data, size * count);
  return size * count;
}

// Who listens on every address is asked on this machine's own.
std::string host_of(const ListenAddress& address) {
  if (address.family == ListenAddress::Family::kUnix) return "localhost";
  if (address.family == ListenAddress::Family::kIpv4) {
    return (address.host == "0.0.0.0" ? "127.0.0.1" : address.host) + ":" +
           std::to_string(address.port);
  }
  return "[" + (address.host == "::" ? "::1" : address.host) + "]:" + std::to_string(address.port);
}

void set_up(CURL* curl, const ListenAddress& address, const std::string& url, Body& body,
            milliseconds deadline) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  if (address.family == ListenAddress::Family::kUnix) {
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, address.host.c_str());
  }
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP));
#endif
  // Not where the environment's http_proxy says.
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(deadline.count()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
}

Error trouble_of(CURLcode code, const Body& body, milliseconds deadline) {
  if (body.too_long) {
    return {Errc::kTooLarge,
            "its answer is longer than 4 MiB; is another program listening there?"};
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return {Errc::kTimeout, "no answer within " + std::to_string(deadline.count()) + " ms"};
  }
  if (code == CURLE_COULDNT_CONNECT) return {Errc::kUnavailable, "nobody answers"};
  // What it takes for HTTP/0.9 is anything.
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY) {
    return {Errc::kMalformed, "what answers is not HTTP; is another program listening there?"};
  }
  if (code == CURLE_GOT_NOTHING) {
    return {Errc::kMalformed, "it hung up without an answer; is another program listening there?"};
  }
  return {Errc::kIo, curl_easy_strerror(code)};
}

// What it says of why there is no answer: {"error", "fix"}, or a line of text.
Error refusal(long status, std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  std::string said = printable(trim(body), 300);
  const auto text = [&](const char* key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    return json.is_object() && found != json.end() && found->is_string()
               ? printable(found->get_ref<const std::string&>(), 300)
               : std::string();
  };
  if (const std::string error = text("error"); !error.empty()) {
    said = error;
    if (const std::string fix = text("fix"); !fix.empty()) said += " (" + fix + ")";
  }
  Errc code = Errc::kIo;
  if (status == 400) code = text("code") == "unknown_metric" ? Errc::kAbsent : Errc::kInvalid;
  return {code, "it answers " + std::to_string(status) + ": " + said};
}

Result<std::string> get(const ListenAddress& address, const std::string& path,
                        milliseconds deadline) {
  const Curl curl(curl_easy_init());
  if (!curl) return fail(Errc::kIo, "libcurl could not be set up");
  const std::string url = "http://" + host_of(address) + path;
  Body body;
  set_up(curl.get(), address, url, body, deadline);
  const CURLcode code = curl_easy_perform(curl.get());
  if (code != CURLE_OK) {
    Error error = trouble_of(code, body, deadline);
    long os_error = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_OS_ERRNO, &os_error);
    if (error.code == Errc::kUnavailable && os_error == EACCES) {
      error = {Errc::kDenied, "permission denied"};
    }
    return tl::unexpected(std::move(error));
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) return std::move(body.text);
  if (status == 404) {
    return fail(Errc::kMalformed, "it has no " + path.substr(0, path.find('?')) +
                                      "; is it a jetmemd, and of the same version as jetmem?");
  }
  return tl::unexpected(refusal(status, body.text));
}

}  // namespace

std::vector<ListenAddress> daemon_addresses(std::span<const ListenAddress> listen) {
  std::vector<ListenAddress> out{{ListenAddress::Family::kUnix, kApiSocket, 0}};
  for (const ListenAddress& address : listen) {
    // Port 0 is any, and which one only the daemon knows.
    const bool is_known = address.family == ListenAddress::Family::kUnix || address.port != 0;
    if (is_known && std::find(out.begin(), out.end(), address) == out.end()) out.push_back(address);
  }
  return out;
}

Result<DaemonReply> ask_daemon(std::span<const ListenAddress> addresses, const std::string& path,
                               milliseconds deadline) {
  const auto end = steady_clock::now() + deadline;
  std::string nobody;
  std::string trouble;
  // Of the one that had trouble; of several, each with its own, nothing in particular.
  Errc code = Errc::kIo;
  for (const ListenAddress& address : addresses) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left <= milliseconds(0)) break;
    auto body = get(address, path, left);
    if (body) return DaemonReply{address, std::move(*body)};
    if (body.error().code == Errc::kUnavailable) {
      nobody += (nobody.empty() ? "" : " or ") + address.text();
    } else {
      code = trouble.empty() ? body.error().code : Errc::kIo;
      trouble += (trouble.empty() ? "" : "; ") + address.text() + ": " + body.error().message;
    }
  }
  if (!trouble.empty()) return fail(code, std::move(trouble));
  return fail(Errc::kUnavailable, "no daemon answers at " + nobody +
                                      ": is jetmemd running? See systemctl status jetmemd");
}

}  // namespace jetmem
