#include "regional/redis/redis_command.h"

#include <array>
#include <new>

#include <hiredis/hiredis.h>

#include "base/check.h"

namespace sluice {

std::string redis_command(std::initializer_list<std::string_view> words) {
    std::array<const char*, 8> texts;
    std::array<std::size_t, 8> sizes;
    SLUICE_CHECK(words.size() <= texts.size());
    std::size_t count = 0;
    for (const std::string_view word : words) {
        texts[count] = word.data();
        sizes[count++] = word.size();
    }
    char* formatted = nullptr;
    const int size =
        redisFormatCommandArgv(&formatted, static_cast<int>(count), texts.data(), sizes.data());
    if (size < 0) throw std::bad_alloc();
    std::string bytes(formatted, static_cast<std::size_t>(size));
    redisFreeCommand(formatted);
    return bytes;
}

}  // namespace sluice
