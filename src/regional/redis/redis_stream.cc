#include "regional/redis/redis_stream.h"

#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/ssl.h>

#include "base/tls_files.h"
#include "base/tls_host.h"

namespace sluice {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

std::string describe(error_code failed) {
    if (failed == asio::error::eof || failed == asio::ssl::error::stream_truncated ||
        failed == asio::error::connection_reset || failed == asio::error::broken_pipe)
        return "the server closed the connection";
    return failed.message();
}

std::string describe_connect(error_code failed) {
    if (failed == asio::error::connection_refused) return "connection refused";
    if (failed == boost::system::errc::no_such_file_or_directory)
        return "there is no such unix socket";
    return "can't connect: " + failed.message();
}

RedisStream::Failure failure(error_code failed) {
    return failed ? RedisStream::Failure(describe(failed)) : std::nullopt;
}

std::string not_found(const std::string& why) {
    return "the host name is not found: " + why;
}

std::string describe_tls_failure(SSL* connection, error_code failed) {
    const long verdict = SSL_get_verify_result(connection);
    if (verdict != X509_V_OK)
        return std::string("its certificate is not accepted: ") +
               X509_verify_cert_error_string(verdict);
    return "TLS failed: " + failed.message();
}

Error unusable(std::string_view what, const std::string& path, const std::string& why) {
    return {kInvalidOption,
            "the " + std::string(what) + " for Redis, " + path + ", can't be used: " + why};
}

}  // namespace

Result<std::shared_ptr<asio::ssl::context>> redis_tls_context(const RedisTlsFiles& files) {
    const auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    context->set_verify_mode(asio::ssl::verify_peer);
    error_code failed;
    if (files.ca.empty()) {
        context->set_default_verify_paths(failed);
        if (failed) return unusable("system's list of certificates", "", failed.message());
    } else {
        context->load_verify_file(files.ca, failed);
        if (failed)
            return unusable(
                "CA certificate", files.ca, failed.message() + "; it must be a readable PEM file");
    }
    if (files.cert.empty() != files.key.empty())
        return Error{kInvalidOption,
                     "of the client certificate for Redis and its key only one is given; allowed "
                     "are both or none"};
    if (files.cert.empty()) return context;
    if (const auto why = use_certificate_chain(context->native_handle(), files.cert))
        return unusable("client certificate", files.cert, *why);
    if (const auto why = use_private_key(context->native_handle(), files.key))
        return unusable("key of the client certificate", files.key, *why);
    return context;
}

RedisStream::RedisStream(asio::io_context& loop, asio::ssl::context* tls)
    : lookup_end_(loop), socket_(loop) {
    if (tls != nullptr) tls_.emplace(socket_, *tls);
}

void RedisStream::connect(const RedisAddress& address, Connected connected) {
    host_ = address.host;
    if (!address.socket_path.empty()) {
        asio::local::stream_protocol::endpoint endpoint(address.socket_path);
        return try_endpoints({endpoint}, std::move(connected));
    }
    error_code is_name;
    const auto numeric = asio::ip::make_address(address.host, is_name);
    if (is_name) return resolve(address, std::move(connected));
    try_endpoints({asio::ip::tcp::endpoint(numeric, address.port)}, std::move(connected));
}

void RedisStream::resolve(const RedisAddress& address, Connected connected) {
    auto lookup = HostLookup::start(address.host, address.port);
    const int end = lookup ? ::fcntl(lookup->descriptor(), F_DUPFD_CLOEXEC, 0) : -1;
    if (end < 0) {
        const std::string why = lookup ? "the system refused a descriptor" : lookup.error().message;
        return asio::post(lookup_end_.get_executor(),
                          [connected = std::move(connected), why] { connected(not_found(why)); });
    }
    lookup_ = *std::move(lookup);
    lookup_end_.assign(end);
    lookup_end_.async_wait(
        asio::posix::descriptor_base::wait_read,
        [this, connected = std::move(connected)](error_code cancelled) mutable {
            if (cancelled || !lookup_) return connected(not_found("the stream was closed"));
            const auto found = std::exchange(lookup_, std::nullopt)->take();
            error_code ignored;
            lookup_end_.close(ignored);
            if (!found) return connected(not_found(found.error().message));
            std::vector<Endpoint> endpoints;
            for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next)
                endpoints.emplace_back(one->ai_addr, one->ai_addrlen, IPPROTO_TCP);
            try_endpoints(std::move(endpoints), std::move(connected));
        });
}

void RedisStream::try_endpoints(std::vector<Endpoint> endpoints, Connected connected) {
    endpoints_ = std::move(endpoints);
    asio::async_connect(
        socket_,
        endpoints_,
        [this, connected = std::move(connected)](error_code failed, const Endpoint& peer) mutable {
            if (failed) return connected(describe_connect(failed));
            error_code ignored;
            socket_.set_option(asio::socket_base::keep_alive(true), ignored);
            if (peer.protocol().family() != AF_UNIX)
                socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
            if (!tls_) return connected(std::nullopt);
            shake_hands(std::move(connected));
        });
}

void RedisStream::shake_hands(Connected connected) {
    expect_host(tls_->native_handle(), host_);
    tls_->async_handshake(asio::ssl::stream_base::client,
                          [this, connected = std::move(connected)](error_code failed) {
                              if (!failed) return connected(std::nullopt);
                              connected(describe_tls_failure(tls_->native_handle(), failed));
                          });
}

void RedisStream::read_some(std::span<char> buffer, Read read) {
    const auto done = [read = std::move(read)](error_code failed, std::size_t size) {
        read(failure(failed), size);
    };
    const auto target = asio::buffer(buffer.data(), buffer.size());
    if (tls_) return tls_->async_read_some(target, done);
    socket_.async_read_some(target, done);
}

void RedisStream::write(std::string_view bytes, Written written) {
    const auto done = [written = std::move(written)](error_code failed, std::size_t) {
        written(failure(failed));
    };
    const auto source = asio::buffer(bytes.data(), bytes.size());
    if (tls_) return asio::async_write(*tls_, source, done);
    asio::async_write(socket_, source, done);
}

void RedisStream::close() {
    error_code ignored;
    lookup_.reset();
    lookup_end_.close(ignored);
    socket_.close(ignored);
}

}  // namespace sluice
