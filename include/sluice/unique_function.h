// A callback that may own move-only values, such as a promise or a socket.
#ifndef SLUICE_UNIQUE_FUNCTION_H_
#define SLUICE_UNIQUE_FUNCTION_H_

#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace sluice {

template <class Signature>
class UniqueFunction;

// A move-only std::function, like C++23's std::move_only_function. Callables of up to four words
// that move without throwing are held without an allocation. Calling an empty one is undefined.
//
// Thread-compatible.
template <class R, class... Args>
class UniqueFunction<R(Args...)> {
  public:
    UniqueFunction() noexcept = default;
    UniqueFunction(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

    template <class F, class T = std::decay_t<F>>
    requires(!std::same_as<T, UniqueFunction> && std::is_invocable_r_v<R, T&, Args...>)
        UniqueFunction(F&& callable) {  // NOLINT(google-explicit-constructor)
        if constexpr (is_held_inline<T>) {
            new (bytes_) T(std::forward<F>(callable));
        } else {
            new (bytes_) T*(new T(std::forward<F>(callable)));
        }
        actions_ = &kActions<T>;
    }

    UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
    UniqueFunction& operator=(UniqueFunction&& other) noexcept {
        if (this == &other) return *this;
        reset();
        take(other);
        return *this;
    }
    ~UniqueFunction() { reset(); }

    explicit operator bool() const noexcept { return actions_ != nullptr; }

    R operator()(Args... args) { return actions_->call(bytes_, std::forward<Args>(args)...); }

  private:
    struct Actions {
        R (*call)(std::byte* bytes, Args&&... args);
        void (*move)(std::byte* from, std::byte* to) noexcept;
        void (*destroy)(std::byte* bytes) noexcept;
    };

    static constexpr std::size_t kBytes = 4 * sizeof(void*);
    template <class T>
    static constexpr bool is_held_inline =
        sizeof(T) <= kBytes &&
        alignof(T) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<T>;

    template <class T>
    static T& held(std::byte* bytes) {
        if constexpr (is_held_inline<T>) {
            return *std::launder(reinterpret_cast<T*>(bytes));
        } else {
            return **std::launder(reinterpret_cast<T**>(bytes));
        }
    }
    template <class T>
    static constexpr Actions kActions{.call = [](std::byte* bytes, Args&&... args) -> R {
                                          if constexpr (std::is_void_v<R>) {
                                              held<T>(bytes)(std::forward<Args>(args)...);
                                          } else {
                                              return held<T>(bytes)(std::forward<Args>(args)...);
                                          }
                                      },
                                      .move =
                                          [](std::byte* from, std::byte* to) noexcept {
                                              if constexpr (is_held_inline<T>) {
                                                  new (to) T(std::move(held<T>(from)));
                                                  held<T>(from).~T();
                                              } else {
                                                  new (to) T*(&held<T>(from));
                                              }
                                          },
                                      .destroy =
                                          [](std::byte* bytes) noexcept {
                                              if constexpr (is_held_inline<T>) {
                                                  held<T>(bytes).~T();
                                              } else {
                                                  delete &held<T>(bytes);
                                              }
                                          }};

    void take(UniqueFunction& other) noexcept {
        actions_ = std::exchange(other.actions_, nullptr);
        if (actions_ != nullptr) actions_->move(other.bytes_, bytes_);
    }
    void reset() noexcept {
        if (actions_ != nullptr) std::exchange(actions_, nullptr)->destroy(bytes_);
    }

    alignas(std::max_align_t) std::byte bytes_[kBytes];
    const Actions* actions_ = nullptr;
};

}  // namespace sluice

#endif  // SLUICE_UNIQUE_FUNCTION_H_
