package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sailor.dev/tests/browser"
	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
	"sailor.dev/tests/trainingjob"
)

// page returns the status and the text of a page of the operator.
func page(ctx context.Context, path string) (int, string, error) {
	address, err := cluster.Kubectl(ctx, "-n", installation.Namespace, "get", "pods", "-l", "app.kubernetes.io/name=sailor",
		"-o", "jsonpath={.items[0].status.podIP}")
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+strings.TrimSpace(address)+":8083"+path, nil)
	if err != nil {
		return 0, "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

func TestTheStatusPageShowsARunningJobAndItsPlanAndForgetsItWithTheJob(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "shown", Steps: trainingjob.Endless})
	job := w.untilTraining()
	path := fmt.Sprintf("/jobs/%s/%s", w.namespace, w.job)
	status, text, err := page(w.ctx, path)
	if err != nil || status != http.StatusOK {
		t.Fatalf("the page of the job: %d, %v: %s", status, err, text)
	}
	pods, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "get", "pods", "-l", "sailor.dev/job-name="+w.job, "-o", "jsonpath={.items[*].spec.nodeName}")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range append(strings.Fields(pods), "Running", fmt.Sprintf("Plan %d was made", job.Status.Plan.Generation), "steps that count") {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q: %s", part, text)
		}
	}
	_, ofAll, err := page(w.ctx, "/")
	if err != nil || !strings.Contains(ofAll, `href="`+path[1:]+`"`) {
		t.Errorf("the page of all jobs does not refer to the job: %v: %s", err, ofAll)
	}
	t.Run("in a browser", func(t *testing.T) {
		browser.Check(t, "the page of the job", text)
		browser.Check(t, "the page of all jobs", ofAll)
	})
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "delete", "tj", w.job); err != nil {
		t.Fatal(err)
	}
	testcluster.Eventually(t, oneChange, "the page goes with the job", func(ctx context.Context) (bool, error) {
		status, _, err := page(ctx, path)
		return status == http.StatusNotFound, err
	})
}
