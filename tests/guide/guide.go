// Package guide runs the commands of docs/gke.md on the local cluster. What only the cloud can do is looked at instead: commands of gcloud
// by gcloud's own linter where it is installed, those of docker by whether the Dockerfile has what they build.
// It also installs several releases as the README of the chart says, and measures a model and the
// network as docs/trainer.md says.
package guide

import (
	"fmt"
	"regexp"
	"strings"
)

// section is a part of a page: its heading and the lines of its shell commands.
type section struct {
	heading  string
	commands string
}

// sections returns those of a page that have commands.
func sections(page string) (found []section) {
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	for _, part := range regexp.MustCompile(`(?m)^## `).Split(page, -1) {
		heading, text, _ := strings.Cut(part, "\n")
		var commands strings.Builder
		for _, block := range blocks.FindAllStringSubmatch(text, -1) {
			commands.WriteString(block[1])
		}
		if commands.Len() > 0 {
			found = append(found, section{heading: heading, commands: commands.String()})
		}
	}
	return found
}

// programs are scripts that take the place of programs on the way from the page to the local cluster. Each gets as %[1]s the folder in
// which it notes what it was asked, as %[2]s the folder of the real programs and as %[3]s the address of a registry.
var programs = map[string]string{
	// Nothing is asked of a cloud.
	"gcloud": `printf 'gcloud' >>%[1]s/gcloud; printf ' %%q' "$@" >>%[1]s/gcloud; echo >>%[1]s/gcloud`,
	"docker": `echo "$*" >>%[1]s/docker`,
	// The registry of the test has no certificate. All pods share the loopback address, so only one replica can show its pages there.
	"helm": `arguments=()
for argument; do
  case $argument in
    oci://*) arguments+=("oci://%[3]s/${argument##*/sailor/}" --plain-http) ;;
    *) arguments+=("$argument") ;;
  esac
done
[ "$1" != install ] || arguments+=(--set replicas=1)
exec %[2]s/helm "${arguments[@]}"`,
	// A person watches until the job runs and ends the watch with Ctrl-C.
	"kubectl": `case " $* " in
  *" --watch "*)
    exec {lines}< <(exec timeout 240 %[2]s/kubectl "$@")
    watch=$!
    while read -r -u "$lines" line; do
      echo "$line"
      [[ $line != *" Running "* ]] || exec kill "$watch"
    done
    %[2]s/kubectl describe tj
    exit 1 ;;
  *) exec %[2]s/kubectl "$@" ;;
esac`,
}

func script(program, notes, bin, registry string) string {
	return "#!/usr/bin/env bash\nset -euo pipefail\n" + fmt.Sprintf(programs[program], notes, bin, registry) + "\n"
}
