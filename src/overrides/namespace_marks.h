// A cheap first answer to: may this namespace have overrides?
#ifndef SLUICE_OVERRIDES_NAMESPACE_MARKS_H_
#define SLUICE_OVERRIDES_NAMESPACE_MARKS_H_

#include <bitset>
#include <cstddef>
#include <string_view>

namespace sluice::overrides {

// Each namespace with overrides leaves a mark that depends on a few of its bytes. Another one may
// have the same mark, so a mark is no proof; but nearly all namespaces without overrides are spared
// the lookup in a hash table.
//
// Thread-compatible.
class NamespaceMarks {
  public:
    static constexpr std::size_t kMarks = 256;

    static std::size_t mark_of(std::string_view workspace, std::string_view name_space) {
        if (workspace.empty() || name_space.empty()) return 0;
        const auto byte = [](char c) { return std::size_t{static_cast<unsigned char>(c)}; };
        return (name_space.size() + 5 * byte(name_space.front()) + 11 * byte(name_space.back()) +
                31 * workspace.size() + 67 * byte(workspace.back())) %
               kMarks;
    }

    void set(std::size_t mark, bool is_held) { marks_.set(mark, is_held); }
    bool may_hold(std::string_view workspace, std::string_view name_space) const {
        return marks_[mark_of(workspace, name_space)];
    }

  private:
    std::bitset<kMarks> marks_;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_NAMESPACE_MARKS_H_
