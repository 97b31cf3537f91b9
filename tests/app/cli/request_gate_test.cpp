// Tests which requests `rematlas serve` admits. Only the head of a request decides.
#include "app/cli/serve/request_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace rematlas {

std::ostream& operator<<(std::ostream& out, const RequestHead& head) {
    out << head.method << ' ' << head.target;
    for (const auto& [name, value] : head.headers) out << "\n  " << name << ": " << value;
    return out;
}

namespace {

const std::string token(64, 'a');

class Gate : public testing::Test {
  protected:
    static RequestHead page() {
        return {.method = "GET", .target = "/?token=" + token, .headers = {{"Host", "127.0.0.1:8000"}}};
    }
    static RequestHead state() {
        return {.method = "GET",
                .target = "/state?since=3",
                .headers = {{"Host", "127.0.0.1:8000"}, {"Authorization", "Bearer " + token}}};
    }
    static RequestHead solve() {
        RequestHead head = state();
        head.method = "POST";
        head.target = "/solve";
        head.headers.insert(head.headers.end(),
                            {{"Content-Type", "application/json"}, {"Content-Length", "16"}});
        return head;
    }
    static RequestHead with(RequestHead head, const std::string& name, const std::string& value) {
        head.headers.emplace_back(name, value);
        return head;
    }
    static RequestHead without(RequestHead head, const std::string& name) {
        std::erase_if(head.headers, [&](const auto& header) { return header.first == name; });
        return head;
    }
    static RequestHead having(RequestHead head, const std::string& name, const std::string& value) {
        return with(without(std::move(head), name), name, value);
    }
    static RequestHead at(RequestHead head, const std::string& target) {
        head.target = target;
        return head;
    }

    /// Returns the status of the refusal, or 0 if the request is admitted.
    int status(const RequestHead& head) const {
        const auto answer = gate_.admit(head);
        const auto* refused = std::get_if<RefusedRequest>(&answer);
        return refused ? refused->status : 0;
    }
    ServedCall call(const RequestHead& head) const {
        const auto answer = gate_.admit(head);
        EXPECT_TRUE(std::holds_alternative<AdmittedRequest>(answer)) << head;
        return std::get<AdmittedRequest>(answer).call;
    }

