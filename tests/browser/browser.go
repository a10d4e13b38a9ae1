// Package browser looks at pages in a real Chromium, as a phone and as a desktop, in light and in dark.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sailor.dev/tests/cluster/testcluster"
)

const (
	axeInWheel = ".deps/browser/axe_playwright_python/axe.min.js"
	patience   = time.Minute
)

// look is what Chromium finds on a page of some width.
type look struct {
	Width    int `json:"width"`
	Overflow int `json:"overflow"` // pixels by which the content is wider
	Problems []struct {
		ID     string `json:"id"`
		Impact string `json:"impact"`
		Help   string `json:"help"`
		Nodes  []struct {
			HTML    string `json:"html"`
			Summary string `json:"failureSummary"`
		} `json:"nodes"`
	} `json:"problems"`
	Failure string `json:"failure"` // why axe could not look
}

// frames shows a page in frames of these widths, one after the other, and writes what axe finds in each.
const frames = `<!doctype html>
<html lang="en"><title>frames</title>
<body>
<script>
async function lookAt(width) {
  const frame = document.createElement('iframe');
  frame.style.cssText = 'border: 0; height: 900px; width: ' + width + 'px';
  frame.src = 'page.html';
  await new Promise(loaded => { frame.onload = loaded; document.body.append(frame); });
  const page = frame.contentDocument.documentElement;
  const seen = {width: width, overflow: page.scrollWidth - page.clientWidth, problems: []};
  try {
    seen.problems = (await frame.contentWindow.axe.run(frame.contentDocument, {resultTypes: ['violations']})).violations;
  } catch (error) {
    seen.failure = String(error);
  }
  frame.remove();
  return seen;
}
(async () => {
  const looks = [];
  for (const width of [360, 1280]) looks.push(await lookAt(width));
  const result = document.createElement('pre');
  result.id = 'looks';
  result.textContent = JSON.stringify(looks);
  document.body.append(result);
})();
</script>`

// Check fails the test if the page is wider than a phone or a desktop, or if axe finds something serious, in light or in dark. Without
// Chromium, it skips the test.
func Check(t *testing.T, name, page string) {
	t.Helper()
	for _, finding := range findings(t, page) {
		t.Errorf("%s: %s", name, finding)
	}
}

// findings returns what is wrong with a page.
func findings(t *testing.T, page string) (all []string) {
	t.Helper()
	chromium, axe := find(t)
	if !strings.Contains(page, "</body>") {
		t.Fatalf("this is no page: %.200s", page)
	}
	folder := t.TempDir()
	withAxe := strings.Replace(page, "</body>", "<script>"+axe+"</script></body>", 1)
	for file, text := range map[string]string{"frames.html": frames, "page.html": withAxe} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for number, scheme := range []string{"dark", "light"} { // as Blink counts them
		for _, seen := range open(t, chromium, folder, number) {
			for _, finding := range seen.findings() {
				all = append(all, fmt.Sprintf("%s, %d pixels wide: %s", scheme, seen.Width, finding))
			}
		}
	}
	return all
}

func find(t *testing.T) (chromium, axe string) {
	t.Helper()
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, missing := os.ReadFile(filepath.Join(root, axeInWheel))
	chromium, absent := exec.LookPath("chromium")
	if missing != nil || absent != nil {
		t.Skip("there is no Chromium, or no axe; scripts/setup.sh browser installs both")
	}
	return chromium, string(text)
}

// open returns what Chromium finds with a preferred colour scheme, by Blink's number.
func open(t *testing.T, chromium, folder string, scheme int) (looks []look) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--allow-file-access-from-files", "--user-data-dir="+filepath.Join(folder, "profile"), "--window-size=1400,1000",
		fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), "--virtual-time-budget=60000", "--dump-dom",
		"file://"+filepath.Join(folder, "frames.html"))
	var errors bytes.Buffer
	command.Stderr, command.WaitDelay = &errors, time.Second
	document, err := command.Output()
	if err != nil {
		t.Fatalf("Chromium: %v: %s", err, errors.String())
	}
	found := regexp.MustCompile(`(?s)<pre id="looks">(.*?)</pre>`).FindSubmatch(document)
	if found == nil {
		t.Fatalf("Chromium did not finish: %.500s", document)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(string(found[1]))), &looks); err != nil {
		t.Fatal(err)
	}
	return looks
}

func (l look) findings() (all []string) {
	if l.Failure != "" {
		all = append(all, "axe could not look: "+l.Failure)
	}
	if l.Overflow > 0 {
		all = append(all, fmt.Sprintf("its content is %d pixels wider", l.Overflow))
	}
	for _, problem := range l.Problems {
		if problem.Impact == "serious" || problem.Impact == "critical" {
			first := problem.Nodes[0]
			all = append(all, fmt.Sprintf("%s (%s, %d times), first in %.200s: %.300s", problem.Help, problem.ID, len(problem.Nodes), first.HTML, first.Summary))
		}
	}
	return all
}
