// A request that owns its texts, for decisions that have to wait.
#ifndef SLUICE_SERVICE_OWNED_REQUEST_H_
#define SLUICE_SERVICE_OWNED_REQUEST_H_

#include <sluice/limiter.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Copies of requests whose texts live as long as this. Neither copied nor moved, since the requests
// point into it. Thread-compatible.
class OwnedRequests {
  public:
    explicit OwnedRequests(std::span<const Request> requests)
        : requests_(requests.begin(), requests.end()) {
        std::size_t size = 0;
        for (const Request& request : requests)
            size +=
                request.workspace.size() + request.name_space.size() + request.identifier.size();
        texts_.reserve(size);
        for (Request& request : requests_) {
            keep(request.workspace);
            keep(request.name_space);
            keep(request.identifier);
        }
    }
    OwnedRequests(const OwnedRequests&) = delete;
    OwnedRequests& operator=(const OwnedRequests&) = delete;

    std::span<const Request> all() const { return requests_; }

  private:
    void keep(std::string_view& text) {
        const std::size_t start = texts_.size();
        texts_ += text;  // never reallocates: see the constructor
        text = std::string_view(texts_).substr(start);
    }

    std::vector<Request> requests_;
    std::string texts_;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_OWNED_REQUEST_H_
