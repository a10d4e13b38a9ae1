package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sailor.dev/tests/cluster/control"
)

// unlimited stands for the stock of a cloud that has any number of machines.
const unlimited = "unlimited"

func poolCommand(dir *string) *cobra.Command {
	pool := &cobra.Command{Use: "pool", Short: "See the node pools and how many machines the cloud has for them"}
	pool.AddCommand(
		onCluster(dir, "list", "List the pools: name, machines, minimum and maximum, machines to come, stock, end of the backoff", cobra.NoArgs, listPools),
		onCluster(dir, "stock POOL N", "Let the cloud give the autoscaler N more machines of a pool; `unlimited` ends it", cobra.ExactArgs(2), setStock))
	return pool
}

func setStock(ctx context.Context, c *control.Client, args []string) error {
	if args[1] == unlimited {
		return c.SetUnlimitedStock(ctx, args[0])
	}
	machines, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("the stock %q is not a number of machines; write one such as 2, or %s", args[1], unlimited)
	}
	return c.SetStock(ctx, args[0], machines)
}

func listPools(ctx context.Context, c *control.Client, _ []string) error {
	pools, err := c.Pools(ctx)
	if err != nil {
		return err
	}
	return printPools(os.Stdout, pools)
}

// printPools writes a dash for what a pool does not have.
func printPools(w io.Writer, pools []control.Pool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tCOUNT\tMIN\tMAX\tUPCOMING\tSTOCK\tBACKOFF-UNTIL")
	for _, p := range pools {
		minimum, maximum, stock, backoff := "-", "-", "-", "-"
		if p.Limits != nil {
			minimum, maximum, stock = strconv.Itoa(p.Limits.Min), strconv.Itoa(p.Limits.Max), unlimited
		}
		if p.Stock != nil {
			stock = strconv.Itoa(*p.Stock)
		}
		if p.BackoffUntil != nil {
			backoff = p.BackoffUntil.Local().Format(time.TimeOnly)
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%d\t%s\t%s\n", p.Name, p.Count, minimum, maximum, p.Upcoming, stock, backoff)
	}
	return table.Flush()
}
