//go:build tools

// The module that is built here: gubernator's server.
package tools

import _ "github.com/mailgun/gubernator/v2/cmd/gubernator"
