// Result: a value, or an error.
#ifndef SLUICE_RESULT_H_
#define SLUICE_RESULT_H_

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace sluice {

enum class ErrorCode {
    kRegionRequired,    // Options::region is empty, and Options::global is not
    kInvalidOption,     // another option is out of range
    kInvalidRequest,    // a field of a request, the batch's size or the time is out of range
    kOutOfMemory,       // the system refused the memory that the options ask for
    kOutOfThreads,      // the system refused a thread
    kStoreFailed,       // a file or a database could not be read or written
    kStoreUnavailable,  // a database does not answer, or is busy; a retry may succeed
};
using enum ErrorCode;

struct Error {
    ErrorCode code;
    std::string message;  // names the field, its value and what is allowed
};

// Result<T> holds either a T or an Error. Its member names are those of std::expected.
//
// Thread-compatible. Reading the side that is not held is a programmer's error.
//
//     Result<Decision> decision = limiter.limit(request);
//     if (!decision) return fail(decision.error().message);
//     if (decision->passed) serve();
template <class T>
class [[nodiscard]] Result {
  public:
    using value_type = T;
    using error_type = Error;

    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>)
        : value_(std::move(value)), has_value_(true) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(Error error) noexcept : error_(std::move(error)), has_value_(false) {}

    Result(const Result& other) requires std::copy_constructible<T> : has_value_(other.has_value_) {
        if (has_value_) {
            std::construct_at(&value_, other.value_);
        } else {
            std::construct_at(&error_, other.error_);
        }
    }
    Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
        : has_value_(other.has_value_) {
        if (has_value_) {
            std::construct_at(&value_, std::move(other.value_));
        } else {
            std::construct_at(&error_, std::move(other.error_));
        }
    }
    Result& operator=(Result other) noexcept(std::is_nothrow_move_constructible_v<T>) {
        static_assert(std::is_nothrow_move_constructible_v<T>,
                      "an assignment must not lose both sides");
        std::destroy_at(this);
        std::construct_at(this, std::move(other));
        return *this;
    }
    ~Result() {
        if (has_value_) {
            std::destroy_at(&value_);
        } else {
            std::destroy_at(&error_);
        }
    }

    bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }

    T& operator*() & noexcept { return value_; }
    const T& operator*() const& noexcept { return value_; }
    T&& operator*() && noexcept { return std::move(value_); }
    T* operator->() noexcept { return &value_; }
    const T* operator->() const noexcept { return &value_; }

    // Throws std::bad_optional_access where an error is held.
    T& value() & { return check(), value_; }
    const T& value() const& { return check(), value_; }
    T&& value() && { return check(), std::move(value_); }

    Error& error() & noexcept { return error_; }
    const Error& error() const& noexcept { return error_; }
    Error&& error() && noexcept { return std::move(error_); }

    template <class U>
    T value_or(U&& otherwise) const& {
        return has_value_ ? value_ : static_cast<T>(std::forward<U>(otherwise));
    }

  private:
    void check() const {
        if (!has_value_) throw std::bad_optional_access();
    }

    union {
        T value_;
        Error error_;
    };
    bool has_value_;
};

}  // namespace sluice

#endif  // SLUICE_RESULT_H_
