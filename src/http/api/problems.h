// What is wrong with a request, all of it.
#ifndef SLUICE_HTTP_API_PROBLEMS_H_
#define SLUICE_HTTP_API_PROBLEMS_H_

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::http {

struct Problem {
    std::string location;  // "body.limit", "body[3].cost"
    std::string message;   // the value, and what is allowed
};

// Keeps the problems in the order in which they were found. Thread-compatible.
//
// A batch of 100 with every field wrong fits. Beyond that only their number is kept: a body of 1
// MiB can hold 100,000 unknown fields, and the answer must not outgrow it.
class Problems {
  public:
    static constexpr std::size_t kMaxKept = 1000;

    void add(std::string location, std::string message) {
        ++found_;
        if (kept_.size() < kMaxKept) kept_.push_back({std::move(location), std::move(message)});
    }

    void clear() {
        kept_.clear();
        found_ = 0;
    }

    bool empty() const { return found_ == 0; }
    std::size_t found() const { return found_; }
    std::span<const Problem> kept() const { return kept_; }

  private:
    std::vector<Problem> kept_;
    std::size_t found_ = 0;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_PROBLEMS_H_