    const RequestGate gate_{token};
};

TEST_F(Gate, lets_in_what_the_page_asks) {
    EXPECT_EQ(call(page()), ServedCall::page);
    EXPECT_EQ(call(state()), ServedCall::state);
    EXPECT_EQ(call(at(state(), "/schedule?plan=2")), ServedCall::schedule);
    EXPECT_EQ(call(solve()), ServedCall::solve);
    EXPECT_EQ(call(at(solve(), "/sweep")), ServedCall::sweep);
    EXPECT_EQ(call(at(solve(), "/cancel")), ServedCall::cancel);
    const auto answer = gate_.admit(at(state(), "/state?since=3&a=&b&=c"));
    EXPECT_EQ(std::get<AdmittedRequest>(answer).query.at("since"), "3");
}

TEST_F(Gate, tokens_have_256_bits_and_are_never_the_same) {
    std::set<std::string> tokens;
    for (int i = 0; i < 100; ++i) tokens.insert(new_token());
    EXPECT_EQ(tokens.size(), 100u);
    for (const std::string& one : tokens) {
        EXPECT_EQ(one.size(), 64u);
        EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
    }
}

TEST_F(Gate, nothing_is_there_without_the_token) {
    for (const char* query : {"", "?", "?token=", "?token", "?token=b", "?Token=", "?token=%61"})
        EXPECT_EQ(status(at(page(), std::string("/") + query)), 401) << query;
    EXPECT_EQ(status(at(page(), "/?token=" + token + "a")), 401);
    EXPECT_EQ(status(at(page(), "/?token=" + token.substr(1))), 401);
    EXPECT_EQ(status(at(page(), "/?token=" + token.substr(1) + "b")), 401);
    EXPECT_EQ(status(at(page(), "/?token=b&token=" + token)), 401);
    for (const char* value : {"", "Bearer", "Bearer ", "bearer x", "Basic ", "Bearer a"})
        EXPECT_EQ(status(having(state(), "Authorization", value)), 401) << value;
    EXPECT_EQ(status(having(state(), "Authorization", token)), 401);
    EXPECT_EQ(status(having(state(), "Authorization", "Basic " + token)), 401);
    EXPECT_EQ(status(having(state(), "Authorization", "Bearer " + token + " ")), 401);
    EXPECT_EQ(status(with(state(), "Authorization", "Bearer " + token)), 401) << "two of them";
    EXPECT_EQ(status(without(state(), "Authorization")), 401);
    EXPECT_EQ(status(without(solve(), "Authorization")), 401);
}

TEST_F(Gate, each_place_takes_the_token_in_one_way) {
    EXPECT_EQ(status(at(without(state(), "Authorization"), "/state?token=" + token)), 401);
    EXPECT_EQ(status(with(without(state(), "Authorization"), "Cookie", "token=" + token)), 401);
    EXPECT_EQ(status(with(at(page(), "/"), "Authorization", "Bearer " + token)), 401);
}

TEST_F(Gate, what_is_there_is_not_told_without_the_token) {
    const RequestHead stranger = without(state(), "Authorization");
    for (const char* target : {"/state", "/nothing", "/etc/passwd", "/solve"})
        EXPECT_EQ(status(at(stranger, target)), 401) << target;
}

TEST_F(Gate, hosts_are_names_of_this_machine) {
    for (const char* host :
         {"127.0.0.1", "127.0.0.1:1", "localhost", "localhost:65535", "LocalHost:80", "[::1]:9"})
        EXPECT_EQ(status(having(state(), "Host", host)), 0) << host;
    for (const char* host :
         {"", "evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.",
          "localhost.evil.example", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:80x",
          "127.0.0.1:+80", "127.0.0.1@evil.example", "127.0.0.1:80@evil.example", "127.0.0.2", "0.0.0.0",
          "[::]", "127.0.0.1 ", "127.0.0.1,evil.example"})
        EXPECT_EQ(status(having(state(), "Host", host)), 403) << host;
    EXPECT_EQ(status(having(page(), "Host", "evil.example")), 403);
    EXPECT_EQ(status(without(state(), "Host")), 403);
    EXPECT_EQ(status(with(state(), "Host", "127.0.0.1:8000")), 403) << "two of them";
    EXPECT_EQ(status(with(state(), "hOST", "evil.example")), 403);
}

TEST_F(Gate, pages_of_other_sites_ask_nothing) {
    EXPECT_EQ(status(with(solve(), "Origin", "http://127.0.0.1:8000")), 0);
    for (const char* origin : {"null", "", "http://evil.example", "https://127.0.0.1:8000",
                               "http://127.0.0.1", "http://127.0.0.1:8001", "http://localhost:8000",
                               "http://127.0.0.1:8000.evil.example", "http://127.0.0.1:8000/"}) {
        EXPECT_EQ(status(with(solve(), "Origin", origin)), 403) << origin;
        EXPECT_EQ(status(with(page(), "Origin", origin)), 403) << origin;
    }
    RequestHead two = with(solve(), "Origin", "http://127.0.0.1:8000");
    EXPECT_EQ(status(with(two, "Origin", "http://evil.example")), 403);
    EXPECT_EQ(status(with(solve(), "Sec-Fetch-Site", "same-origin")), 0);
    for (const char* site : {"cross-site", "same-site", "none"})
        EXPECT_EQ(status(with(solve(), "Sec-Fetch-Site", site)), 403) << site;
    EXPECT_EQ(status(with(page(), "Sec-Fetch-Site", "cross-site")), 0) << "a link to the page";
}

TEST_F(Gate, other_methods_are_refused) {
    for (const char* method :
         {"HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "", "GETX"}) {
        RequestHead head = state();
        head.method = method;
        EXPECT_EQ(status(head), 405) << method;
    }
    EXPECT_EQ(status(at(state(), "/solve")), 405);
    EXPECT_EQ(status(at(solve(), "/state")), 405);
}

TEST_F(Gate, there_are_no_other_paths) {
    for (const char* target : {"",
                               "*",
                               "//",
                               "/index.html",
                               "/state/",
                               "/state/..",
                               "/STATE",
                               "/%73tate",
                               "/../../etc/passwd",
                               "/%2e%2e/%2e%2e/etc/passwd",
                               "/..%2f..%2fetc%2fpasswd",
                               "/state/../../../etc/passwd",
                               "/..\\..\\etc\\passwd",
                               "/%252e%252e/etc/passwd",
                               "/state%00",
                               "/schedule/../../x",
                               "file:///etc/passwd",
                               "http://127.0.0.1:8000/state",
                               "/./state",
                               "/state;x"})
        EXPECT_EQ(status(at(state(), target)), 404) << target;
}

TEST_F(Gate, bodies_and_addresses_are_limited) {
    EXPECT_EQ(status(having(solve(), "Content-Length", std::to_string(RequestGate::longest_body))), 0);
    EXPECT_EQ(status(having(solve(), "Content-Length", std::to_string(RequestGate::longest_body + 1))), 413);
    EXPECT_EQ(status(having(solve(), "Content-Length", "18446744073709551615")), 413);
    for (const char* length : {"", "-1", "+5", "0x10", "1e3", "5 ", "18446744073709551616"})
        EXPECT_EQ(status(having(solve(), "Content-Length", length)), 411) << length;
    EXPECT_EQ(status(without(solve(), "Content-Length")), 411);
    EXPECT_EQ(status(with(solve(), "Content-Length", "16")), 411) << "two of them";
    EXPECT_EQ(status(with(solve(), "Transfer-Encoding", "chunked")), 411);
    EXPECT_EQ(status(with(without(solve(), "Content-Length"), "Transfer-Encoding", "chunked")), 411);
    EXPECT_EQ(status(with(solve(), "Content-Encoding", "gzip")), 411);
    EXPECT_EQ(status(with(state(), "Content-Length", "1")), 413) << "a question without a body";
    EXPECT_EQ(status(at(state(), "/state?since=" + std::string(RequestGate::longest_target, '1'))), 414);
}

TEST_F(Gate, a_form_of_another_page_is_no_question) {
    for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})
        EXPECT_EQ(status(having(solve(), "Content-Type", type)), 415) << type;
    EXPECT_EQ(status(without(solve(), "Content-Type")), 415);
    EXPECT_EQ(status(having(solve(), "Content-Type", "Application/JSON; charset=utf-8")), 0);
}

}  // namespace
}  // namespace rematlas
