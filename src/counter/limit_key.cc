#include "counter/limit_key.h"

namespace sluice {
namespace {

bool is_at(const char* bytes, std::string_view text) {
    return std::memcmp(bytes, text.data(), text.size()) == 0;
}

}  // namespace

std::uint64_t LimitKey::hash_of_long_texts(const Request& request,
                                           std::uint64_t salt,
                                           const KeyHash& hash) {
    return hash(0, request.workspace, salt) ^ hash(1, request.name_space) ^
           hash(2, request.identifier);
}

bool LimitKey::are_long_texts(const Request& request, const char* texts) {
    const char* const name_space = texts + request.workspace.size();
    const char* const identifier = name_space + request.name_space.size();
    return is_at(identifier, request.identifier) && is_at(name_space, request.name_space) &&
           is_at(texts, request.workspace);
}

void LimitKey::copy_long_texts(char* to) const {
    for (const std::string_view part :
         {request_->workspace, request_->name_space, request_->identifier}) {
        std::memcpy(to, part.data(), part.size());
        to += part.size();
    }
}

}  // namespace sluice
