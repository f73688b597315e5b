// Counts the allocations of a request once its thread has answered a few.
#include <cstdlib>
#include <new>

#include "http/api/api_fixture.h"

namespace {

std::size_t allocations = 0;

// noinline: inlined, the compiler would report malloc() and delete as a mismatched pair.
[[gnu::noinline]] void* take(std::size_t size) noexcept {
    ++allocations;
    return std::malloc(size);  // NOLINT: implements operator new
}

[[gnu::noinline]] void give_back(void* memory) noexcept {
    std::free(memory);  // NOLINT
}

}  // namespace

void* operator new(std::size_t size) {
    void* memory = take(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void* operator new[](std::size_t size) {
    return operator new(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return take(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return take(size);
}
void operator delete(void* memory) noexcept {
    give_back(memory);
}
void operator delete[](void* memory) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    give_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    give_back(memory);
}

namespace sluice::http {
namespace {

class Allocation : public ApiFixture {
  protected:
    // Returns the number of allocations for answering the same request once more. Its decisions are
    // counted, in a batch that has its keys already.
    std::size_t count(std::string_view path, const std::string& body) {
        const std::string head = "POST " + std::string(path) +
                                 " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n\r\n";
        RequestView request;
        HeadFacts facts;
        EXPECT_EQ(parse_head(head, request, facts).status, 0);
        request.body = body;
        Reply reply;
        for (int i = 0; i < 3; ++i) {
            counted_.handle(request, reply, Completion(nullptr));
        }
        const std::size_t before = allocations;
        counted_.handle(request, reply, Completion(nullptr));
        EXPECT_EQ(reply.status(), 200) << reply.body();
        return allocations - before;
    }

    static std::string batch(int size) {
        std::string body = "[";
        for (int i = 0; i < size; ++i) {
            body += (i == 0 ? "" : ",") + item("identifier-of-some-length-" + std::to_string(i));
        }
        return body + "]";
    }

    static std::string item(const std::string& identifier) {
        return R"({"namespace":"namespace-of-some-length","cost":1,"duration":2592000000,"identifier":")" +
               identifier + R"(","limit":1000})";
    }

    ApiContext with_recorder() {
        ApiContext counted = context(ListenerRole::kPublic);
        counted.recorder = &recorder_;
        return counted;
    }

    insight::Recorder recorder_{KeyHash(7)};
    Api counted_{with_recorder()};
};

TEST_F(Allocation, ADecisionAllocatesNothing) {
    EXPECT_EQ(count("/v2/ratelimit.limit", item("someone")), 0U);
    EXPECT_FALSE(recorder_.is_empty());
}

TEST_F(Allocation, ADenialAllocatesNothing) {
    const std::string denied =
        R"({"namespace":"namespace-of-some-length","duration":60000,"identifier":"denied","limit":0})";
    EXPECT_EQ(count("/v2/ratelimit.limit", denied), 0U);
}

TEST_F(Allocation, ABatchOfAHundredAllocatesNoMoreThanOneOfTwo) {
    EXPECT_LE(count("/v2/ratelimit.multiLimit", batch(100)),
              count("/v2/ratelimit.multiLimit", batch(2)) + 1);
}

TEST_F(Allocation, AnOverrideAllocatesNothing) {
    overrides_
        ->set({"default", "namespace-of-some-length", "vip_*"},
              {.limit = 9, .duration = std::chrono::seconds{60}})
        .value();
    EXPECT_EQ(count("/v2/ratelimit.limit", item("vip_1")), 0U);
}

}  // namespace
}  // namespace sluice::http
