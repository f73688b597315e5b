// A value or the reason why there is none.
#ifndef SLUICE_RESULT_H_
#define SLUICE_RESULT_H_

#include <string>
#include <utility>
#include <variant>

namespace sluice {

enum class ErrorCode {
    kRegionRequired,  // Options::region is empty
    kInvalidOption,   // another option is out of range
    kInvalidRequest,  // a field of a request, the batch's size or the time is out of range
    kOutOfMemory,     // the system refused the memory that the options ask for
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

    Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
    Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

    bool has_value() const noexcept { return held_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    T& operator*() & noexcept { return *std::get_if<0>(&held_); }
    const T& operator*() const& noexcept { return *std::get_if<0>(&held_); }
    T&& operator*() && noexcept { return std::move(*std::get_if<0>(&held_)); }
    T* operator->() noexcept { return std::get_if<0>(&held_); }
    const T* operator->() const noexcept { return std::get_if<0>(&held_); }

    // Throws std::bad_variant_access where an error is held.
    T& value() & { return std::get<0>(held_); }
    const T& value() const& { return std::get<0>(held_); }
    T&& value() && { return std::get<0>(std::move(held_)); }

    Error& error() & noexcept { return *std::get_if<1>(&held_); }
    const Error& error() const& noexcept { return *std::get_if<1>(&held_); }
    Error&& error() && noexcept { return std::move(*std::get_if<1>(&held_)); }

    template <class U>
    T value_or(U&& otherwise) const& {
        return has_value() ? **this : static_cast<T>(std::forward<U>(otherwise));
    }

  private:
    std::variant<T, Error> held_;
};

}  // namespace sluice

#endif  // SLUICE_RESULT_H_
