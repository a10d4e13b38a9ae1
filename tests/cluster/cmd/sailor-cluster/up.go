package main

import (
	"context"

	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"

	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sailor.dev/tests/cluster/cloud"
	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/control"
	"sailor.dev/tests/cluster/controlplane"
	"sailor.dev/tests/cluster/network"
	"sailor.dev/tests/cluster/services"
)

func upCommand(dir *string) *cobra.Command {
	var configFile string
	var untilEOF bool
	up := &cobra.Command{Use: "up", Short: "Start a cluster and stay until SIGINT, SIGTERM or `sailor-cluster down`", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if os.Geteuid() != 0 {
				return becomeRootOfNamespace()
			}
			c, err := config.Load(configFile)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if untilEOF {
				go func() {
					_, _ = io.Copy(io.Discard, os.Stdin)
					stop()
				}()
			}
			return up(ctx, stop, *dir, c)
		}}
	up.Flags().StringVar(&configFile, "config", "", "what the cluster is made of; tests/cluster/gke.yaml is an example")
	up.Flags().BoolVar(&untilEOF, "until-eof", false, "stop also when standard input ends: with a pipe, when the process that holds it ends")
	_ = up.MarkFlagRequired("config") // fails for an unknown flag only
	return up
}

// becomeRootOfNamespace starts this program anew in a user namespace, where it may mount and make namespaces.
func becomeRootOfNamespace() error {
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return fmt.Errorf("a user who is not root needs the program unshare (Debian: util-linux): %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{"unshare", "--user", "--map-root-user", "--mount", self}, os.Args[1:]...)
	return syscall.Exec(unshare, args, os.Environ())
}

// up runs a cluster until ctx ends or one of its parts does.
func up(ctx context.Context, stop func(), dir string, c config.Config) error {
	began := time.Now()
	dir, err := prepareFolder(dir)
	if err != nil {
		return err
	}
	listener, err := control.Listen(dir) // first of all, as it is the lock
	if err != nil {
		return err
	}
	defer listener.Close()
	server := control.NewServer(stop)
	go server.Serve(listener)
	if err := emptyFolder(dir); err != nil {
		return err
	}
	claim, err := network.NewClaim(c.Network)
	if err != nil {
		return err
	}
	defer claim.Close()
	cp, err := controlplane.Start(ctx, controlplane.Settings{Dir: dir, Network: claim.Network, Port: claim.ServerPort(c.Port), Args: c.Args})
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer cp.Stop()
	say(began, "the control plane is ready")
	return unlessStopped(ctx, runMachines(ctx, server, c, cp, began))
}

// runMachines adds the nodes to a control plane and stays until ctx ends or a component does.
func runMachines(ctx context.Context, server *control.Server, c config.Config, cp *controlplane.ControlPlane, began time.Time) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		select {
		case err := <-cp.Failed():
			fail(err)
		case <-ctx.Done():
		}
	}()
	machines, err := cloud.New(ctx, c, cp)
	if err != nil {
		return err
	}
	defer machines.Close()
	server.Provide(machines)
	go services.Forward(ctx, cp.Client, func(err error) { fmt.Fprintln(os.Stderr, "sailor-cluster:", err) })
	if err := machines.StartPools(ctx); err != nil {
		return err
	}
	go machines.Autoscale(ctx)
	say(began, "the nodes are ready")
	fmt.Printf("ready: export KUBECONFIG=%s\n", controlplane.AdminKubeconfig(cp.Dir))
	<-ctx.Done()
	return context.Cause(ctx)
}

func say(began time.Time, what string) {
	fmt.Printf("%s after %.1f s\n", what, time.Since(began).Seconds())
}

// unlessStopped returns nil if the end was requested, and else the error.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
