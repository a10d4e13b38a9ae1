package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/dashboards"
	"sailor.dev/tests/installation"
)

const (
	prometheusPort = 19090
	scrapeInterval = 3 * time.Second
	// The dashboards compare the cost with the limits of the job. These do not limit the quickstart.
	costLimits = `{"spec": {"objective": {"maxCostPerIteration": "0.01", "maxCostPerHour": "10"}}}`
)

// monitoring is a Prometheus that scrapes the operator while the job trains.
type monitoring struct {
	server *dashboards.Server
	began  time.Time
}

func (d *demo) startMonitoring(ctx context.Context) (*monitoring, error) {
	d.screen.step("Starting Prometheus, which scrapes the operator every three seconds")
	pods, err := d.cluster.Kubernetes.CoreV1().Pods(installation.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(pods.Items) == 0 {
		return nil, fmt.Errorf("the operator has no pod in namespace %s", installation.Namespace)
	}
	folder := filepath.Join(d.dir, "prometheus")
	if err := os.RemoveAll(folder); err != nil { // the data of an earlier run
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	server, err := dashboards.Serve(ctx, d.root, folder, pods.Items[0].Status.PodIP+":9090", prometheusPort, scrapeInterval)
	if err != nil {
		return nil, err
	}
	return &monitoring{server, time.Now()}, nil
}

// draw writes the dashboards as they look now.
func (m *monitoring) draw(ctx context.Context, d *demo) error {
	folder := filepath.Join(d.root, "build", "dashboards")
	view := dashboards.View{From: m.began, To: time.Now(), ScrapeInterval: scrapeInterval, Points: 120}
	if err := dashboards.Write(ctx, d.root, folder, m.server.Prometheus, view); err != nil {
		return err
	}
	d.screen.step("Drawing the dashboards of charts/sailor from what Prometheus has seen")
	d.screen.note("open " + filepath.Join(folder, "sailor-job.html") + " or sailor-fleet.html; to import into Grafana: the .json beside them")
	return nil
}
