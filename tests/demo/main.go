// Command sailor-demo shows the whole system on this machine: a real local Kubernetes, the operator installed by helm, and
// a TrainingJob that loses a spot node, continues on the remaining nodes, and uses a node that is added.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := command().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; everything that was started has been stopped")
	}
	fmt.Fprintln(os.Stderr, "sailor-demo:", err)
	os.Exit(1)
}

func command() *cobra.Command {
	var options options
	root := &cobra.Command{
		Use: "sailor-demo", Short: "Train a job on a local Kubernetes, take a node away and give one back", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), options) },
	}
	root.Flags().BoolVar(&options.keep, "keep", false, "leave the cluster up in the end")
	root.Flags().BoolVar(&options.onlyCluster, "only-cluster", false, "start the cluster with the operator, run no job, and stay until interrupted")
	root.Flags().BoolVar(&options.dashboards, "dashboards", false, "scrape the operator with Prometheus, and draw the chart's dashboards in build/dashboards")
	root.Flags().BoolVar(&options.straggler, "straggler", false, "tell another story: a GPU of the job gets slow, gets less work, and recovers")
	root.MarkFlagsMutuallyExclusive("straggler", "dashboards")
	root.MarkFlagsMutuallyExclusive("straggler", "only-cluster")
	return root
}
