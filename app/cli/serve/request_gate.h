// Decides whether `rematlas serve` admits a request. Looks only at the head of the request, before its body
// is read.
//
// Every user of a machine, and every page that a browser shows, can reach a port of 127.0.0.1. So a request
// is admitted only under four conditions. It has the token that was printed. Its Host names this machine,
// because names of other sites could resolve to this address (DNS rebinding). Its Origin and Sec-Fetch-Site
// do not name another site. It asks for one of a few known paths with the method of that path. The gate
// decodes no percent-encoding, and no part of a request names a file.
//
//     RequestGate gate(new_token());
//     const auto answer = gate.admit({.method = "GET", .target = "/?token=...", .headers = ...});
//     if (const auto* refused = std::get_if<RefusedRequest>(&answer)) ...
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rematlas {

struct RequestHead {
    std::string method;
    std::string target;  ///< path and query as the client wrote them
    std::vector<std::pair<std::string, std::string>> headers;
};

enum class ServedCall { page, state, schedule, solve, sweep, cancel };

struct AdmittedRequest {
    ServedCall call;
    std::map<std::string, std::string, std::less<>> query;
};

struct RefusedRequest {
    int status;       ///< HTTP status
    std::string why;  ///< sentences that say what is wrong and what the client should do
};

/// Returns 256 bits of the system's random source as hexadecimal digits.
std::string new_token();

class RequestGate {
  public:
    static constexpr std::size_t longest_target = 1024, longest_body = 16 * 1024;

    explicit RequestGate(std::string token) : token_(std::move(token)) {}

    std::variant<AdmittedRequest, RefusedRequest> admit(const RequestHead& head) const;

  private:
    /// Says whether the text is the token. Compares texts of the token's length in constant time.
    bool is_token(std::string_view text) const;

    std::string token_;
};

}  // namespace rematlas
