package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"golang.org/x/term"

	"sailor.dev/tests/trainingjob"
)

// screen shows the story: headlines, and under each the job's line, which a terminal shows updated in place. In a pipe a
// line is printed when state or generation has changed, and every stepsBetweenLines steps.
type screen struct {
	out      *os.File
	terminal bool
	steps    int    // headlines so far
	line     string // the text of the terminal's last line
	shape    string // state and generation of the last line in a pipe
	lastStep int64  // the step of the last line in a pipe
}

func newScreen(out *os.File) *screen {
	return &screen{out: out, terminal: term.IsTerminal(int(out.Fd()))}
}

func (s *screen) step(text string) {
	s.endLine()
	s.steps++
	fmt.Fprintf(s.out, "\n%d. %s\n", s.steps, text)
}

func (s *screen) note(text string) {
	s.endLine()
	fmt.Fprintf(s.out, "   %s\n", text)
}

// endLine ends the job's line if the terminal shows one.
func (s *screen) endLine() {
	if s.line != "" {
		fmt.Fprintln(s.out)
		s.line = ""
	}
}

const stepsBetweenLines = 50 // for output to a pipe

func (s *screen) job(job trainingjob.Job) {
	line := "   " + describe(job)
	if s.terminal {
		width, _, err := term.GetSize(int(s.out.Fd()))
		if runes := []rune(line); err == nil && len(runes) > width-1 {
			line = string(runes[:width-1])
		}
		if line != s.line {
			io.WriteString(s.out, "\r\033[K"+line)
			s.line = line
		}
		return
	}
	shape := fmt.Sprint(job.Status.State, job.Status.Plan.Generation)
	step := job.Status.Progress.Step
	if shape != s.shape || step >= s.lastStep+stepsBetweenLines {
		fmt.Fprintln(s.out, line)
		s.shape, s.lastStep = shape, step
	}
}

// describe returns the job in one line. The longest part comes last, because a narrow terminal cuts it off.
func describe(job trainingjob.Job) string {
	status := job.Status
	parts := []string{fmt.Sprintf("%-9s", orDash(status.State))}
	if progress := status.Progress; progress.Step > 0 {
		parts = append(parts, fmt.Sprintf("step %d/%d", progress.Step, progress.TotalSteps), fmt.Sprintf("loss %.3f", trainingjob.Decimal(progress.Loss)))
		if progress.TokensPerSecond > 0 { // a generation's first step is not measured: it warms up
			parts = append(parts, fmt.Sprintf("%d tokens/s", progress.TokensPerSecond))
		}
	}
	if rate := status.Progress.DollarsPerHour; rate != "" {
		parts = append(parts, fmt.Sprintf("$%.2f/h", trainingjob.Decimal(rate)))
	}
	if plan := status.Plan; plan.Generation > 0 {
		parts = append(parts, fmt.Sprintf("plan %d: %d GPUs (%s)", plan.Generation, plan.TotalGPUs, poolsOf(plan)))
	}
	if planned := job.Condition("Planned"); !job.Is("Running") && planned.Status == "False" {
		parts = append(parts, planned.Message)
	}
	return strings.Join(parts, "  ")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// poolsOf shortens 2 of us-central1-b/nvidia-l4/spot to "2 l4 us-central1-b spot", and leaves "ondemand" out.
func poolsOf(plan trainingjob.Plan) string {
	var pools []string
	for _, pool := range plan.GPUs {
		parts := strings.Split(pool.Pool, "/")
		if len(parts) == 3 {
			accelerator := strings.TrimPrefix(strings.TrimPrefix(parts[1], "nvidia-"), "tesla-")
			provisioning := strings.TrimSuffix(" "+parts[2], " ondemand")
			pools = append(pools, fmt.Sprintf("%d %s %s%s", pool.GPUs, accelerator, parts[0], provisioning))
		}
	}
	sort.Strings(pools)
	return strings.Join(pools, ", ")
}
