// SPDX-License-Identifier: Apache-2.0
#include "cli/client/daemon_client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "base/text/text.h"
#include "base/unique_fd.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxReply = 4U << 20;

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
std::string file_problem(std::string_view option, const std::string& file, const char* logged) {
  std::string out(option);
  out.append(" ").append(printable(file, 300)).append(" cannot be used");
  if (logged[0] != '\0') out.append(": ").append(printable(logged, 200));
  return out;
}

// One question, and what libcurl says beside its code.
class Question {
 public:
  Question(CURL* curl, const DaemonAddress& location, const std::string& path,
           milliseconds deadline)
      : curl_(curl), location_(location), url_(location.base + path), deadline_(deadline) {
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_ERRORBUFFER, curl_error_.data());
    if (!location.socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, location.socket.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
    set(CURLOPT_PROTOCOLS_STR, location.is_https() ? "https" : "http");
#else
    set(CURLOPT_PROTOCOLS,
        static_cast<long>(location.is_https() ? CURLPROTO_HTTPS : CURLPROTO_HTTP));
#endif
    // Not where the environment's http_proxy says.
    set(CURLOPT_NOPROXY, "*");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(deadline.count()));
    set(CURLOPT_WRITEFUNCTION, take);
    set(CURLOPT_WRITEDATA, &body_);
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!location.ca_file.empty()) set(CURLOPT_CAINFO, location.ca_file.c_str());
    if (!location.certificate_file.empty()) {
      set(CURLOPT_SSLCERT, location.certificate_file.c_str());
      set(CURLOPT_SSLKEY, location.key_file.c_str());
    }
    if (!location.user.empty()) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
      set(CURLOPT_USERNAME, location.user.c_str());
      set(CURLOPT_PASSWORD, location.password.c_str());
    }
  }

  Result<Body> ask() {
    const auto end = steady_clock::now() + deadline_;
    CURLcode code = curl_easy_perform(curl_);
    long os_error = last_os_error();
    // Somebody connects all the time: the queue has room again in a moment.
    while (is_queue_full(code, os_error)) {
      // Nor has libcurl an errno of the socket that it could not make.
      if (!UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)).valid()) {
        return fail(Errc::kInvalid, std::string("jetmem cannot make a socket: ") +
                                        std::strerror(errno) + "; see ulimit -n");
      }
      const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
      if (left <= kQueuePause) {
        return fail(Errc::kTimeout, "its queue of connections was full for " +
                                        std::to_string(deadline_.count()) + " ms");
      }
      std::this_thread::sleep_for(kQueuePause);
      set(CURLOPT_TIMEOUT_MS, static_cast<long>((left - kQueuePause).count()));
      code = curl_easy_perform(curl_);
      os_error = last_os_error();
    }
    if (code == CURLE_OK) return std::move(body_);
    if (code == CURLE_COULDNT_CONNECT && os_error == EACCES) {
      return fail(Errc::kDenied, "permission denied");
    }
    return tl::unexpected(problem(code, static_cast<int>(os_error)));
  }

 private:
  static constexpr milliseconds kQueuePause{10};

  long last_os_error() const {
    long out = 0;
    curl_easy_getinfo(curl_, CURLINFO_OS_ERRNO, &out);
    return out;
  }

  // Of a Unix socket: libcurl takes the kernel's EAGAIN for a connection that is being made, and
  // then finds none.
  bool is_queue_full(CURLcode code, long os_error) const {
    return !location_.socket.empty() && code == CURLE_COULDNT_CONNECT &&
           (os_error == 0 || os_error == EAGAIN);
  }

  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(curl_, option, value);
  }

  Error problem(CURLcode code, int os_error) const {
    if (body_.too_long) {
      return {Errc::kTooLarge, "its answer exceeds 4 MiB; is another program listening there?"};
    }
    const std::string logged = printable(curl_error_.data(), 300);
    switch (code) {
      case CURLE_OPERATION_TIMEDOUT:
        return {Errc::kTimeout, "no answer within " + std::to_string(deadline_.count()) + " ms"};
      case CURLE_COULDNT_CONNECT:
        return {Errc::kUnavailable, os_error == 0 ? std::string("no answer")
                                                  : std::generic_category().message(os_error)};
      case CURLE_COULDNT_RESOLVE_HOST:
        return {Errc::kIo, "its name cannot be resolved"};
      // What it takes for HTTP/0.9 is anything.
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_WEIRD_SERVER_REPLY:
        return {Errc::kMalformed,
                "the answer is not HTTP; is another program listening there?" + tls_hint()};
      case CURLE_GOT_NOTHING:
        return {Errc::kMalformed,
                "connection closed without an answer; is another program listening there?" +
                    tls_hint()};
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
        return {Errc::kMalformed,
                "connection closed" + (location_.is_https() ? ": " + logged + certificate_hint()
                                                            : std::string(";") + tls_hint())};
      case CURLE_PEER_FAILED_VERIFICATION:
        return {Errc::kDenied,
                "its certificate is not trusted: " + logged +
                    "; name the CA that signed it with --cacert, and the daemon by a name that "
                    "its certificate has"};
      case CURLE_SSL_CACERT_BADFILE:
        return {Errc::kNotRegular, file_problem("--cacert", location_.ca_file, curl_error_.data())};
      case CURLE_SSL_CERTPROBLEM:
        return {Errc::kNotRegular,
                file_problem("--cert", location_.certificate_file, curl_error_.data())};
      case CURLE_SSL_CONNECT_ERROR:
        return {Errc::kDenied, "TLS handshake failed: " + logged +
                                   "; if it speaks plain HTTP, write "
                                   "--daemon http://..." +
                                   certificate_hint()};
      default:
        return {Errc::kIo, logged.empty() ? curl_easy_strerror(code) : logged};
    }
  }

  std::string tls_hint() const {
    return location_.is_https() || !location_.socket.empty()
               ? std::string()
               : " If it speaks TLS, write --daemon https://HOST:PORT";
  }
  std::string certificate_hint() const {
    return location_.certificate_file.empty()
               ? "; if it requires a client certificate, give --cert and --key"
               : "; it may not accept this client's certificate";
  }

  CURL* curl_;
  const DaemonAddress& location_;
  const std::string url_;
  const milliseconds deadline_;
  Body body_;
  std::array<char, CURL_ERROR_SIZE> curl_error_{};
};

