#include "app/cli/serve/request_gate.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "core/base/numbers.h"

namespace rematlas {
namespace {

using Query = std::map<std::string, std::string, std::less<>>;

struct ServedPath {
    std::string_view path, method;
    ServedCall call;
};

constexpr ServedPath served_paths[] = {
    {"/", "GET", ServedCall::page},
    {"/state", "GET", ServedCall::state},
    {"/schedule", "GET", ServedCall::schedule},
    {"/solve", "POST", ServedCall::solve},
    {"/sweep", "POST", ServedCall::sweep},
    {"/cancel", "POST", ServedCall::cancel},
};

char lower_letter(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_names(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower_letter(x) == lower_letter(y); });
}

std::vector<std::string_view> values_of(const RequestHead& head, std::string_view name) {
    std::vector<std::string_view> values;
    for (const auto& [key, value] : head.headers)
        if (equal_names(key, name)) values.push_back(value);
    return values;
}

/// Returns the value of a header that occurs exactly once; nullopt if it is missing or occurs several times.
std::optional<std::string_view> only_value(const RequestHead& head, std::string_view name) {
    const std::vector<std::string_view> values = values_of(head, name);
    return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

/// Says whether `host` is a name of this machine, with any port or none: behind `ssh -L` the port differs
/// from the server's.
bool names_this_machine(std::string_view host) {
    for (const std::string_view name : {"127.0.0.1", "localhost", "[::1]"}) {
        if (!equal_names(host.substr(0, name.size()), name)) continue;
        const std::string_view rest = host.substr(name.size());
        if (rest.empty()) return true;
        if (rest.front() != ':') continue;
        const auto port = number_from<std::uint64_t>(rest.substr(1));
        if (port && *port > 0 && *port < 65536) return true;
    }
    return false;
}

Query query_in(std::string_view text) {
    Query query;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const std::size_t equals = std::min(part.find('='), part.size());
        query.emplace(part.substr(0, equals), part.substr(std::min(part.size(), equals + 1)));
    }
    return query;
}

std::optional<RefusedRequest> refused_origin(const RequestHead& head, std::string_view host, bool is_page) {
    const RefusedRequest foreign{403, "This request comes from a page of another site."};
    const std::vector<std::string_view> origins = values_of(head, "Origin");
    for (const std::string_view origin : origins)
        if (!equal_names(origin, "http://" + std::string(host))) return foreign;
    // Other sites may link to the page, but only the page itself may make calls.
    for (const std::string_view site : values_of(head, "Sec-Fetch-Site"))
        if (!is_page && site != "same-origin") return foreign;
    return std::nullopt;
}

std::optional<RefusedRequest> refused_body(const RequestHead& head) {
    if (!values_of(head, "Transfer-Encoding").empty() || !values_of(head, "Content-Encoding").empty())
        return RefusedRequest{411, "A body has its plain length in Content-Length here."};
    const std::vector<std::string_view> lengths = values_of(head, "Content-Length");
    const bool posts = head.method == "POST";
    if (lengths.empty() && !posts) return std::nullopt;
    const auto length = lengths.size() == 1 ? number_from<std::uint64_t>(lengths.front()) : std::nullopt;
    if (!length) return RefusedRequest{411, "Content-Length must be there once, as a number of bytes."};
    if (*length > (posts ? RequestGate::longest_body : 0))
        return RefusedRequest{413, "The body is too long: " + std::to_string(RequestGate::longest_body) +
                                       " bytes are enough for every question."};
    const auto type = only_value(head, "Content-Type");
    if (posts && !(type && equal_names(type->substr(0, type->find(';')), "application/json")))
        return RefusedRequest{415, "A question is JSON, with Content-Type: application/json."};
    return std::nullopt;
}

}  // namespace

std::string new_token() {
    if (sodium_init() < 0) std::abort();  // there is no random source
    std::array<unsigned char, 32> bytes;
    randombytes_buf(bytes.data(), bytes.size());
    std::string token(2 * bytes.size() + 1, '\0');
    sodium_bin2hex(token.data(), token.size(), bytes.data(), bytes.size());
    token.pop_back();
    return token;
}

bool RequestGate::is_token(std::string_view text) const {
    return text.size() == token_.size() && sodium_memcmp(text.data(), token_.data(), token_.size()) == 0;
}

std::variant<AdmittedRequest, RefusedRequest> RequestGate::admit(const RequestHead& head) const {
    if (head.target.size() > longest_target) return RefusedRequest{414, "The address is too long."};
    if (head.method != "GET" && head.method != "POST")
        return RefusedRequest{405, "Only GET and POST are known here."};
    const auto host = only_value(head, "Host");
    if (!host || !names_this_machine(*host))
        return RefusedRequest{403, "This server is reached as 127.0.0.1 or localhost alone."};
    const std::string_view target = head.target;
    const std::string_view path = target.substr(0, target.find('?'));
    const bool is_page = path == "/";
    if (auto refused = refused_origin(head, *host, is_page)) return *refused;

    Query query = query_in(target.substr(std::min(target.size(), path.size() + 1)));
    constexpr std::string_view bearer = "Bearer ";
    const auto authorization = only_value(head, "Authorization");
    const bool has_bearer = authorization && authorization->starts_with(bearer);
    const bool is_known =
        is_page ? is_token(query["token"]) : has_bearer && is_token(authorization->substr(bearer.size()));
    if (!is_known)
        return RefusedRequest{
            401, "The token is missing or wrong. Open the whole address that rematlas serve printed."};

    bool path_exists = false;
    for (const ServedPath& served : served_paths) {
        path_exists = path_exists || served.path == path;
        if (served.path != path || served.method != head.method) continue;
        if (auto refused = refused_body(head)) return *refused;
        return AdmittedRequest{served.call, std::move(query)};
    }
    if (path_exists) return RefusedRequest{405, "This path takes another method."};
    return RefusedRequest{404, "There is no such path here."};
}

}  // namespace rematlas
