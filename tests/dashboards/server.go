package dashboards

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sailor.dev/tests/cluster/testcluster"
)

// Server is Debian's Prometheus, which scrapes one address.
type Server struct {
	Prometheus
	command *exec.Cmd
}

// Serve starts Prometheus on a port of this machine, and returns when it has scraped the target. It keeps its data in the folder.
func Serve(ctx context.Context, root, folder, target string, port int, interval time.Duration) (*Server, error) {
	config := filepath.Join(folder, "prometheus.yml")
	// The label namespace is what a Prometheus in the cluster would add. It makes Prometheus rename the job's own labels.
	text := fmt.Sprintf("scrape_configs: [{job_name: sailor, scrape_interval: %s, static_configs: [{targets: ['%s'], labels: {namespace: sailor-system}}]}]\n",
		interval, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	command := exec.CommandContext(ctx, filepath.Join(root, ".deps", "prometheus", "usr", "bin", "prometheus"), "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address, "--log.level=error")
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting Prometheus, which scripts/setup.sh unpacks: %w", err)
	}
	server := &Server{Prometheus("http://" + address), command}
	if err := server.awaitFirstScrape(ctx); err != nil {
		server.Stop()
		return nil, err
	}
	return server, nil
}

// awaitFirstScrape returns when the server has data. On a busy machine its start takes seconds, of which it would know nothing.
func (s *Server) awaitFirstScrape(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return testcluster.Await(ctx, "the first scrape of Prometheus", func(ctx context.Context) (bool, error) {
		up, _, err := s.Value(ctx, "up")
		return up == 1, err
	})
}

func (s *Server) Stop() {
	_ = s.command.Process.Kill() // the process may have ended already
	_ = s.command.Wait()         // returns an error, because the signal ended the process
}