// Its error message: {"error", "fix"}, or a line of text.
Error refusal(long status, std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  std::string logged = printable(trim(body), 300);
  const auto text = [&](const char* key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    return json.is_object() && found != json.end() && found->is_string()
               ? printable(found->get_ref<const std::string&>(), 300)
               : std::string();
  };
  if (const std::string error = text("error"); !error.empty()) {
    logged = error;
    // What to write in a URL is no help to who typed a command.
    const std::string fix = text("fix");
    if (!fix.empty() && !contains(fix, "/api/")) logged += " (" + fix + ")";
  }
  Errc code = Errc::kIo;
  if (status == 400) code = text("code") == "unknown_metric" ? Errc::kAbsent : Errc::kInvalid;
  return {code, "it answers " + std::to_string(status) + ": " + logged};
}

Result<std::string> get(const DaemonAddress& location, const std::string& path,
                        milliseconds deadline) {
  const Curl curl(curl_easy_init());
  if (!curl) return fail(Errc::kIo, "libcurl could not be initialised");
  auto body = Question(curl.get(), location, path, deadline).ask();
  if (!body) return tl::unexpected(std::move(body.error()));
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) return std::move(body->text);
  if (status == 401) {
    return fail(Errc::kDenied, location.user.empty()
                                   ? "it requires a user and password: --user and --password-file"
                                   : "user or password rejected");
  }
  if (status == 404) {
    return fail(Errc::kMalformed,
                "it answers 404: is it a jetmemd, and of the same version as jetmem?");
  }
  return tl::unexpected(refusal(status, body->text));
}

// Whatever came of it: there is no jetmemd to be used.
Errc not_usable(Errc code) {
  switch (code) {
    case Errc::kMalformed:
    case Errc::kTooLarge:
    case Errc::kIo:
      return Errc::kUnavailable;
    default:
      return code;
  }
}

// Who named an address queries a remote machine, and cannot see why nothing answers there.
std::string advice_for(const DaemonAddress& location) {
  if (!location.socket.empty()) {
    return "; is jetmemd running? See systemctl status jetmemd";
  }
  return "; on that machine check `systemctl status jetmemd`, http.listen (default: "
         "127.0.0.1:10743 only) and the firewall";
}

Result<DaemonReply> query_named(const DaemonAddress& location, const std::string& path,
                                milliseconds deadline) {
  auto body = get(location, path, deadline);
  if (body) return DaemonReply{location, std::move(*body)};
  Error& error = body.error();
  if (error.code == Errc::kUnavailable) {
    return fail(error.code, "no daemon answers at " + location.text() + ": " + error.message +
                                advice_for(location));
  }
  if (error.code == Errc::kTimeout) error.message += advice_for(location);
  error.code = not_usable(error.code);
  return tl::unexpected(std::move(error).within(location.text()));
}

}  // namespace

Result<DaemonReply> query_daemon(std::span<const DaemonAddress> locations, const std::string& path,
                                 milliseconds deadline, bool* is_silent) {
  const auto end = steady_clock::now() + deadline;
  if (locations.size() == 1 && locations.front().is_named) {
    return query_named(locations.front(), path, deadline);
  }
  std::string addresses;
  std::string problem;
  // The code of a single failure; with several there is no common one.
  Errc code = Errc::kIo;
  for (const DaemonAddress& location : locations) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left <= milliseconds(0)) break;
    auto body = get(location, path, left);
    if (body) return DaemonReply{location, std::move(*body)};
    if (body.error().code == Errc::kUnavailable) {
      addresses += (addresses.empty() ? "" : " or ") + location.text();
    } else {
      // Refused, or for want of a certificate's file not even asked: that is no silence.
      const Errc error = body.error().code;
      const bool has_asked =
          error != Errc::kDenied && error != Errc::kNotRegular && error != Errc::kInvalid;
      if (is_silent != nullptr && has_asked) *is_silent = true;
      code = problem.empty() ? body.error().code : Errc::kIo;
      problem += (problem.empty() ? "" : "; ") + location.text() + ": " + body.error().message;
    }
  }
  if (!problem.empty()) return fail(not_usable(code), std::move(problem));
  return fail(Errc::kUnavailable, "no daemon answers at " + addresses +
                                      ": is jetmemd running? See systemctl status jetmemd");
}

}  // namespace jetmem
