// Decisions of golang.org/x/time/rate in one goroutine, measured as README.md of this folder says.
//
//	peers KEYS DECISIONS
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/time/rate"
)

const limit = 1_000_000_000

// x/time has no keys: the usual way is a map of limiters with a lock.
type limiters struct {
	mutex sync.Mutex
	byKey map[string]*rate.Limiter
}

func (l *limiters) allow(key string) bool {
	l.mutex.Lock()
	limiter, ok := l.byKey[key]
	if !ok {
		limiter = rate.NewLimiter(limit/60, limit)
		l.byKey[key] = limiter
	}
	l.mutex.Unlock()
	return limiter.Allow()
}

// After a garbage collection that returns unused memory to the system.
func residentBytes() float64 {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	pages, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return pages * 4096
}

const (
	ofProcess = 2
	ofThread  = 3
)

// Nanoseconds that this process, or this thread, has used of a processor: other programs don't count.
func used(clock uintptr) int64 {
	var time syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&time)), 0)
	return time.Nano()
}

// The same sequence in all languages.
type sequence uint64

func (s *sequence) next(below int) int {
	*s ^= *s << 13
	*s ^= *s >> 7
	*s ^= *s << 17
	return int(uint64(*s) % uint64(below))
}

func main() {
	runtime.LockOSThread()
	count, _ := strconv.Atoi(os.Args[1])
	decisions, _ := strconv.Atoi(os.Args[2])
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%d", i)
	}
	before := residentBytes()
	all := limiters{byKey: map[string]*rate.Limiter{}}
	for _, key := range keys {
		all.allow(key)
	}
	bytes := (residentBytes() - before) / float64(count)
	random := sequence(42)
	passed := 0
	began := used(ofProcess)
	for i := 0; i < decisions; i++ {
		if all.allow(keys[random.next(count)]) {
			passed++
		}
	}
	ns := float64(used(ofProcess)-began) / float64(decisions)
	worst := int64(0)
	for i := 0; i < decisions; i++ {
		key := keys[random.next(count)]
		began := used(ofThread)
		if all.allow(key) {
			passed++
		}
		worst = max(worst, used(ofThread)-began)
	}
	fmt.Printf("{\"ns\":%.1f,\"worst_us\":%.1f,\"bytes_per_key\":%.0f,\"passed\":%d}\n",
		ns, float64(worst)/1000, bytes, passed)
}
