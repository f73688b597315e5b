//go:build tools

// The module that is built here: envoyproxy/ratelimit's server.
package tools

import _ "github.com/envoyproxy/ratelimit/src/service_cmd"
