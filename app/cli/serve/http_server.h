// Serves HTTP on 127.0.0.1 by libmicrohttpd, in one thread. A handler gets the heads and the complete bodies
// of requests, and the server sends the handler's answers.
//
// A client can use only few resources: a head must fit in 32 KiB, and a request must be complete 10 seconds
// after it began. If very many connections have no complete request, the oldest of them are closed. A
// connection is also closed after a request was refused. No connection waits for another one, and the server
// ends without waiting for connections.
//
//     Result<std::unique_ptr<HttpServer>> server = HttpServer::listen(0);
//     server->get()->serve(handler, end);
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/cli/serve/request_gate.h"
#include "core/base/result.h"

namespace rematlas {

struct HttpAnswer {
    int status = 200;
    std::string type;
    std::string body;
    /// The value of the header Content-Security-Policy
    std::string policy = "default-src 'none'; frame-ancestors 'none'";
    std::string file_name = {};  ///< name of the file, if the answer is a file to save
};

/// The functions of a handler are called from the thread that serves.
class HttpHandler {
  public:
    virtual ~HttpHandler() = default;
    /// Called before the body of a request is read. Returns the answer that refuses the request, or nullopt
    /// to admit it.
    virtual std::optional<HttpAnswer> refuse(const RequestHead& head) = 0;
    /// Returns the answer, or nullopt if there is none yet. In that case the function is called again after
    /// each `HttpServer::wake`. After 20 seconds it is called with `must` set, and must return an answer.
    virtual std::optional<HttpAnswer> answer(const RequestHead& head, const std::string& body, bool must) = 0;
};

class HttpServer {
  public:
    /// Listens on the port; 0 stands for any free port. Fails if the port is taken or not permitted.
    static Result<std::unique_ptr<HttpServer>> listen(int port);
    ~HttpServer();

    int port() const;
    /// Serves until the file descriptor `end` becomes readable.
    void serve(HttpHandler& handler, int end);
    /// Makes the server ask the handler again for all waiting requests. May be called from any thread.
    void wake();

  private:
    class Daemon;
    explicit HttpServer(std::unique_ptr<Daemon> daemon);

    std::unique_ptr<Daemon> daemon_;
};

}  // namespace rematlas
