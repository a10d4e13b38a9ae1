package e2e

import (
	"strings"
	"testing"

	"sailor.dev/tests/trainingjob"
)

// kubectlSailor runs the plugin as kubectl does.
func (w *world) kubectlSailor(arguments ...string) string {
	w.t.Helper()
	said, err := cluster.Kubectl(w.ctx, append(append([]string{"sailor"}, arguments...), "-n", w.namespace)...)
	if err != nil {
		w.t.Fatal(err)
	}
	return said
}

func TestThePluginShowsAJobAndSuspendsAndResumesIt(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "plugin", Steps: trainingjob.Endless})
	w.until("it trains", func(job trainingjob.Job) bool { return trains(job, 0) })
	for _, c := range []struct {
		command []string
		says    []string
	}{
		{[]string{"top"}, []string{"plugin", "Running"}},
		{[]string{"explain", "plugin"}, []string{w.namespace + "/plugin: Running", "Plan      1 on ", "stage 0"}},
		{[]string{"history", "plugin"}, []string{"has not changed"}},
		{[]string{"logs", "plugin"}, []string{"process=worker-0"}},
	} {
		said := w.kubectlSailor(c.command...)
		for _, part := range c.says {
			if !strings.Contains(said, part) {
				t.Errorf("`kubectl sailor %s` does not say %q:\n%s", strings.Join(c.command, " "), part, said)
			}
		}
	}
	w.kubectlSailor("suspend", "plugin")
	w.until("it is suspended", func(job trainingjob.Job) bool { return job.Is("Suspended") })
	w.untilNoPods()
	if said := w.kubectlSailor("explain", "plugin"); !strings.Contains(said, "Suspended") {
		t.Errorf("a suspended job is explained like this:\n%s", said)
	}
	w.kubectlSailor("resume", "plugin")
	w.until("it trains again", func(job trainingjob.Job) bool { return trains(job, 1) })
}
