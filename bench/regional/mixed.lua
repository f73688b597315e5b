-- A load as production has it: KEYS identifiers, of which the k-th is requested with density 1/k, with limits and
-- windows that differ by key. Keys are drawn with the given SEED. Thread i calls the server on the i-th PORT.
--
--     wrk -t THREADS ... -s mixed.lua URL -- KEYS SEED PORT...

local LIMITS = {10000, 1000, 100, 20, 5}
local WINDOWS = {10000, 60000, 3600000}  -- milliseconds

local function body(key)
    return string.format(
        '{"namespace":"bench","cost":1,"duration":%d,"identifier":"user_%06d","limit":%d}',
        WINDOWS[math.floor(key / #LIMITS) % #WINDOWS + 1], key, LIMITS[key % #LIMITS + 1])
end

-- The cumulated density of the keys 1 to `keys`.
local function cumulated(keys)
    local sums, sum = {}, 0
    for key = 1, keys do
        sum = sum + 1 / key
        sums[key] = sum
    end
    return sums
end

-- The first key whose sum is above `value`.
local function key_at(sums, value)
    local low, high = 1, #sums
    while low < high do
        local middle = math.floor((low + high) / 2)
        if sums[middle] > value then high = middle else low = middle + 1 end
    end
    return low
end

-- Formats a key's request when it is first drawn: wrk starts each thread as soon as that one is set up, and counts
-- what it does while others are being set up, so that has to be quick.
local function ask_at_random(keys)
    local requests, sums = {}, cumulated(keys)
    request = function()
        local key = key_at(sums, math.random() * sums[keys])
        local bytes = requests[key]
        if not bytes then
            bytes = wrk.format(nil, nil, nil, body(key))
            requests[key] = bytes
        end
        return bytes
    end
end

local threads = 0
function setup(thread)
    threads = threads + 1
    thread:set("number", threads)
end

function init(args)
    local keys, seed, port = tonumber(args[1]), tonumber(args[2]), args[2 + number]
    wrk.method, wrk.path = "POST", "/v2/ratelimit.limit"
    wrk.headers["Content-Type"] = "application/json"
    wrk.thread.addr = wrk.lookup("127.0.0.1", port)[1]
    math.randomseed(seed * 100 + number)
    ask_at_random(keys)
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        'RESULT {"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "failed": %d}\n',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
