//! Decisions of governor, throttlecrab and limitador in one thread, measured as bench/peers/README.md says.
//!
//!     peers governor|throttlecrab|limitador KEYS DECISIONS

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::SystemTime;

use governor::{Quota, RateLimiter};
use limitador::limit::{Context, Limit};
use throttlecrab::AdaptiveStore;

const LIMIT: u32 = 1_000_000_000;

fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const OF_PROCESS: i32 = 2;
const OF_THREAD: i32 = 3;

/// Nanoseconds that this process, or this thread, has used of a processor: other programs don't count.
fn used(clock: i32) -> i64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(clock, &mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// The same sequence in all languages.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

fn measure(keys: &[String], decisions: usize, mut decide: impl FnMut(&String) -> bool) {
    let before = resident_bytes();
    for key in keys {
        decide(key);
    }
    let bytes = (resident_bytes() - before) / keys.len() as f64;
    let mut sequence = Sequence(42);
    let mut passed = 0;
    let began = used(OF_PROCESS);
    for _ in 0..decisions {
        passed += decide(&keys[sequence.next(keys.len())]) as usize;
    }
    let ns = (used(OF_PROCESS) - began) as f64 / decisions as f64;
    let mut worst = 0;
    for _ in 0..decisions {
        let key = &keys[sequence.next(keys.len())];
        let began = used(OF_THREAD);
        passed += decide(key) as usize;
        worst = worst.max(used(OF_THREAD) - began);
    }
    println!(
        "{{\"ns\":{ns:.1},\"worst_us\":{:.1},\"bytes_per_key\":{bytes:.0},\"passed\":{passed}}}",
        worst as f64 / 1000.0
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let keys: Vec<String> = (0..arguments[2].parse().unwrap()).map(|i: usize| format!("user:{i}")).collect();
    let decisions = arguments[3].parse().unwrap();
    match arguments[1].as_str() {
        "governor" => {
            let limiter = RateLimiter::hashmap(Quota::per_minute(NonZeroU32::new(LIMIT).unwrap()));
            measure(&keys, decisions, |key| limiter.check_key(key).is_ok());
        }
        "throttlecrab" => {
            let mut limiter = throttlecrab::RateLimiter::new(AdaptiveStore::with_capacity(keys.len()));
            let limit = i64::from(LIMIT);
            measure(&keys, decisions, |key| {
                limiter.rate_limit(key, limit, limit, 60, 1, SystemTime::now()).unwrap().0
            });
        }
        "limitador" => {
            // Its counters are in a cache, which evicts above this capacity.
            let limiter = limitador::RateLimiter::new(keys.len().max(1000) as u64);
            let variable = "user".try_into().unwrap();
            limiter.add_limit(Limit::new("peers", u64::from(LIMIT), 60, vec![], vec![variable]));
            let namespace = "peers".into();
            measure(&keys, decisions, |key| {
                let context = Context::from(HashMap::from([("user".to_string(), key.clone())]));
                !limiter.check_rate_limited_and_update(&namespace, &context, 1).unwrap().limited
            });
        }
        other => panic!("no limiter is called {other}"),
    }
}
