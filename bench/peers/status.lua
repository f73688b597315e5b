-- For wrk: requests with keys from `user:0` to `user:999`, and how many were answered with 200.
--
--     wrk ... -s status.lua URL -- PATH [BODY]
local state = 42
local template, path

passed, failed = 0, 0

function init(arguments)
    path, template = arguments[1], arguments[2]
end

function request()
    state = (state * 1103515245 + 12345) % 2147483648
    local user = "user:" .. math.floor(state / 65536) % 1000
    if template == nil then
        return wrk.format("GET", (path:gsub("KEY", user)))
    end
    return wrk.format("POST", path, nil, (template:gsub("KEY", user)))
end

function response(status)
    if status == 200 then
        passed = passed + 1
    else
        failed = failed + 1
    end
end

local threads = {}
function setup(thread)
    table.insert(threads, thread)
end

function done(summary, latency)
    local sum = {passed = 0, failed = 0}
    for _, thread in ipairs(threads) do
        for name in pairs(sum) do
            sum[name] = sum[name] + (thread:get(name) or 0)
        end
    end
    local errors = summary.errors
    io.write(string.format(
        '\nRESULT {"rate":%.0f,"p99_ms":%.3f,"worst_ms":%.3f,"passed":%d,"failed":%d}\n',
        summary.requests / (summary.duration / 1e6), latency:percentile(99) / 1000, latency.max / 1000,
        sum.passed, sum.failed + errors.connect + errors.read + errors.write + errors.timeout))
end
