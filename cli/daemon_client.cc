#include "cli/daemon_client.h"

#include <curl/curl.h>

#include <array>
#include <cerrno>
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

// The name that the person gave a file, in front of what libcurl says of it.
std::string file_trouble(std::string_view option, const std::string& file, const char* said) {
  std::string out(option);
  out.append(" ").append(printable(file, 300)).append(" cannot be used");
  if (said[0] != '\0') out.append(": ").append(printable(said, 200));
  return out;
}

// One question, and what libcurl says beside its code.
class Question {
 public:
  Question(CURL* curl, const DaemonPlace& place, const std::string& path, milliseconds deadline)
      : curl_(curl), place_(place), url_(place.base + path), deadline_(deadline) {
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_ERRORBUFFER, said_.data());
    if (!place.socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, place.socket.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
    set(CURLOPT_PROTOCOLS_STR, place.is_https() ? "https" : "http");
#else
    set(CURLOPT_PROTOCOLS, static_cast<long>(place.is_https() ? CURLPROTO_HTTPS : CURLPROTO_HTTP));
#endif
    // Not where the environment's http_proxy says.
    set(CURLOPT_NOPROXY, "*");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(deadline.count()));
    set(CURLOPT_WRITEFUNCTION, take);
    set(CURLOPT_WRITEDATA, &body_);
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!place.ca_file.empty()) set(CURLOPT_CAINFO, place.ca_file.c_str());
    if (!place.certificate_file.empty()) {
      set(CURLOPT_SSLCERT, place.certificate_file.c_str());
      set(CURLOPT_SSLKEY, place.key_file.c_str());
    }
    if (!place.user.empty()) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
      set(CURLOPT_USERNAME, place.user.c_str());
      set(CURLOPT_PASSWORD, place.password.c_str());
    }
  }

  Result<Body> ask() {
    const CURLcode code = curl_easy_perform(curl_);
    if (code == CURLE_OK) return std::move(body_);
    long os_error = 0;
    curl_easy_getinfo(curl_, CURLINFO_OS_ERRNO, &os_error);
    if (code == CURLE_COULDNT_CONNECT && os_error == EACCES) {
      return fail(Errc::kDenied, "permission denied");
    }
    return tl::unexpected(trouble(code));
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(curl_, option, value);
  }

  Error trouble(CURLcode code) const {
    if (body_.too_long) {
      return {Errc::kTooLarge,
              "its answer is longer than 4 MiB; is another program listening there?"};
    }
    const std::string said = printable(said_.data(), 300);
    switch (code) {
      case CURLE_OPERATION_TIMEDOUT:
        return {Errc::kTimeout, "no answer within " + std::to_string(deadline_.count()) + " ms"};
      case CURLE_COULDNT_CONNECT:
        return {Errc::kUnavailable, "nobody answers"};
      case CURLE_COULDNT_RESOLVE_HOST:
        return {Errc::kIo, "its name cannot be resolved"};
      // What it takes for HTTP/0.9 is anything.
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_WEIRD_SERVER_REPLY:
        return {Errc::kMalformed,
                "what answers is not HTTP; is another program listening there?" + tls_hint()};
      case CURLE_GOT_NOTHING:
        return {Errc::kMalformed,
                "it hung up without an answer; is another program listening there?" + tls_hint()};
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
        return {Errc::kMalformed,
                "it hung up" + (place_.is_https() ? ": " + said + certificate_hint()
                                                  : std::string(";") + tls_hint())};
      case CURLE_PEER_FAILED_VERIFICATION:
        return {Errc::kDenied,
                "its certificate is not trusted: " + said +
                    "; name the CA that signed it with --cacert, and the daemon by a name that "
                    "its certificate has"};
      case CURLE_SSL_CACERT_BADFILE:
        return {Errc::kInvalid, file_trouble("--cacert", place_.ca_file, said_.data())};
      case CURLE_SSL_CERTPROBLEM:
        return {Errc::kInvalid, file_trouble("--cert", place_.certificate_file, said_.data())};
      case CURLE_SSL_CONNECT_ERROR:
        return {Errc::kDenied, "no TLS comes about: " + said +
                                   "; if it speaks plain HTTP, write "
                                   "--daemon http://..." +
                                   certificate_hint()};
      default:
        return {Errc::kIo, said.empty() ? curl_easy_strerror(code) : said};
    }
  }

  std::string tls_hint() const {
    return place_.is_https() || !place_.socket.empty()
               ? std::string()
               : " If it speaks TLS, write --daemon https://HOST:PORT";
  }
  std::string certificate_hint() const {
    return place_.certificate_file.empty()
               ? "; if it wants a client's certificate, name one with --cert and --key"
               : "; it may not accept this client's certificate";
  }

  CURL* curl_;
  const DaemonPlace& place_;
  const std::string url_;
  const milliseconds deadline_;
  Body body_;
  std::array<char, CURL_ERROR_SIZE> said_{};
};

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

Result<std::string> get(const DaemonPlace& place, const std::string& path, milliseconds deadline) {
  const Curl curl(curl_easy_init());
  if (!curl) return fail(Errc::kIo, "libcurl could not be set up");
  auto body = Question(curl.get(), place, path, deadline).ask();
  if (!body) return tl::unexpected(std::move(body.error()));
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) return std::move(body->text);
  if (status == 401) {
    return fail(Errc::kDenied,
                place.user.empty()
                    ? "it wants a user and password; name them with --user and --password-file"
                    : "it does not accept this user and password");
  }
  if (status == 404) {
    return fail(Errc::kMalformed, "it has no " + path.substr(0, path.find('?')) +
                                      "; is it a jetmemd, and of the same version as jetmem?");
  }
  return tl::unexpected(refusal(status, body->text));
}

}  // namespace

Result<DaemonReply> ask_daemon(std::span<const DaemonPlace> places, const std::string& path,
                               milliseconds deadline) {
  const auto end = steady_clock::now() + deadline;
  std::string nobody;
  std::string trouble;
  // Of the one that had trouble; of several, each with its own, nothing in particular.
  Errc code = Errc::kIo;
  for (const DaemonPlace& place : places) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left <= milliseconds(0)) break;
    auto body = get(place, path, left);
    if (body) return DaemonReply{place, std::move(*body)};
    if (body.error().code == Errc::kUnavailable) {
      nobody += (nobody.empty() ? "" : " or ") + place.text();
    } else {
      code = trouble.empty() ? body.error().code : Errc::kIo;
      trouble += (trouble.empty() ? "" : "; ") + place.text() + ": " + body.error().message;
    }
  }
  if (!trouble.empty()) return fail(code, std::move(trouble));
  return fail(Errc::kUnavailable, "no daemon answers at " + nobody +
                                      ": is jetmemd running? See systemctl status jetmemd");
}

}  // namespace jetmem
