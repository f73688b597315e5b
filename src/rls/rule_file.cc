#include "rls/rule_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <unordered_map>

#include <fcntl.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>

#include "rls/yaml_fields.h"

namespace sluice::rls {
namespace {

constexpr std::array<std::string_view, 2> kRootKeys = {"domain", "descriptors"};
constexpr std::array<std::string_view, 10> kDescriptorKeys = {"key",
                                                              "value",
                                                              "rate_limit",
                                                              "descriptors",
                                                              "shadow_mode",
                                                              "quota_mode",
                                                              "detailed_metric",
                                                              "value_to_metric",
                                                              "share_threshold",
                                                              "metadata"};
constexpr std::array<std::string_view, 9> kLimitKeys = {"unit",
                                                        "requests_per_unit",
                                                        "unlimited",
                                                        "name",
                                                        "replaces",
                                                        "duration",
                                                        "unit_multiplier",
                                                        "count_denied",
                                                        "metadata"};
constexpr std::array<std::string_view, 1> kReplacesKeys = {"name"};
// Those that envoyproxy/ratelimit accepts anywhere.
constexpr std::array<std::string_view, 15> kAllKeys = {"domain",
                                                       "key",
                                                       "value",
                                                       "descriptors",
                                                       "rate_limit",
                                                       "unit",
                                                       "requests_per_unit",
                                                       "unlimited",
                                                       "shadow_mode",
                                                       "quota_mode",
                                                       "name",
                                                       "replaces",
                                                       "detailed_metric",
                                                       "value_to_metric",
                                                       "share_threshold"};

// Reads the structure of a file.
class RuleFileReader {
  public:
    RuleFileReader(const std::string& source, RuleBudget& budget)
        : fields_(source), budget_(budget), source_bytes_(source.size()) {}

    Result<DomainConfig> read(const YAML::Node& root, const std::string& source);

  private:
    using Field = YamlFields::Field;

    std::vector<DescriptorConfig> read_descriptors(const Field& list, std::size_t depth);
    DescriptorConfig read_descriptor(const YAML::Node& node, std::size_t depth);
    // Also sets what the block may set of its descriptor.
    LimitConfig read_limit(const YAML::Node& node, DescriptorConfig& descriptor);
    std::vector<std::string> read_replaces(const Field& list);
    void set_metadata(const Field& field, DescriptorConfig& descriptor);

