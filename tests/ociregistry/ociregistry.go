// Package ociregistry is a registry of images and charts in memory, for tests.
package ociregistry

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Start returns the registry's HOST:PORT. It has no certificate, so its clients must speak plain HTTP. It ends with the test.
func Start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
