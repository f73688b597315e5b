-- The load that wrk puts on a server: single decisions over KEYS identifiers in turn, or, where BATCH is not 0, one
-- request after the other with BATCH decisions each. DURATION is that of the limits, in milliseconds.
--
--     wrk ... -s load.lua URL -- KEYS BATCH DURATION

local duration

local function item_of(key)
    return string.format(
        '{"namespace":"bench","cost":1,"duration":%d,"identifier":"user_%06d","limit":9007199254740991}',
        duration, key)
end

local function batch_of(size)
    local items = {}
    for key = 0, size - 1 do items[#items + 1] = item_of(key) end
    return "[" .. table.concat(items, ",") .. "]"
end

-- A step that shares no factor with the number of keys visits all of them, in an order that no cache can guess.
local function ask_in_turn(keys)
    local requests, step, at = {}, 61803, 0
    for key = 0, keys - 1 do requests[#requests + 1] = wrk.format(nil, nil, nil, item_of(key)) end
    request = function()
        at = (at + step) % keys
        return requests[at + 1]
    end
end

-- Without a function `request`, wrk sends the same bytes over and over and spends no time on Lua.
function init(args)
    local keys, batch = tonumber(args[1]), tonumber(args[2])
    duration = tonumber(args[3])
    wrk.method = "POST"
    wrk.headers["Content-Type"] = "application/json"
    wrk.path = batch == 0 and "/v2/ratelimit.limit" or "/v2/ratelimit.multiLimit"
    wrk.body = batch == 0 and item_of(0) or batch_of(batch)
    if keys > 1 then ask_in_turn(keys) end
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        'RESULT {"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "failed": %d}\n',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
