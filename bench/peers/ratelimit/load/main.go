// Requests decisions on 32 connections for some seconds and counts the answers. One that takes over a second has failed.
//
//	load grpc ADDRESS SECONDS KEYS      calls of Envoy's rate limit service
//	load http URL SECONDS KEYS BODY     requests with this body, in which KEY stands for the key
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	descriptor "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	connections = 32
	deadline    = time.Second
)

// decider requests one decision on its own connection, and reports whether it passed.
type decider func(ctx context.Context, key string) (bool, error)

func overGrpc(address string) (decider, error) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	client := rls.NewRateLimitServiceClient(connection)
	return func(ctx context.Context, key string) (bool, error) {
		entry := &descriptor.RateLimitDescriptor_Entry{Key: "remote_address", Value: key}
		response, err := client.ShouldRateLimit(ctx, &rls.RateLimitRequest{
			Domain:      "envoy",
			Descriptors: []*descriptor.RateLimitDescriptor{{Entries: []*descriptor.RateLimitDescriptor_Entry{entry}}},
		})
		if err != nil {
			return false, err
		}
		switch response.OverallCode {
		case rls.RateLimitResponse_OK:
			return true, nil
		case rls.RateLimitResponse_OVER_LIMIT:
			return false, nil
		}
		return false, fmt.Errorf("code %v", response.OverallCode)
	}, nil
}

func overHttp(url, body string) decider {
	client := http.Client{Transport: &http.Transport{}}
	return func(ctx context.Context, key string) (bool, error) {
		text := strings.NewReader(strings.ReplaceAll(body, "KEY", key))
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, text)
		if err != nil {
			return false, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Prefer", "status=429")
		response, err := client.Do(request)
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return false, err
		}
		switch response.StatusCode {
		case http.StatusOK:
			return true, nil
		case http.StatusTooManyRequests:
			return false, nil
		}
		return false, fmt.Errorf("status %d", response.StatusCode)
	}
}

type counts struct {
	passed, denied, failed int
	worst                  time.Duration
}

// load requests one decision after the other.
func load(decide decider, end time.Time, keys int, random *rand.Rand) counts {
	var got counts
	for time.Now().Before(end) {
		key := fmt.Sprintf("user:%d", random.Intn(keys))
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		began := time.Now()
		passed, err := decide(ctx, key)
		took := time.Since(began)
		cancel()
		if err != nil {
			got.failed++
			continue
		}
		if passed {
			got.passed++
		} else {
			got.denied++
		}
		got.worst = max(got.worst, took)
	}
	return got
}

func run(arguments []string) error {
	seconds, err := strconv.Atoi(arguments[2])
	if err != nil {
		return err
	}
	keys, err := strconv.Atoi(arguments[3])
	if err != nil {
		return err
	}
	deciders := make([]decider, connections)
	for i := range deciders {
		if arguments[0] == "http" {
			deciders[i] = overHttp(arguments[1], arguments[4])
		} else if deciders[i], err = overGrpc(arguments[1]); err != nil {
			return err
		}
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	results := make([]counts, connections)
	var running sync.WaitGroup
	for i := range results {
		running.Add(1)
		go func() {
			defer running.Done()
			results[i] = load(deciders[i], end, keys, rand.New(rand.NewSource(int64(i))))
		}()
	}
	running.Wait()
	var sum counts
	for _, each := range results {
		sum.passed += each.passed
		sum.denied += each.denied
		sum.failed += each.failed
		sum.worst = max(sum.worst, each.worst)
	}
	fmt.Printf("{\"passed\":%d,\"denied\":%d,\"failed\":%d,\"worst_ms\":%.3f}\n",
		sum.passed, sum.denied, sum.failed, float64(sum.worst.Microseconds())/1000)
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}
