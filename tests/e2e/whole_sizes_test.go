//go:build long

package e2e

// As in sizes_test.go, for `make test-all`.
const (
	stormEvents = 100
	signalsSent = 50
)