    YamlFields fields_;
    RuleBudget& budget_;
    const std::size_t source_bytes_;
};

Result<DomainConfig> RuleFileReader::read(const YAML::Node& root, const std::string& source) {
    DomainConfig config{.source = source, .line = YamlFields::line_of(root)};
    for (const Field& field : fields_.mapping(root, {"a rule file", kRootKeys, kAllKeys})) {
        if (field.name == "domain") {
            config.domain = fields_.text(field);
            config.line = YamlFields::line_of(field.value);
        } else {
            config.descriptors = read_descriptors(field, 0);
        }
    }
    if (fields_.error()) return *fields_.error();
    config.warnings = std::move(fields_.warnings());
    return config;
}

std::vector<DescriptorConfig> RuleFileReader::read_descriptors(const Field& list,
                                                               std::size_t depth) {
    std::vector<DescriptorConfig> descriptors;
    if (depth > kMaxRuleDepth) {
        fields_.fail(list.value,
                     "descriptors are nested deeper; allowed: " + std::to_string(kMaxRuleDepth));
        return descriptors;
    }
    for (const YAML::Node& item : fields_.list(list)) {
        // A rule keeps the name of its file.
        if (const auto why = budget_.charge({.descriptors = 1, .text = source_bytes_})) {
            fields_.fail(item, *why);
            break;
        }
        descriptors.push_back(read_descriptor(item, depth));
    }
    return descriptors;
}

DescriptorConfig RuleFileReader::read_descriptor(const YAML::Node& node, std::size_t depth) {
    DescriptorConfig descriptor{.line = YamlFields::line_of(node)};
    for (const Field& field : fields_.mapping(node, {"a descriptor", kDescriptorKeys, kAllKeys})) {
        if (field.name == "key") {
            descriptor.key = fields_.text(field);
        } else if (field.name == "value") {
            descriptor.value = fields_.text(field);
        } else if (field.name == "rate_limit") {
            if (!field.value.IsNull()) descriptor.rate_limit = read_limit(field.value, descriptor);
        } else if (field.name == "descriptors") {
            descriptor.descriptors = read_descriptors(field, depth + 1);
        } else if (field.name == "shadow_mode") {
            descriptor.shadow_mode = fields_.boolean(field);
        } else if (field.name == "quota_mode") {
            descriptor.quota_mode = fields_.boolean(field);
        } else if (field.name == "detailed_metric") {
            descriptor.detailed_metric = fields_.boolean(field);
        } else if (field.name == "value_to_metric") {
            descriptor.value_to_metric = fields_.boolean(field);
        } else if (field.name == "share_threshold") {
            descriptor.share_threshold = fields_.boolean(field);
        } else {
            set_metadata(field, descriptor);
        }
    }
    return descriptor;
}

LimitConfig RuleFileReader::read_limit(const YAML::Node& node, DescriptorConfig& descriptor) {
    LimitConfig limit{.line = YamlFields::line_of(node)};
    for (const Field& field : fields_.mapping(node, {"rate_limit", kLimitKeys, kAllKeys})) {
        if (field.name == "unit") {
            limit.unit = fields_.text(field);
            limit.line = YamlFields::line_of(field.value);
        } else if (field.name == "requests_per_unit") {
            limit.requests_per_unit = fields_.number(field);
        } else if (field.name == "unlimited") {
            limit.unlimited = fields_.boolean(field);
        } else if (field.name == "name") {
            limit.name = fields_.text(field);
        } else if (field.name == "replaces") {
            limit.replaces = read_replaces(field);
        } else if (field.name == "duration") {
            limit.duration = fields_.duration(field);
        } else if (field.name == "unit_multiplier") {
            limit.unit_multiplier = fields_.number(field);
        } else if (field.name == "count_denied") {
            limit.count_denied = fields_.boolean(field);
        } else {
            set_metadata(field, descriptor);
        }
    }
    return limit;
}

std::vector<std::string> RuleFileReader::read_replaces(const Field& list) {
    std::vector<std::string> names;
    for (const YAML::Node& item : fields_.list(list)) {
        const auto fields = fields_.mapping(item, {"replaces", kReplacesKeys, kAllKeys});
        names.push_back(fields.empty() ? std::string() : fields_.text(fields.front()));
    }
    return names;
}

void RuleFileReader::set_metadata(const Field& field, DescriptorConfig& descriptor) {
    if (descriptor.metadata)
        fields_.fail(field.value,
                     "metadata occurs twice; allowed: in the descriptor or rate_limit");
    if (!field.value.IsNull()) descriptor.metadata = fields_.metadata(field);
}

// The line of a character that YAML does not allow; 0 if there is none.
int line_of_control_character(std::string_view text) {
    const auto is_control = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 && c != '\t' && c != '\n' && c != '\r';
    };
    const auto found = std::ranges::find_if(text, is_control);
    if (found == text.end()) return 0;
    return 1 + static_cast<int>(std::count(text.begin(), found, '\n'));
}

// The line on which brackets are nested deeper than kMaxBrackets; 0 if there is none. The parser
// takes very long for such a text. Brackets in quotes and comments don't count.
constexpr int kMaxBrackets = 100;
int line_of_deep_brackets(std::string_view text) {
    int line = 1;
    int depth = 0;
    char quote = '\0';
    char before = '\n';
    for (const char c : text) {
        const bool may_begin =
            std::string_view("\n\t ,:[{'").find(before) != std::string_view::npos;
        if (c == '\n') ++line;
        if (quote != '\0') {
            const bool ends = quote == '#' ? c == '\n' : c == quote && before != '\\';
            if (ends) quote = '\0';
        } else if (may_begin && (c == '"' || c == '\'' || c == '#')) {
            quote = c;
        } else if (c == '[' || c == '{') {
            if (++depth > kMaxBrackets) return line;
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
        before = c;
    }
    return 0;
}

// Stops the parser, which has no other way to be stopped.
struct Refused {
    int line;
    std::string why;
};

// Charges a document to the budget before any of it is kept. The costs of what an anchor names are
// charged again for each alias. Also finds where a second document begins.
class DocumentCost final : public YAML::EventHandler {
  public:
    explicit DocumentCost(RuleBudget& budget) : budget_(budget) {}

    int line() const { return line_; }  // of the last document

    void OnDocumentStart(const YAML::Mark& mark) override { line_ = mark.line + 1; }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        charge(mark, {.values = 1});
        anchored_[anchor] = {.values = 1};
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto named = anchored_.find(anchor);
        if (named == anchored_.end())
            throw Refused{mark.line + 1, "an alias is in the value that it names; allowed: others"};
        charge(mark, named->second);
    }
    void OnScalar(const YAML::Mark& mark,
                  const std::string&,
                  YAML::anchor_t anchor,
                  const std::string& text) override {
        const RuleCost cost{.values = 1, .text = text.size()};
        charge(mark, cost);
        anchored_[anchor] = cost;
    }
    void OnSequenceStart(const YAML::Mark& mark,
                         const std::string&,
                         YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        begin(mark, anchor);
    }
    void OnSequenceEnd() override { end(); }
    void OnMapStart(const YAML::Mark& mark,
                    const std::string&,
                    YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        begin(mark, anchor);
    }
    void OnMapEnd() override { end(); }

  private:
    // A list or mapping that has begun, and what was spent before it.
    struct Open {
        YAML::anchor_t anchor;
        RuleCost before;
    };

    void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
        open_.push_back({anchor, budget_.spent()});
        charge(mark, {.values = 1});
    }

    void end() {
        const auto& [anchor, before] = open_.back();
        const RuleCost& now = budget_.spent();
        anchored_[anchor] = {.values = now.values - before.values, .text = now.text - before.text};
        open_.pop_back();
    }

