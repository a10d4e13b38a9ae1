package control

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Server answers requests. It listens before there is a cluster: requests that need one wait.
type Server struct {
	stop    func() // called for a request to end the cluster
	provide sync.Once
	ready   chan struct{} // closed when operations is set
	cluster Operations
}

// NewServer has no cluster yet.
func NewServer(stop func()) *Server { return &Server{stop: stop, ready: make(chan struct{})} }

// Provide gives it the cluster.
func (s *Server) Provide(cluster Operations) {
	s.provide.Do(func() {
		s.cluster = cluster
		close(s.ready)
	})
}

// Serve answers until the listener is closed.
func (s *Server) Serve(listener net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stop", func(_ http.ResponseWriter, r *http.Request) {
		s.stop()
		<-r.Context().Done() // the caller learns of our end by the end of the connection
	})
	s.handle(mux, "/ready", func(r *http.Request) (any, error) { return nil, s.cluster.Ready(r.Context()) })
	s.handle(mux, "/nodes", func(r *http.Request) (any, error) { return s.cluster.Nodes(r.Context()) })
	s.handle(mux, "/pools/{name}/add", func(r *http.Request) (any, error) { return s.cluster.Add(r.Context(), r.PathValue("name")) })
	s.handle(mux, "/pools", func(r *http.Request) (any, error) { return s.cluster.Pools(r.Context()) })
	s.handle(mux, "/pools/{name}/stock", func(r *http.Request) (any, error) { return nil, s.setStock(r) })
	s.onNode(mux, "preempt", func(ctx context.Context, node string, r *http.Request) error {
		grace, err := time.ParseDuration(r.URL.Query().Get("grace"))
		if err != nil {
			return err
		}
		return s.cluster.Preempt(ctx, node, grace)
	})
	s.onNode(mux, "slow", func(ctx context.Context, node string, r *http.Request) error {
		factor, err := strconv.ParseFloat(r.URL.Query().Get("factor"), 64)
		if err != nil {
			return err
		}
		return s.cluster.Slow(ctx, node, factor)
	})
	for verb, operate := range map[string]func(Operations, context.Context, string) error{
		"kill": Operations.Kill, "start": Operations.Start, "freeze": Operations.Freeze, "thaw": Operations.Thaw, "delete": Operations.Delete} {
		s.onNode(mux, verb, func(ctx context.Context, node string, _ *http.Request) error { return operate(s.cluster, ctx, node) })
	}
	_ = http.Serve(listener, mux) // ends when the listener is closed
}

func (s *Server) setStock(r *http.Request) error {
	pool, machines := r.PathValue("name"), r.URL.Query().Get("machines")
	if machines == "" {
		return s.cluster.SetUnlimitedStock(r.Context(), pool)
	}
	count, err := strconv.Atoi(machines)
	if err != nil {
		return err
	}
	return s.cluster.SetStock(r.Context(), pool, count)
}

func (s *Server) onNode(mux *http.ServeMux, verb string, operate func(context.Context, string, *http.Request) error) {
	s.handle(mux, "/nodes/{name}/"+verb, func(r *http.Request) (any, error) {
		return nil, operate(r.Context(), r.PathValue("name"), r)
	})
}

// handle answers with what the cluster says, in JSON, or with its error as text.
func (s *Server) handle(mux *http.ServeMux, path string, answer func(*http.Request) (any, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.ready:
		case <-r.Context().Done():
			return
		}
		body, err := answer(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // an error means that the caller has gone
	})
}
