package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// objects returns the objects of a rendered chart.
func objects(t *testing.T, rendered string) []unstructured.Unstructured {
	t.Helper()
	var all []unstructured.Unstructured
	for _, document := range strings.Split("\n"+rendered, "\n---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all
}

// render is a template that must succeed.
func render(t *testing.T, args ...string) []unstructured.Unstructured {
	t.Helper()
	text, err := template(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, text)
}

func ofKind(all []unstructured.Unstructured, kind string) (found []unstructured.Unstructured) {
	for _, object := range all {
		if object.GetKind() == kind {
			found = append(found, object)
		}
	}
	return found
}

// container is the operator's.
func container(t *testing.T, all []unstructured.Unstructured) map[string]any {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(ofKind(all, "Deployment")[0].Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("the operator's pod has %d containers: %v", len(containers), err)
	}
	return containers[0].(map[string]any)
}

func TestLintHasNothingToSay(t *testing.T) { helm(t, "lint", "--strict", chartFolder()) }

func TestItCarriesTheDefinitionsOfTheRepositoryAndNothingElseOfThatFolder(t *testing.T) {
	definitions := ofKind(render(t), "CustomResourceDefinition")
	files, err := filepath.Glob(filepath.Join(root, "crds", "*.yaml"))
	if err != nil || len(files) != 4 || len(definitions) != len(files) {
		t.Fatalf("the chart has %d definitions, the repository %d files: %v", len(definitions), len(files), err)
	}
	carried := map[string]any{}
	for _, definition := range definitions {
		carried[definition.GetName()] = definition.Object["spec"]
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		original := objects(t, string(text))[0]
		if !reflect.DeepEqual(carried[original.GetName()], original.Object["spec"]) {
			t.Errorf("the chart's %s differs from %s", original.GetName(), file)
		}
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	for value, message := range map[string]string{
		"replica=2":                               "additional properties 'replica' not allowed",
		"metrics.serviceMonitor.enable=true":      "additional properties 'enable' not allowed",
		"replicas=-1":                             "minimum",
		"logLevel=verbose":                        "value must be one of",
		"image.repository=":                       "minLength",
		"image.digest=sha256:abc":                 "does not match pattern",
		"watchNamespaces={Team A}":                "does not match pattern",
		"watchNamespaces={a,a}":                   "are equal",
		"networkModel.tiers.zone.bandwidth=1":     "additional properties 'bandwidth' not allowed",
		"networkModel.pairs[0].from=a":            "missing property 'to'",
		"networkModel.execution.sums.rate=1":      "additional properties 'rate' not allowed",
		"plannerThreads=0":                        "minimum",
		"podStartLimitSeconds=0":                  "minimum",
		"peerTimeoutSeconds=0":                    "minimum",
		"coolDownSeconds=-1":                      "minimum",
		"extraArgs={debug}":                       "does not match pattern",
		"replicas=2,leaderElection.enabled=false": "replicas above 1 need leaderElection.enabled",
	} {
		_, err := template(t, "--set", value)
		if err == nil {
			t.Errorf("--set %s was accepted", value)
		} else if !strings.Contains(err.Error(), message) {
			t.Errorf("--set %s: the message lacks %q: %v", value, message, err)
		}
	}
}

func TestOptionalPartsComeWhenAskedForAndSayWhatTheyNeed(t *testing.T) {
	for _, part := range []struct{ value, kind, api string }{
		{"metrics.serviceMonitor.enabled", "ServiceMonitor", "monitoring.coreos.com/v1"},
		{"metrics.podMonitoring.enabled", "PodMonitoring", "monitoring.googleapis.com/v1"},
		{"metrics.prometheusRule.enabled", "PrometheusRule", "monitoring.coreos.com/v1"},
		{"metrics.rules.enabled", "Rules", "monitoring.googleapis.com/v1"},
	} {
		if len(ofKind(render(t), part.kind)) != 0 {
			t.Errorf("there is a %s without %s", part.kind, part.value)
		}
		if found := ofKind(render(t, "--set", part.value+"=true", "--api-versions", part.api), part.kind); len(found) != 1 {
			t.Errorf("%s makes %d %s", part.value, len(found), part.kind)
		}
		_, err := template(t, "--set", part.value+"=true")
		if err == nil || !strings.Contains(err.Error(), "this cluster does not serve "+part.api) {
			t.Errorf("%s where %s is not served: %v", part.value, part.api, err)
		}
	}
}

func TestOnlyPortForwardingReachesTheStatusPageUnlessAServiceIsAskedFor(t *testing.T) {
	for _, part := range []struct {
		settings, flag string
		services       int
		isAllowed      bool
	}{
		{"replicas=2", "--status-address=127.0.0.1:8083", 0, false},
		{"statusPage.service=true", "--status-address=$(POD_IP):8083", 1, true},
		{"statusPage.enabled=false,statusPage.service=true", "", 0, false},
	} {
		all := render(t, "--set", part.settings)
		arguments := fmt.Sprint(container(t, all)["args"])
		if part.flag == "" && strings.Contains(arguments, "--status-address") || !strings.Contains(arguments, part.flag) {
			t.Errorf("--set %s: the arguments are %s", part.settings, arguments)
		}
		services := 0
		for _, service := range ofKind(all, "Service") {
			if strings.HasSuffix(service.GetName(), "-status") {
				services++
			}
		}
		if services != part.services {
			t.Errorf("--set %s: there are %d Services of the page", part.settings, services)
		}
		if policy := fmt.Sprint(ofKind(all, "NetworkPolicy")[0].Object); strings.Contains(policy, "port:status") != part.isAllowed {
			t.Errorf("--set %s: the policy is %s", part.settings, policy)
		}
	}
}

func TestSeveralReplicasAreSpreadAndSurviveADrain(t *testing.T) {
	all := render(t)
	if count := len(ofKind(all, "PodDisruptionBudget")); count != 1 {
		t.Errorf("there are %d disruption budgets", count)
	}
	if constraints := spread(t, all); len(constraints) != 2 {
		t.Errorf("the replicas are spread by %v", constraints)
	}
	single := render(t, "--set", "replicas=1")
	if len(ofKind(single, "PodDisruptionBudget")) != 0 || len(spread(t, single)) != 0 {
		t.Error("a single replica has a disruption budget or is spread; its node could not be drained")
	}
	own := spread(t, render(t, "--set", "topologySpreadConstraints[0].maxSkew=3"))
	if len(own) != 1 || fmt.Sprint(own[0]) != "map[maxSkew:3]" {
		t.Errorf("the constraints of the values became %v", own)
	}
}

func spread(t *testing.T, all []unstructured.Unstructured) []any {
	t.Helper()
	constraints, _, err := unstructured.NestedSlice(ofKind(all, "Deployment")[0].Object, "spec", "template", "spec", "topologySpreadConstraints")
	if err != nil {
		t.Fatal(err)
	}
	return constraints
}

func TestFurtherArgumentsLabelsAndObjectsAreRendered(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	more := `
extraArgs: [--log-level=debug]
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy"}]
commonLabels: {team: ml}
securityContext: {readOnlyRootFilesystem: false}
extraObjects:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more"}}
- |
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: {{ .Release.Name }}-text}
`
	if err := os.WriteFile(values, []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	all := render(t, "-f", values)
	operator := container(t, all)
	arguments := operator["args"].([]any)
	if last := arguments[len(arguments)-1]; last != "--log-level=debug" {
		t.Errorf("the last argument is %v, and the last of two counts", last)
	}
	if environment := fmt.Sprint(operator["env"]); !strings.Contains(environment, "HTTPS_PROXY") {
		t.Errorf("the environment is %s", environment)
	}
	if security := operator["securityContext"].(map[string]any); security["readOnlyRootFilesystem"] != false || security["allowPrivilegeEscalation"] != false {
		t.Errorf("the security context is %v", security)
	}
	further := 0
	for _, object := range all {
		if name := object.GetName(); name == release+"-more" || name == release+"-text" {
			further++
		} else if object.GetLabels()["team"] != "ml" {
			t.Errorf("%s %s lacks the common label", object.GetKind(), object.GetName())
		}
	}
	if further != 2 {
		t.Errorf("there are %d of 2 further objects, with their templates expanded", further)
	}
	if match, _, _ := unstructured.NestedStringMap(ofKind(all, "Deployment")[0].Object, "spec", "selector", "matchLabels"); match["team"] != "" {
		t.Error("the common label is in the selector, which can never change")
	}
}

// The services and budgets of the operator must not select the pod of the check.
func TestTheCheckIsNoReplica(t *testing.T) {
	all := render(t, "--set", "replicas=1")
	selector, _, err := unstructured.NestedStringMap(ofKind(all, "Deployment")[0].Object, "spec", "selector", "matchLabels")
	pods := ofKind(all, "Pod")
	if err != nil || len(pods) != 1 {
		t.Fatalf("the chart has %d pods: %v", len(pods), err)
	}
	for label, value := range selector {
		if pods[0].GetLabels()[label] != value {
			return
		}
	}
	t.Errorf("%v selects the check with the labels %v", selector, pods[0].GetLabels())
}

func TestDashboardsAreFoundByTheSidecarOfGrafana(t *testing.T) {
	maps := ofKind(render(t, "--set", "metrics.dashboards.enabled=true,metrics.dashboards.annotations.grafana_folder=Sailor"), "ConfigMap")
	if len(maps) != 2 {
		t.Fatalf("there are %d dashboards", len(maps))
	}
	for _, dashboard := range maps {
		if dashboard.GetLabels()["grafana_dashboard"] != "1" || dashboard.GetAnnotations()["grafana_folder"] != "Sailor" {
			t.Errorf("%s has the labels %v and the annotations %v", dashboard.GetName(), dashboard.GetLabels(), dashboard.GetAnnotations())
		}
	}
}

func TestADigestWinsOverATagAndAnEmptyTagIsTheVersion(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	all := render(t, "--set", "image.tag=v2,image.digest="+digest+",trainerImage.repository=example.com/trainer")
	operator := container(t, all)
	if operator["image"] != "sailor-operator@"+digest {
		t.Errorf("the operator's image is %v", operator["image"])
	}
	if arguments := fmt.Sprint(operator["args"]); !strings.Contains(arguments, "--trainer-image=example.com/trainer:"+appVersion(t)+" ") {
		t.Errorf("the arguments are %s", arguments)
	}
}

func appVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartFolder(), "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var chart struct {
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	return chart.AppVersion
}

func TestValuesReachTheOperatorAsFlags(t *testing.T) {
	arguments := fmt.Sprint(container(t, render(t))["args"])
	for _, flag := range []string{"--leader-elect", "--callback-address=$(POD_IP):8082", "--log-level=info"} {
		if !strings.Contains(arguments, flag) {
			t.Errorf("without values the arguments lack %s: %s", flag, arguments)
		}
	}
	for _, flag := range []string{"--namespace", "--network-model", "--kueue"} {
		if strings.Contains(arguments, flag) {
			t.Errorf("without values the arguments have %s: %s", flag, arguments)
		}
	}
	all := render(t, "--set", "replicas=1,leaderElection.enabled=false,callback.enabled=false,watchNamespaces={team,other},logLevel=debug,plannerThreads=3",
		"--set-string", "networkModel.tiers.zone.gigabytesPerSecond=1.45")
	arguments = fmt.Sprint(container(t, all)["args"])
	for _, flag := range []string{"--namespaces=team,other", "--log-level=debug", "--planner-threads=3", "--network-model=/etc/sailor/network-model.yaml"} {
		if !strings.Contains(arguments, flag) {
			t.Errorf("the arguments lack %s: %s", flag, arguments)
		}
	}
	for _, flag := range []string{"--leader-elect", "--callback-address"} {
		if strings.Contains(arguments, flag) {
			t.Errorf("the arguments have %s: %s", flag, arguments)
		}
	}
	model, _, _ := unstructured.NestedString(ofKind(all, "ConfigMap")[0].Object, "data", "network-model.yaml")
	network := objects(t, model)[0]
	if speed, _, _ := unstructured.NestedString(network.Object, "spec", "tiers", "zone", "gigabytesPerSecond"); network.GetKind() != "NetworkModel" || speed != "1.45" {
		t.Errorf("the network model is\n%s", model)
	}
}

func TestTheNewestVersionOfKueuesAPIIsUsed(t *testing.T) {
	for version, served := range map[string][]string{"v1beta1": {"kueue.x-k8s.io/v1beta1"}, "v1beta2": {"kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"}} {
		all := render(t, "--set", "kueue.enabled=true", "--api-versions", strings.Join(served, ","))
		if arguments := fmt.Sprint(container(t, all)["args"]); !strings.Contains(arguments, "--kueue="+version) {
			t.Errorf("where %v are served, the arguments are %s", served, arguments)
		}
	}
}

// tests/monitoring checks the file with promtool.
func TestBothKindsOfRulesCarryTheAlertsOfTheFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chartFolder(), "files", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var alerts map[string]any
	if err := yaml.Unmarshal(text, &alerts); err != nil {
		t.Fatal(err)
	}
	all := render(t, "--set", "metrics.prometheusRule.enabled=true,metrics.rules.enabled=true",
		"--api-versions", "monitoring.coreos.com/v1", "--api-versions", "monitoring.googleapis.com/v1")
	for _, kind := range []string{"PrometheusRule", "Rules"} {
		rules := ofKind(all, kind)
		if len(rules) != 1 || !reflect.DeepEqual(rules[0].Object["spec"], any(alerts)) {
			t.Errorf("the %s differs from files/alerts.yaml", kind)
		}
	}
}

func TestTheAlertAboutTheOperatorLooksForTheLeaderOfItsRelease(t *testing.T) {
	for release, lease := range map[string]string{"sailor": "sailor-operator", "team": "team-sailor-operator"} {
		all := objects(t, helm(t, "template", release, chartFolder(), "--kube-version", "1.34.0",
			"--set", "metrics.prometheusRule.enabled=true", "--api-versions", "monitoring.coreos.com/v1"))
		if rules := fmt.Sprint(ofKind(all, "PrometheusRule")); !strings.Contains(rules, fmt.Sprintf("leader_election_master_status{name=%q}", lease)) {
			t.Errorf("the alerts of release %s do not look for %s:\n%s", release, lease, rules)
		}
		if arguments := fmt.Sprint(container(t, all)["args"]); !strings.Contains(arguments, "--lease-name="+lease+" ") {
			t.Errorf("the operator of release %s has the arguments %s", release, arguments)
		}
	}
}
