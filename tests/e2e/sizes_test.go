//go:build !long

package e2e

// How much tests do that get longer with it. The suite `long` does more, see whole_sizes_test.go.
const (
	stormEvents = 30 // the default; SAILOR_STORM_EVENTS sets another number
	signalsSent = 21 // the default; SAILOR_SIGNALS sets another number. With the default seed, two of them kill an agent
)
