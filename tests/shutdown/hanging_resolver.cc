// A resolver for LD_PRELOAD that hangs on demand. Host names that begin with "hang" are this
// machine's. While the file exists that the variable HANGING_RESOLVER names, their lookups never
// end, and the first creates the file of that name with ".hung" behind it.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <unistd.h>

extern "C" [[gnu::visibility("default")]] int getaddrinfo(const char* node,
                                                          const char* service,
                                                          const addrinfo* hints,
                                                          addrinfo** found) {
    using Resolve = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    static const auto next = reinterpret_cast<Resolve>(dlsym(RTLD_NEXT, "getaddrinfo"));
    const char* const file = std::getenv("HANGING_RESOLVER");
    if (node == nullptr || std::strncmp(node, "hang", 4) != 0 || file == nullptr)
        return next(node, service, hints, found);
    if (hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
    if (access(file, F_OK) != 0) return next("127.0.0.1", service, hints, found);
    std::array<char, 4096> hung{};
    std::snprintf(hung.data(), hung.size(), "%s.hung", file);
    close(open(hung.data(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (;;)
        pause();
}
