package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sailor.dev/tests/cluster/control"
	"sailor.dev/tests/cluster/controlplane"
)

// dirVariable names the cluster's folder for all commands.
const dirVariable = "SAILOR_CLUSTER_DIR"

func defaultDir() string {
	if dir := os.Getenv(dirVariable); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "sailor-cluster")
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{Use: "sailor-cluster", Short: "A real Kubernetes cluster on one machine, with processes for containers",
		SilenceUsage: true, SilenceErrors: true}
	dir := root.PersistentFlags().String("dir", defaultDir(), "the cluster's folder ("+dirVariable+")")
	root.AddCommand(upCommand(dir), waitCommand(dir), downCommand(dir), nodeCommand(dir), poolCommand(dir), slowCommand(dir))
	return root
}

// onCluster makes a command that tells a running cluster something.
func onCluster(dir *string, use, short string, args cobra.PositionalArgs, tell func(context.Context, *control.Client, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(c *cobra.Command, args []string) error {
		client, err := control.NewClient(*dir)
		if err != nil {
			return err
		}
		return tell(context.Background(), client, args)
	}}
}

func waitCommand(dir *string) *cobra.Command {
	var timeout time.Duration
	wait := onCluster(dir, "wait", "Wait until the control plane and the configured nodes are ready, and print the KUBECONFIG", cobra.NoArgs,
		func(ctx context.Context, c *control.Client, _ []string) error {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			if err := c.Ready(ctx); err != nil {
				return err
			}
			fmt.Println(controlplane.AdminKubeconfig(*dir))
			return nil
		})
	wait.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "give up after this time")
	return wait
}

func downCommand(dir *string) *cobra.Command {
	return onCluster(dir, "down", "Stop the cluster and return when all of it has ended", cobra.NoArgs,
		func(ctx context.Context, c *control.Client, _ []string) error { return c.Stop(ctx) })
}

func nodeCommand(dir *string) *cobra.Command {
	node := &cobra.Command{Use: "node", Short: "Change the nodes, as a cloud and its faults do"}
	one := cobra.ExactArgs(1)
	add := onCluster(dir, "add POOL", "Start one more node in a pool and print its name", one,
		func(ctx context.Context, c *control.Client, args []string) error {
			name, err := c.Add(ctx, args[0])
			if err == nil {
				fmt.Println(name)
			}
			return err
		})
	var grace time.Duration
	preempt := onCluster(dir, "preempt NODE", "Taint the node, shut it down gracefully, kill it after the grace, delete its Node object", one,
		func(ctx context.Context, c *control.Client, args []string) error {
			return c.Preempt(ctx, args[0], grace)
		})
	preempt.Flags().DurationVar(&grace, "grace", 15*time.Second, "time between the notice and the end of the machine")
	onNode := func(use, short string, operate func(*control.Client, context.Context, string) error) *cobra.Command {
		return onCluster(dir, use+" NODE", short, one, func(ctx context.Context, c *control.Client, args []string) error {
			return operate(c, ctx, args[0])
		})
	}
	node.AddCommand(add, preempt,
		onNode("kill", "Kill a node and all that runs on it, without notice; its Node object stays", (*control.Client).Kill),
		onNode("start", "Start a killed node again", (*control.Client).Start),
		onNode("freeze", "Stop all processes of a node, as if it hung", (*control.Client).Freeze),
		onNode("thaw", "Let a frozen node go on", (*control.Client).Thaw),
		onNode("delete", "Kill a node and delete its Node object", (*control.Client).Delete),
		onCluster(dir, "list", "List the nodes: name, pool, address, state, process id of the kubelet, slowdown", cobra.NoArgs, listNodes))
	return node
}

func slowCommand(dir *string) *cobra.Command {
	return onCluster(dir, "slow NODE FACTOR", "Make the GPUs of a node take FACTOR times as long as usual; 1 ends it", cobra.ExactArgs(2),
		func(ctx context.Context, c *control.Client, args []string) error {
			factor, err := strconv.ParseFloat(args[1], 64)
			if err != nil {
				return fmt.Errorf("the factor %q is not a number; write one such as 4", args[1])
			}
			return c.Slow(ctx, args[0], factor)
		})
}

func listNodes(ctx context.Context, c *control.Client, _ []string) error {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPOOL\tADDRESS\tSTATE\tPID\tSLOWDOWN")
	for _, n := range nodes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%g\n", n.Name, n.Pool, n.Address, n.State, n.PID, n.Slowdown)
	}
	return table.Flush()
}