    void charge(const YAML::Mark& mark, const RuleCost& cost) {
        if (auto why = budget_.charge(cost)) throw Refused{mark.line + 1, *std::move(why)};
    }

    RuleBudget& budget_;
    int line_ = 0;
    std::vector<Open> open_;
    // What the anchors name; under 0, what no anchor does.
    std::unordered_map<YAML::anchor_t, RuleCost> anchored_;
};

// The line where a second document begins; 0 if there is none. The parser finds documents without
// end where a character such as a comma can't begin one, so no more than two are asked for.
int charge_documents(const std::string& text, RuleBudget& budget) {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    DocumentCost cost(budget);
    const bool has_second = parser.HandleNextDocument(cost) && parser.HandleNextDocument(cost);
    return has_second ? cost.line() : 0;
}

Error unreadable(const std::string& path, const std::string& why) {
    return {kInvalidOption, path + ": can't be read: " + why};
}

// Closes the descriptor of an open file.
class OpenFile {
  public:
    // Doesn't wait for the other end of a pipe.
    explicit OpenFile(const std::string& path)
        : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~OpenFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    int descriptor() const { return descriptor_; }
    bool is_regular() const {
        struct stat status {};
        return ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
    }

  private:
    const int descriptor_;
};

// The size that a file reports is no bound: it may grow meanwhile, or report none, as in /proc.
Result<std::string> read_file(const std::string& path) {
    const OpenFile file(path);
    if (file.descriptor() < 0) return unreadable(path, std::strerror(errno));
    if (!file.is_regular()) return unreadable(path, "it is no regular file");
    constexpr std::size_t kPiece = 65'536;
    std::string text;
    for (;;) {
        const std::size_t size = text.size();
        text.resize(size + kPiece);
        const ssize_t count = ::read(file.descriptor(), text.data() + size, kPiece);
        if (count < 0 && errno != EINTR) return unreadable(path, std::strerror(errno));
        text.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count == 0) return text;
        if (text.size() > kMaxRuleFileBytes) {
            return Error{kInvalidOption,
                         path + ": is longer than allowed: up to " +
                             std::to_string(kMaxRuleFileBytes) + " bytes"};
        }
    }
}

bool is_hidden(const std::filesystem::path& path) {
    return path.filename().string().starts_with('.');
}

}  // namespace

Result<DomainConfig> parse_rules(const std::string& text,
                                 const std::string& source,
                                 RuleBudget& budget) try {
    // The parser may not come to an end on other bytes.
    if (!simdjson::validate_utf8(text.data(), text.size()))
        return Error{kInvalidOption, source + ": is not UTF-8; allowed: text in UTF-8"};
    if (const int line = line_of_control_character(text)) {
        return Error{kInvalidOption,
                     location(source, line) +
                         ": has a control character; allowed: text with tabs and line ends"};
    }
    if (const int line = line_of_deep_brackets(text)) {
        return Error{kInvalidOption,
                     location(source, line) +
                         ": brackets are nested deeper; allowed: " + std::to_string(kMaxBrackets)};
    }
    if (const int line = charge_documents(text, budget)) {
        return Error{
            kInvalidOption,
            location(source, line) + ": a second YAML document begins; allowed: one for each file"};
    }
    return RuleFileReader(source, budget).read(YAML::Load(text), source);
} catch (const Refused& refused) {
    return Error{kInvalidOption, location(source, refused.line) + ": " + refused.why};
} catch (const YAML::Exception& invalid) {
    return Error{kInvalidOption,
                 location(source, invalid.mark.line + 1) +
                     ": error loading config file: " + invalid.msg + "; allowed: YAML"};
}

Result<std::vector<std::string>> list_rule_files(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code failed;
    const fs::file_status status = fs::status(path, failed);
    if (!fs::exists(status)) return unreadable(path, "there is no such file or folder");
    if (!fs::is_directory(status)) return std::vector<std::string>{path};

    std::vector<std::string> files;
    fs::recursive_directory_iterator item(path, failed);
    for (; !failed && item != fs::recursive_directory_iterator(); item.increment(failed)) {
        if (is_hidden(item->path())) {
            item.disable_recursion_pending();
        } else if (std::error_code ignored; item->is_regular_file(ignored)) {
            files.push_back(item->path().string());
        }
        if (files.size() > kMaxRuleFiles) {
            return Error{kInvalidOption,
                         path + ": holds more files; allowed: " + std::to_string(kMaxRuleFiles)};
        }
    }
    if (failed) return unreadable(path, failed.message());
    std::ranges::sort(files);
    return files;
}

Result<std::shared_ptr<const RuleSet>> load_rules(const std::string& path, SameDomain same_domain) {
    auto files = list_rule_files(path);
    if (!files) return std::move(files).error();
    RuleBudget budget;
    std::vector<DomainConfig> configs;
    for (const std::string& file : *files) {
        auto text = read_file(file);
        if (!text) return std::move(text).error();
        auto config = parse_rules(*text, file, budget);
        if (!config) return std::move(config).error();
        configs.push_back(*std::move(config));
    }
    return RuleSet::build(std::move(configs), same_domain);
}

}  // namespace sluice::rls
